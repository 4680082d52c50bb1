/** Shares of values inside a part of the rows and outside of it, made from a comparison of that part with all. */

import { bytes, latency, visible } from './format'
import type { Comparison } from './viewapi'

/** A value: rows that have it inside and outside, and the parts of either side that they are. */
export interface PairedValue {
  value: string
  inside: number
  outside: number
  shareInside: number
  shareOutside: number
}

export interface PairedColumn {
  field: string
  title: string
  values: PairedValue[]
}

export interface PairedShares {
  inside: number
  outside: number
  /** The column with the most significant difference of shares first, in which the values stand so too. */
  columns: PairedColumn[]
}

/**
 * All of `a` is within `b`, and was compared with the rest of it, which is what `b` has more. The field that chose
 * the part says nothing of it, and is left out.
 */
export function pairedShares(
  { a, b, panels }: Pick<Comparison, 'a' | 'b' | 'panels'>,
  chosenBy: string | null = null,
): PairedShares {
  const outside = Math.max(0, b.hits - a.hits)
  const mostOf = ({ rows }: Comparison['panels'][number]) => rows[0]?.g ?? 0
  const columns = panels
    .filter(({ field }) => field !== chosenBy)
    // A sort is stable: columns that differ as much stay in the order of the panels.
    .sort((x, y) => mostOf(y) - mostOf(x))
    .map(({ field, title, rows }) => ({
      field,
      title,
      values: rows.map((row): PairedValue => {
        const rest = Math.max(0, row.b.hits - row.a.hits)
        return {
          value: row.value,
          inside: row.a.hits,
          outside: rest,
          shareInside: row.a.hits / Math.max(1, a.hits),
          shareOutside: rest / Math.max(1, outside),
        }
      }),
    }))
  return { inside: a.hits, outside, columns }
}

/** A value as people read it: of a duration or a size its least, `≥ 627 ms`. */
export function comparedTitle(field: string, value: string): string {
  const least = /^>= ([0-9.]+)$/.exec(value)?.[1]
  if (least === undefined) return value === '' ? '(none)' : visible(value)
  if (field === 'bytes') return `≥ ${bytes(Number(least))}`
  if (field === 'request_time' || field === 'upstream_time') return `≥ ${latency(Number(least))}`
  return value
}
