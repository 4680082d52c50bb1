/** B of a comparison over the bars of A: moved to A's time, and as high as if both had as many requests. */

import { count, share } from './format'
import { logHeight, total, type Bins, type Span } from './histogram'
import type { TimeSeries } from './viewapi'

export interface Ghost {
  /** Requests of B that lie over each bar. */
  hits: number[]
  /** All of B, and all that the bars show of A. */
  totalB: number
  totalA: number
  /** Some of B would lie behind the last bar. */
  isCut: boolean
}

/** Null where the answer is about bars of another width. */
export function ghostOf(
  { from, bucket_seconds: seconds, metrics }: Pick<TimeSeries, 'from' | 'bucket_seconds' | 'metrics'>,
  a: Span,
  b: Span,
  bins: Bins,
): Ghost | null {
  if (from !== null && seconds !== bins.seconds) return null
  const hits = new Array<number>(bins.at.length).fill(0)
  const found = (metrics.hits ?? []).map(Number)
  const totalB = found.reduce((sum, hits) => sum + hits, 0)
  const moved = (from ?? 0) + a.from - b.from - (bins.at[0] ?? 0)
  found.forEach((of, index) => {
    // Spans that do not differ by whole bars: half a bar at most is the difference.
    const bin = Math.max(0, Math.round(moved / bins.seconds) + index)
    if (bin < hits.length) hits[bin] = (hits[bin] ?? 0) + of
  })
  const shown = hits.reduce((sum, hits) => sum + hits, 0)
  const totalA = bins.at.reduce((sum, _, bin) => sum + total(bins, bin), 0)
  return { hits, totalB, totalA, isCut: shown < totalB }
}

/** What one request of B is drawn as. */
export const factorOf = ({ totalA, totalB }: Ghost) => (totalB === 0 ? 0 : totalA / totalB)

/** Heights of its outline on the axis of the bars. */
export function ghostHeights(ghost: Ghost, isLog: boolean): number[] {
  const factor = factorOf(ghost)
  return ghost.hits.map((hits) => (isLog ? logHeight(hits * factor) : hits * factor))
}

/** What it says of a bar: both shares, as they are what is compared. */
export function ghostSaid(ghost: Ghost | null, bins: Bins, bin: number): string {
  if (ghost === null) return ''
  const [ofA, ofB] = ghostShares(ghost, bins, bin)
  return `, ${ofA} of A, B ${count(ghost.hits[bin] ?? 0)}, ${ofB} of B`
}

/** The parts of A and of B that a bar is. */
export const ghostShares = ({ hits, totalA, totalB }: Ghost, bins: Bins, bin: number): [string, string] => [
  share(total(bins, bin), totalA),
  share(hits[bin] ?? 0, totalB),
]

/** How it is drawn, in words. */
export function ghostAbout(ghost: Ghost, records: string): string {
  if (ghost.totalB === 0) return `has no ${records}`
  const factor = factorOf(ghost)
  const scaled = factor === 1 ? '' : ` (× ${factor >= 100 ? count(factor) : factor.toPrecision(2)})`
  return `over this view from its start on, as high as if it had as many ${records}${scaled}${ghost.isCut ? '; what comes after the last bar is left out' : ''}`
}

/** The outline as corners: time, and height on the axis. */
export function skyline(bins: Bins, heights: number[]): { at: number; height: number }[] {
  const corners = bins.at.flatMap((at, bin) => {
    const height = heights[bin] ?? 0
    return [
      { at, height },
      { at: at + bins.seconds, height },
    ]
  })
  const [first, last] = [corners[0], corners.at(-1)]
  return first && last ? [{ at: first.at, height: 0 }, ...corners, { at: last.at, height: 0 }] : []
}
