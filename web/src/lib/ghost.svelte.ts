/** What Compare draws over the bars: the requests of B by time, asked for in bars as wide as those that are shown. */

import { ghostOf, type Ghost } from './ghost'
import { sameSpan, type Bins, type Span } from './histogram'
import { store } from './state.svelte'
import { Asked } from './tools.svelte'
import { selectionOf, viewApi, type TimeSeries } from './viewapi'
import { views } from './views.svelte'

interface Question {
  session: string
  b: Span
  where: string
  seconds: number
}

class GhostTool {
  asked = new Asked<Question, { series: TimeSeries; b: Span }>(
    async ({ session, b, where, seconds }, signal) => {
      const question = { ...selectionOf(b, where), show: ['hits' as const], measure: null }
      return {
        series: await viewApi.timeseries(session, { ...question, bucket_seconds: seconds }, signal),
        b,
      }
    },
  )

  /** The span that is drawn: beside a view that is a span itself, else it lies in the bars already. */
  b = $derived.by<Span | null>(() => {
    const { tool, span, other, pair } = store.place
    return tool === 'compare' && span !== null && pair === null && !store.isFleet ? other : null
  })

  /** Asks for buckets of this width; while the view is asked for, that width is still another's. */
  ask(seconds: number | null): void {
    const { session } = store.place
    if (session === null || this.b === null) return this.asked.ask(null)
    if (seconds === null || views.asking || views.bad !== null) return
    this.asked.ask({ session, b: this.b, where: views.where, seconds })
  }

  of(bins: Bins, a: Span): Ghost | null {
    const { answer } = this.asked
    return answer && this.b && sameSpan(answer.b, this.b) ? ghostOf(answer.series, a, answer.b, bins) : null
  }
}

export const ghost = new GhostTool()
