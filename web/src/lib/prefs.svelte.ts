/** What the reader prefers, kept in this browser: theme, the columns of the table of lines, the way of uploads. */

import { wishes, type Wish } from './ways'

export type Theme = 'system' | 'light' | 'dark'
const themes: Theme[] = ['system', 'light', 'dark']
const key = 'rorqual.theme'
const columnsKey = 'rorqual.columns'
const wayKey = 'rorqual.way'
const wrapKey = 'rorqual.wrap'
const columnsFirst = ['time', 'client', 'method', 'url', 'status', 'bytes', 'agent']

class Prefs {
  theme = $state<Theme>('system')
  columns = $state.raw<string[]>(columnsFirst)
  /** Those of the table that is shown, until another one is; null: the first ones. */
  tableColumns = $state.raw<string[] | null>(null)
  /** How files are sent. */
  way = $state<Wish>('auto')
  /** Long texts of lines go on below. */
  wrap = $state(false)
  /** The list of keys is open. */
  keys = $state(false)
  /** The choice of another format is open. */
  format = $state(false)
  /** Counts up when the colours on the screen change: a canvas must be painted anew. */
  painted = $state(0)

  start(): void {
    try {
      const kept = localStorage.getItem(key) as Theme | null
      if (kept && themes.includes(kept)) this.theme = kept
      const columns = localStorage.getItem(columnsKey)?.split(',').filter(Boolean)
      if (columns && columns.length > 0) this.columns = columns
      this.wrap = localStorage.getItem(wrapKey) === 'true'
      this.way = wishes.find((wish) => wish === localStorage.getItem(wayKey)) ?? 'auto'
    } catch {
      // No storage: the system's theme it is.
    }
    this.apply()
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.painted++)
  }

  nextTheme(): void {
    this.theme = themes[(themes.indexOf(this.theme) + 1) % themes.length] ?? 'system'
    try {
      localStorage.setItem(key, this.theme)
    } catch {
      // Then it lasts until the page is closed.
    }
    this.apply()
  }

  /** Those of a log, which may be several files: at first with the file of a line then. */
  columnsFor(hasFiles: boolean): string[] {
    return hasFiles && this.columns === columnsFirst ? [...columnsFirst, 'file'] : this.columns
  }

  setColumns(columns: string[]): void {
    this.columns = columns
    try {
      localStorage.setItem(columnsKey, columns.join(','))
    } catch {
      // As above.
    }
  }

  turnWrap(): void {
    this.wrap = !this.wrap
    try {
      localStorage.setItem(wrapKey, String(this.wrap))
    } catch {
      // As above.
    }
  }

  setWay(way: Wish): void {
    this.way = way
    try {
      localStorage.setItem(wayKey, way)
    } catch {
      // As above.
    }
  }

  private apply(): void {
    if (this.theme === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = this.theme
    this.painted++
  }
}

export const prefs = new Prefs()
