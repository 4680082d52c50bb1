/** The page has one file input (DropTarget); every button that chooses a file presses it. */
export function chooseFile(): void {
  document.getElementById('file')?.click()
}
