/** Distributions as panels show them: of a log's measures, and of a table's numbers. */

import type { Percentiles } from './api'
import { numberText } from './columns'
import { recordWord } from './fields'
import { writtenField } from './filter'
import { plural } from './format'
import type { NumberBuckets, NumberSummary } from './viewapi'

export interface SpreadRow {
  name: string
  about: string
  said: string
  /** Part of the whole width. */
  bar: number
  /** What a press adds to the filter. */
  filter: string | null
}

export interface Spread {
  id: string
  title: string
  /** How many have a number. */
  count: string
  precision: string
  rows: SpreadRow[]
  /** Of a column of a table. */
  column?: {
    field: string
    unit: string
    buckets: NumberBuckets | null
    /** Under the filters on other fields, where there is one on this. */
    beside: NumberBuckets | null
  }
}

const abouts: Record<string, string> = {
  min: 'the smallest',
  p50: 'half are at most this',
  p90: '90 % are at most this',
  p95: '95 % are at most this',
  p99: '99 % are at most this',
  max: 'the largest',
  mean: 'the mean',
}

/** A number as the server writes it: digits where it is no double, `inf` and `-inf`. */
const double = (value: number | string | null | undefined) =>
  Number(typeof value === 'string' ? value.replace('inf', 'Infinity') : (value ?? NaN))

/** Part of the width on a scale of doublings: from p50 to the largest is often a thousandfold. */
function barOf(value: number, max: number): number {
  const part = Math.log2(1 + value) / Math.log2(1 + max)
  return value >= 0 && max > 0 && Number.isFinite(part) ? part : 0
}

/** How a measure of a log is spread; of null no line of the view has it. A bar begins at one `step`. */
export function measureSpread(
  field: string,
  title: string,
  of: Percentiles | null,
  say: (value: number) => string,
  step: number,
): Spread {
  const names = ['p50', 'p90', 'p95', 'p99', 'max', 'mean'] as const
  const row = (name: (typeof names)[number]): SpreadRow => ({
    name,
    about: abouts[name] ?? '',
    said: of ? say(of[name]) : '–',
    bar: of ? barOf(of[name] / step, of.max / step) : 0,
    filter: null,
  })
  return {
    id: `panel-${field}`,
    title,
    count: plural(of?.count ?? 0, 'line'),
    precision: '≈ within 1 %, bars on a logarithmic scale',
    rows: names.map(row),
  }
}

/**
 * How the numbers of a column are spread: each is a filter for what is at least as large. With those under the other
 * filters, where there is one on this column.
 */
export function numberSpread(of: NumberSummary, zone: number, beside: NumberBuckets | null = null): Spread {
  const values = { min: of.min, ...of.quantiles, max: of.max }
  const isTime = of.unit === 'time'
  const hasBars = !isTime && double(of.min) >= 0
  const row = ([name, value]: [string, number | string | null]): SpreadRow => ({
    name,
    about: abouts[name] ?? '',
    said: numberText(value, of.unit, zone),
    bar: hasBars ? barOf(double(value), double(of.max)) : 0,
    filter: isTime || value === null ? null : `${writtenField(of.field)} >= ${String(value)}`,
  })
  const within = 100 * double(of.quantile_error)
  const precision = Number.isFinite(within) ? `≈ within ${within.toPrecision(2)} %` : '≈, without a bound'
  return {
    id: `number-${of.field}`,
    title: of.field,
    count: plural(of.hits, recordWord()),
    precision: of.quantiles ? precision : '',
    rows: Object.entries(values).map(row),
    column: { field: of.field, unit: of.unit, buckets: of.buckets ?? null, beside },
  }
}
