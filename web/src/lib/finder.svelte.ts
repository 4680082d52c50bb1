/** One panel opened: more of its values than the view brings, and those that a search leaves. */

import { ApiError, type Panel, type Row } from './api'
import { clock, Latest } from './latest'
import { store } from './state.svelte'
import { viewApi, type PanelPage, type Selection } from './viewapi'

interface Question extends Selection {
  session: string
  field: string
  search: string
  limit: number
}

const pageRows = 50
/** More rows than this are for the CSV, not for a page. */
export const rowsMax = 500

export class Finder {
  panel = $state.raw<PanelPage | null>(null)
  trouble = $state<string | null>(null)
  asking = $state(false)
  search = $state('')
  limit = $state(pageRows)

  private latest = new Latest<Question, PanelPage>({
    send: ({ session, limit, ...question }, signal) =>
      viewApi.panel(session, { ...question, offset: 0, limit, facets: true }, signal),
    take: (panel) => {
      this.panel = panel
      this.asking = false
      this.trouble = null
    },
    fail: (error) => {
      this.asking = false
      this.trouble = error instanceof ApiError ? error.body.message : String(error)
    },
    clock,
    settleMs: 120,
    againMs: 1000,
  })

  constructor(private readonly field: string) {}

  /** The rows of this panel under a view, without the view's own choice among them. */
  ask(selection: Selection): void {
    const { session } = store.place
    if (session === null) return
    const { search, limit, field } = this
    if (this.latest.ask({ session, ...selection, field, search, limit })) this.asking = true
  }

  again(): void {
    this.latest.again()
  }

  more(): void {
    this.limit = Math.min(rowsMax, this.limit + pageRows * 2)
  }

  stop(): void {
    this.latest.stop()
    this.panel = null
    this.asking = false
  }

  close(): void {
    this.stop()
    this.search = ''
    this.limit = pageRows
  }
}

/** What of an opened panel is shown: its own answer as soon as there is one, else the rows that came with the view. */
export function merged(panel: Panel, page: PanelPage | null, search: string): { panel: Panel; rows: Row[] } {
  if (page !== null) {
    const distinct = search === '' ? page.distinct : { ...page.distinct, count: page.found }
    return { panel: { ...panel, distinct }, rows: page.rows }
  }
  if (search === '') return { panel, rows: panel.rows }
  const wanted = search.toLowerCase()
  const rows = panel.rows.filter(({ value }) => value.toLowerCase().includes(wanted))
  // Where the view brought all values, this is the answer.
  const whole = panel.rows.length >= panel.distinct.count
  const distinct = whole ? { ...panel.distinct, count: rows.length } : panel.distinct
  return { panel: { ...panel, distinct }, rows }
}
