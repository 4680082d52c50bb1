/** The lens over the bars: what there is to choose from, and what the server answers for the buckets that are shown. */

import { breakdown } from './breakdown.svelte'
import type { Bins } from './histogram'
import { isOfMeasure, lensMetrics, lensOf, type LensMetric, type LensValues } from './lens'
import { axisPx } from './plot'
import { store } from './state.svelte'
import { Asked } from './tools.svelte'
import { viewApi, type TimeSeries, type TimeSeriesQuestion } from './viewapi'
import { views } from './views.svelte'

class LensTool {
  asked = new Asked<{ session: string; question: TimeSeriesQuestion }, TimeSeries>(
    ({ session, question }, signal) => viewApi.timeseries(session, question, signal),
  )

  /** The line as the bars show it. */
  drawn = $state.raw<{ lensed: LensValues; bins: Bins } | null>(null)

  /** The session that the answer is of. */
  private session: string | null = null

  /** An address may name one that logs of other servers can't have yet. */
  metric = $derived(store.isFleet ? null : store.place.lens.metric)
  measures = $derived(breakdown.measures)
  /** The numbers that are meant where none are named: how long requests took, or the first column. */
  measure = $derived(store.place.lens.measure ?? breakdown.duration ?? this.measures[0] ?? null)
  /** What these rows can have. */
  choices = $derived(lensMetrics.filter((metric) => this.metric === metric || this.has(metric)))
  /** The width of its axis, which the bars do not have; what is to lie below them keeps it free, too. */
  rightPx = $derived(this.metric === null ? 0 : axisPx)

  private has(metric: LensMetric): boolean {
    if (isOfMeasure(metric)) return this.measures.length > 0
    if (store.table !== null) return false
    if (metric === 'bytes') return this.measures.includes('bytes')
    const field = metric === 'clients' ? 'client' : 'status'
    return (views.view?.panels ?? []).some((panel) => panel.field === field)
  }

  /** Asks for buckets of this width; while the view is asked for, that width is still another's. */
  ask(seconds: number | null): void {
    const { session } = store.place
    const { metric } = this
    // Bars of another log may be as wide, and not be meant.
    if (session !== this.session) this.asked.ask(null)
    this.session = session
    if (session === null || metric === null) return this.asked.ask(null)
    if (seconds === null || views.asking || views.bad !== null) return
    const measure = isOfMeasure(metric) ? this.measure : null
    const question = { ...views.selection, show: [metric], measure, bucket_seconds: seconds }
    this.asked.ask({ session, question })
  }

  of(bins: Bins): LensValues | null {
    const { answer } = this.asked
    if (answer === null || this.metric === null) return null
    return lensOf(this.metric, this.measure, answer, bins)
  }
}

export const lens = new LensTool()
