/** A range of numbers chosen over the bars of their distribution: what it says, and which clauses it is. */

import { numberText } from './columns'
import { tokens, writtenField } from './filter'
import { plural } from './format'
import type { NumberBuckets } from './viewapi'

/** Bars from the first to the last one, both in it. */
export interface Range {
  first: number
  last: number
}

export const ordered = (a: number, b: number): Range => ({ first: Math.min(a, b), last: Math.max(a, b) })

/** The bar under a place in the width, 0 to 1. */
export const barAt = ({ hits }: NumberBuckets, part: number) =>
  Math.max(0, Math.min(hits.length - 1, Math.floor(part * hits.length)))

/** The part of the height that each bar has: the highest all of it, any that is there at least a little. */
export function heights({ hits }: NumberBuckets): number[] {
  const most = Math.max(1, ...hits)
  return hits.map((hit) => (hit === 0 ? 0 : Math.max(0.02, hit / most)))
}

/** The range as clauses: from the least number on, and below the end, where there are bars on either side. */
export function clauses(field: string, { edges, hits }: NumberBuckets, { first, last }: Range): string[] {
  const name = writtenField(field)
  const [from, to] = [edges[first], edges[last + 1]]
  return [
    ...(first > 0 && from !== undefined ? [`${name} >= ${from}`] : []),
    ...(last < hits.length - 1 && to !== undefined ? [`${name} < ${to}`] : []),
  ]
}

/** The terms with that range in place of the one before. */
export function ranged(terms: string[], field: string, wanted: string[]): string[] {
  return [...terms.filter((term) => !isBound(term, field)), ...wanted]
}

/** Whether a clause is a bound of a field's numbers. */
export function isBound(term: string, field: string): boolean {
  const all = tokens(term)
  const [name, mark] = all
  if (all.length !== 3 || name === undefined || mark?.kind !== 'mark') return false
  return (
    ['word', 'quoted'].includes(name.kind) &&
    name.text === field &&
    ['<', '<=', '>', '>='].includes(mark.text)
  )
}

/** Bounds that clauses set to a field's numbers: from the first on, and below the end; null where there is none. */
export function bounds(terms: string[], field: string): { from: number; to: number } | null {
  let [from, to] = [-Infinity, Infinity]
  const own = terms.filter((term) => isBound(term, field))
  for (const term of own) {
    const [, mark, value] = tokens(term)
    const number = Number(value?.text)
    if (Number.isNaN(number)) return null
    if (mark?.text.startsWith('>')) from = Math.max(from, number)
    else to = Math.min(to, number)
  }
  return own.length === 0 ? null : { from, to }
}

/** Whether a bar has numbers within bounds. */
export const reaches = ({ edges }: NumberBuckets, bar: number, { from, to }: { from: number; to: number }) =>
  (edges[bar + 1] ?? Infinity) > from && (edges[bar] ?? -Infinity) < to

/** A range in words: `2 to 5: 300 rows`. */
export function rangeTitle({ edges, hits }: NumberBuckets, { first, last }: Range, unit: string): string {
  const say = (edge: number | undefined) => numberText(edge ?? null, unit, 0)
  const sum = hits.slice(first, last + 1).reduce((sum, hit) => sum + hit, 0)
  const end =
    last === hits.length - 1
      ? 'from ' + say(edges[first]) + ' on'
      : `${say(edges[first])} to below ${say(edges[last + 1])}`
  return `${end}: ${plural(sum, 'row')}`
}
