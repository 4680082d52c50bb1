/** Heatmaps without a screen: shades, places, and the words for what a cell means as a filter. */

import { boundsTitle, boundTerms, type Area, type ValueBounds } from './box'
import type { Span } from './histogram'
import type { Latency } from './viewapi'

export const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
export const dayWords = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

/** Of columns, each a list of cells from below: how many there are, and the least and the most in one that has any. */
export interface Heat {
  columns: number[][]
  least: number
  most: number
}

export function heatOf(columns: number[][]): Heat {
  let [least, most] = [Infinity, 0]
  for (const column of columns)
    for (const hits of column) {
      if (hits > most) most = hits
      if (hits > 0 && hits < least) least = hits
    }
  return { columns, least: most > 0 ? least : 0, most }
}

/** Strength from 0 to 1, by the logarithm: each step is as many times more. Null where there is none. */
export function shade(hits: number, { least, most }: Pick<Heat, 'least' | 'most'>): number | null {
  if (hits <= 0) return null
  return most > least ? Math.min(1, Math.max(0, Math.log(hits / least) / Math.log(most / least))) : 1
}

export type Rgb = [number, number, number]

/** The colours of app.css from the weakest to the strongest; the weakest is seen on the ground of an empty cell. */
export const heatTokens = ['--heat-0', '--heat-1', '--heat-2']

/** A colour between those of a ramp, at a part from 0 to 1. */
export function rampColour(ramp: Rgb[], part: number): Rgb {
  const at = Math.min(1, Math.max(0, part)) * (ramp.length - 1)
  const low = Math.min(ramp.length - 2, Math.floor(at))
  const [from, to] = [ramp[low], ramp[low + 1]]
  if (from === undefined || to === undefined) return ramp[0] ?? [0, 0, 0]
  return from.map((value, index) => Math.round(value + ((to[index] ?? value) - value) * (at - low))) as Rgb
}

/** Where columns lie: the start of the first one and the width of each, as parts of the width of the plot. */
export interface ColumnGrid {
  origin: number
  size: number
}

export const evenGrid = (columns: number): ColumnGrid => ({ origin: 0, size: 1 / Math.max(1, columns) })

/** The place of the last number that is not above; the first where all are. */
export function lastUpTo(numbers: number[], value: number): number {
  let at = numbers.length - 1
  while (at > 0 && (numbers[at] ?? 0) > value) at--
  return Math.max(0, at)
}

/** The week as columns of hours: midnight to midnight from left to right, Monday on top. */
export function weekColumns(hits: number[][]): number[][] {
  return Array.from({ length: 24 }, (_, hour) =>
    Array.from({ length: 7 }, (_, fromBelow) => hits[6 - fromBelow]?.[hour] ?? 0),
  )
}

export const weekDay = (cell: number) => 6 - cell

export const weekTerms = (hour: number, cell: number) => [
  `weekday = ${dayWords[weekDay(cell)] ?? ''}`,
  `hour = ${hour}`,
]

/** Columns of the latency map, each as long as a bar. Only the steps asked for. */
export interface LatencyHeat extends Heat {
  /** First time of each column, and how long it lasts. */
  at: number[]
  seconds: number
  /** Steps in use: the lower edge of each, and the upper edge of the last (null: open). */
  edges: number[]
  top: number | null
}

/** First and last step in use. */
export function steps(latency: Latency): [number, number] | null {
  const used = latency.edges.map((_, step) => latency.hits.some((column) => (column[step] ?? 0) > 0))
  const first = used.indexOf(true)
  return first < 0 ? null : [first, used.lastIndexOf(true)]
}

/** A mistaken clock in one line must not make millions of columns. */
const columnsMax = 4096

/** Columns of so many seconds over a span, in which neighbours of the answer are joined. */
export function latencyHeat(
  latency: Latency,
  seconds: number,
  span: Span,
  [first, last]: [number, number],
): LatencyHeat {
  const from = Math.floor(span.from / seconds) * seconds
  const length = Math.max(1, Math.min(columnsMax, Math.ceil((span.to - from) / seconds)))
  const edges = latency.edges.slice(first, last + 1)
  const columns = Array.from({ length }, () => new Array<number>(edges.length).fill(0))
  latency.at.forEach((at, index) => {
    const column = columns[Math.floor((at - from) / seconds)]
    if (column === undefined) return
    edges.forEach((_, step) => {
      column[step] = (column[step] ?? 0) + (latency.hits[index]?.[first + step] ?? 0)
    })
  })
  const at = columns.map((_, index) => from + index * seconds)
  return { ...heatOf(columns), at, seconds, edges, top: latency.edges[last + 1] ?? null }
}

/** Where the columns of times lie on an axis. */
export function timeGrid({ at, seconds }: Pick<LatencyHeat, 'at' | 'seconds'>, axis: Span): ColumnGrid {
  const length = axis.to - axis.from
  return { origin: ((at[0] ?? axis.from) - axis.from) / length, size: seconds / length }
}

/** The bounds of a step; upper ones are not part of it. */
const stepBounds = (heat: LatencyHeat, step: number) => {
  const from = heat.edges[step] ?? 0
  return { from: from > 0 ? from : null, to: heat.edges[step + 1] ?? heat.top }
}

/** A step of the latency map as clauses. */
export const stepTerm = (field: string, heat: LatencyHeat, step: number): string[] =>
  boundTerms({ field, ...stepBounds(heat, step) })

export const stepTitle = (heat: LatencyHeat, step: number): string => boundsTitle(stepBounds(heat, step))

/** The bounds of steps. A box that reaches the first or the last step has no bound there: nothing is beyond. */
export function areaBounds(field: string, heat: LatencyHeat, { low, high }: Area): ValueBounds {
  const from = low === 0 ? null : (heat.edges[low] ?? null)
  const to = high >= heat.edges.length - 1 ? null : (heat.edges[high + 1] ?? null)
  return { field, from: from === null && to === null ? 0 : from, to }
}

/** The span of columns, within the axis. */
export function areaSpan({ at, seconds }: LatencyHeat, { left, right }: Area, axis: Span): Span {
  const [from, last] = [at[left] ?? axis.from, at[right] ?? axis.to]
  return { from: Math.max(axis.from, from), to: Math.min(axis.to, last + seconds) }
}

/** Hits of an area, and all of its columns. */
export function areaHits(
  { columns }: Heat,
  { left, right, low, high }: Area,
): { inside: number; all: number } {
  let [inside, all] = [0, 0]
  for (const column of columns.slice(left, right + 1))
    column.forEach((hits, cell) => {
      all += hits
      if (cell >= low && cell <= high) inside += hits
    })
  return { inside, all }
}

/** The first and the last step that have numbers within bounds. */
export function boundSteps({ edges }: LatencyHeat, { from, to }: ValueBounds): { low: number; high: number } {
  const high = to === null ? edges.length - 1 : edges.findLastIndex((edge) => edge < to)
  return { low: from === null ? 0 : lastUpTo(edges, from), high: Math.max(0, high) }
}
