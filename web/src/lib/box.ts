/** A box of a heatmap: a span of time and bounds of a number. What it means as clauses, and in words. */

import { writtenField } from './filter'
import { latency as say } from './format'

/** Numbers of a field from `from` on and below `to`; null is no bound. */
export interface ValueBounds {
  field: string
  from: number | null
  to: number | null
}

/** Cells of a heatmap from corner to corner, both in it. */
export interface Area {
  left: number
  right: number
  low: number
  high: number
}

export interface HeatCell {
  column: number
  cell: number
}

export const areaOf = (a: HeatCell, b: HeatCell): Area => ({
  left: Math.min(a.column, b.column),
  right: Math.max(a.column, b.column),
  low: Math.min(a.cell, b.cell),
  high: Math.max(a.cell, b.cell),
})

/** The bounds as clauses of the filter. */
export function boundTerms({ field, from, to }: ValueBounds): string[] {
  const name = writtenField(field)
  return [
    ...(from === null ? [] : [`${name} >= ${decimal(from)}`]),
    ...(to === null ? [] : [`${name} < ${decimal(to)}`]),
  ]
}

/** At most six decimals, as the filter language reads them. */
export const decimal = (seconds: number) => String(Number(seconds.toFixed(6)))

/** A bound without zeros that say nothing: `2 s`, `2.50 s`. */
export const boundTitle = (seconds: number) => (seconds <= 0 ? '0 s' : say(seconds).replace(/\.0+ /, ' '))

/** Bounds of times in words: `2 s and more`. */
export function boundsTitle({ from, to }: Pick<ValueBounds, 'from' | 'to'>): string {
  if (to === null) return `${boundTitle(from ?? 0)} and more`
  return from === null || from <= 0 ? `below ${boundTitle(to)}` : `${boundTitle(from)} to ${boundTitle(to)}`
}
