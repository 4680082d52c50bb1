/**
 * The tool "Metrics": a table of a field's values. What the place says of it, made whole from what these rows have,
 * and what the server answers.
 */

import { arrange } from './arrange'
import { arranged } from './arranged.svelte'
import { placeOf } from './fields'
import { unique } from './filter'
import { shownColumns, type Needed } from './metrics'
import { store } from './state.svelte'
import { Asked } from './tools.svelte'
import { viewApi, type Breakdown, type BreakdownQuestion } from './viewapi'
import { views } from './views.svelte'

const rowsShown = 50
/** How long requests took, in the order of preference; and another number of each line of a log. */
const durations = ['request_time', 'upstream_time'] as const
const logMeasures = [...durations, 'bytes'] as const

class BreakdownTool {
  asked = new Asked<{ session: string; question: BreakdownQuestion }, Breakdown>(
    ({ session, question }, signal) => viewApi.breakdown(session, question, signal),
  )

  /** What there is to choose from: the fields that have panels, as these stand on the page, and the status. */
  fields = $derived.by(() => {
    const panels = (views.view?.panels ?? []).map(({ field }) => field)
    if (store.table === null) return unique([...panels, 'status']).sort((a, b) => placeOf(a) - placeOf(b))
    const { shown } = arrange(Object.keys(arranged.facts), arranged.facts, store.place.columns, '')
    return unique([...shown.filter((name) => panels.includes(name)), ...panels])
  })
  field = $derived(store.place.metrics.field ?? this.fields[0] ?? null)

  private percentiles = $derived(store.report?.percentiles ?? null)
  measures = $derived([
    ...logMeasures.filter((field) => store.table === null && this.percentiles?.[field] != null),
    ...(store.table ?? store.own)
      .filter(({ kind, unit }) => kind === 'number' && unit !== 'time')
      .map(({ name }) => name),
  ])
  /** How long requests took, where lines say it. */
  duration = $derived(
    store.table === null ? (durations.find((field) => this.measures.includes(field)) ?? null) : null,
  )
  /** Named in the question, so that it is what the columns are about. */
  measure = $derived(store.place.metrics.measure ?? this.duration)

  /** The server refuses metrics that the rows can't have. */
  has = $derived.by<Record<Needed, boolean>>(() => {
    const { answer } = this.asked
    const isLog = store.table === null
    return {
      status: answer?.has_status ?? isLog,
      bytes: answer?.has_bytes ?? isLog,
      clients: answer?.has_clients ?? isLog,
      measure: this.measure !== null,
      time: store.whole !== null,
    }
  })
  columns = $derived(shownColumns(store.place.metrics.show, this.has))
  /** By a column that is not there nobody sees why. */
  private sort = $derived(
    this.columns.some(({ name }) => name === store.place.metrics.sort) ? store.place.metrics.sort : 'hits',
  )

  /** The place's table, as it is shown. */
  shown = $derived({ ...store.place.metrics, field: this.field, sort: this.sort })

  ask(): void {
    const { session } = store.place
    const { field, sort, measure } = this
    if (session === null || field === null) return this.asked.ask(null)
    const show = this.columns.map(({ name }) => name)
    this.asked.ask({
      session,
      question: { ...views.selection, field, sort, show, measure, limit: rowsShown },
    })
  }
}

export const breakdown = new BreakdownTool()
