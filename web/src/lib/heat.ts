/** Heatmaps without a screen: shades, places, and the words for what a cell means as a filter. */

import { latency as say } from './format'
import { snap, type Span } from './histogram'
import type { Latency } from './viewapi'

export const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
export const dayWords = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

/** Of columns, each a list of cells from below: how many there are and the most. */
export interface Heat {
  columns: number[][]
  most: number
}

export function heatOf(columns: number[][]): Heat {
  return { columns, most: columns.reduce((most, column) => column.reduce((a, b) => Math.max(a, b), most), 0) }
}

/** Darkness from 0 to 1. By the square root: half the hits are still more than half as dark; one hit is never nothing. */
export function shade(hits: number, most: number): number {
  if (hits <= 0 || most <= 0) return 0
  return 0.08 + 0.92 * Math.sqrt(hits / most)
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

/** Columns of the latency map as many as there is room for: neighbours joined. Only the steps asked for. */
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

export function latencyHeat(
  latency: Latency,
  bucketSeconds: number,
  span: Span,
  room: number,
  [first, last]: [number, number],
): LatencyHeat {
  const whole = snap(span, bucketSeconds)
  const buckets = Math.max(1, Math.round((whole.to - whole.from) / bucketSeconds))
  const seconds = bucketSeconds * Math.max(1, Math.ceil(buckets / Math.max(1, room)))
  const { from, to } = snap(span, seconds)
  const length = Math.max(1, Math.min(4096, Math.round((to - from) / seconds)))
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

/** A step of the latency map as a clause; upper edges are not part of it. */
export function stepTerm(field: string, heat: LatencyHeat, step: number): string[] {
  const from = heat.edges[step] ?? 0
  const to = heat.edges[step + 1] ?? heat.top
  const least = from > 0 ? [`${field} >= ${decimal(from)}`] : []
  return to === null ? least : [...least, `${field} < ${decimal(to)}`]
}

export function stepTitle(heat: LatencyHeat, step: number): string {
  const from = heat.edges[step] ?? 0
  const to = heat.edges[step + 1] ?? heat.top
  if (to === null) return `${say(from)} and more`
  return from <= 0 ? `below ${say(to)}` : `${say(from)} to ${say(to)}`
}

/** At most six decimals, as the filter language reads them. */
const decimal = (seconds: number) => String(Number(seconds.toFixed(6)))
