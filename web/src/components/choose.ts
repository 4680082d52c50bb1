import { store } from '../lib/state.svelte'

/** The page has one file input (DropTarget); every button that chooses a file presses it. Of a session: the file to go on with. */
export function chooseFile(session: string | null = null): void {
  store.wanted = session
  document.getElementById('file')?.click()
}
