/** What a press with Alt means everywhere: all but this, instead of only this. */
export const shifted = (event: MouseEvent | KeyboardEvent) => event.altKey

/** What a press with Shift means on a value of a panel: only this. */
export const isolates = (event: MouseEvent | KeyboardEvent) => event.shiftKey && !event.altKey

/** A key on a value that means the same as a press with Alt. */
export const excludes = (event: KeyboardEvent) =>
  (event.key === '-' || event.key === 'Delete' || (event.key === 'Enter' && event.altKey)) &&
  !event.ctrlKey &&
  !event.metaKey

/** Roving focus: of a list of buttons one is in the tab order, and arrow keys go from one to the next. */
export function rove(event: KeyboardEvent, items: HTMLElement[]): boolean {
  const at = items.indexOf(document.activeElement as HTMLElement)
  if (at < 0 || event.ctrlKey || event.metaKey) return false
  const to = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: items.length - 1,
  }[event.key]
  if (to === undefined) return false
  event.preventDefault()
  items[Math.min(items.length - 1, Math.max(0, to))]?.focus()
  return true
}
