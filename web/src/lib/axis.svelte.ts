/** The axis of the bars, which other plots of the same times share: what stands above each other is of the same time. */

import { sameSpan, type Span } from './histogram'

class TimeAxis {
  /** What it shows; null before there are bars. */
  span = $state.raw<Span | null>(null)
  /** The width of a bar. */
  seconds = $state(60)
  /** Nothing has arrived yet after this time; null when all is there. */
  missingFrom = $state<number | null>(null)

  take(span: Span, seconds: number, missingFrom: number | null): void {
    if (!sameSpan(this.span, span)) this.span = span
    this.seconds = seconds
    this.missingFrom = missingFrom
  }
}

export const timeAxis = new TimeAxis()
