/** What the reader prefers: theme (kept in this browser) and the zone of times (kept while the page lives). */

export type Theme = 'system' | 'light' | 'dark'
const themes: Theme[] = ['system', 'light', 'dark']
const key = 'rorqual.theme'

class Prefs {
  theme = $state<Theme>('system')
  /** Times in the log's own zone instead of UTC. */
  logZone = $state(false)
  /** The list of keys is open. */
  keys = $state(false)
  /** Counts up when the colours on the screen change: a canvas must be painted anew. */
  painted = $state(0)

  start(): void {
    try {
      const kept = localStorage.getItem(key) as Theme | null
      if (kept && themes.includes(kept)) this.theme = kept
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

  private apply(): void {
    if (this.theme === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = this.theme
    this.painted++
  }
}

export const prefs = new Prefs()
