/** Metrics of a field's values: which of them a table shows, and what its cells say. */

import { numberText } from './columns'
import { bytes, count, share } from './format'
import { moment } from './histogram'
import type { Breakdown, BreakdownValue, Metric, SortMetric } from './viewapi'

/** What rows need to have for a metric. */
export type Needed = 'status' | 'bytes' | 'measure' | 'clients' | 'time'

export interface MetricColumn {
  name: Metric
  title: string
  about: string
  needs: Needed | null
  /** Shown until others are chosen. */
  isUsual: boolean
}

const column = (
  name: Metric,
  title: string,
  about: string,
  needs: Needed | null,
  isUsual: boolean,
): MetricColumn => ({ name, title, about, needs, isUsual })

/** All metrics, in the order of their columns. */
export const metricColumns: MetricColumn[] = [
  column('hits', 'hits', 'rows with the value', null, true),
  column('errors', 'errors', 'a status of 500 or more', 'status', true),
  column('error_rate', 'error rate', 'errors, as a share of the hits', 'status', true),
  column('refused', 'refused', 'a status from 400 to 499', 'status', false),
  column('p50', 'p50', 'half are at most this', 'measure', true),
  column('p95', 'p95', '95 % are at most this', 'measure', true),
  column('p99', 'p99', '99 % are at most this', 'measure', false),
  column('max', 'max', 'the largest', 'measure', true),
  column('total', 'total', 'the sum', 'measure', false),
  column('bytes', 'bytes', 'sum of the response sizes', 'bytes', true),
  column('clients', 'clients', 'distinct clients', 'clients', true),
  column('first', 'first', 'time of the first row', 'time', false),
  column('last', 'last', 'time of the last row', 'time', false),
  column('trend', 'trend', 'rows over time, on a scale of its own', 'time', true),
]

const names = metricColumns.map(({ name }) => name)
const usual = metricColumns.filter(({ isUsual }) => isUsual).map(({ name }) => name)

export const isSortable = (name: Metric): name is SortMetric => name !== 'trend'

/** The metric that values may be sorted by under that name. */
export const sortNamed = (name: string | null): SortMetric =>
  names.filter(isSortable).find((one) => one === name) ?? 'hits'

/** Metrics by their names, in the order of their columns; hits are always among them. */
export const metricsNamed = (given: string[]): Metric[] =>
  names.filter((name) => name === 'hits' || given.includes(name))

/** The columns of the metrics that are chosen (null: the usual ones) and that the rows can have. */
export const shownColumns = (chosen: Metric[] | null, has: Record<Needed, boolean>): MetricColumn[] =>
  metricColumns.filter(
    ({ name, needs }) => (chosen ?? usual).includes(name) && (needs === null || has[needs]),
  )

/** The choice with one metric more, or less. */
export function turned(chosen: Metric[] | null, name: Metric): Metric[] | null {
  const next = names.filter((one) => (one === name) !== (chosen ?? usual).includes(one))
  return next.join() === usual.join() ? null : next
}

/** A cell of any column but the trend; `unit` is that of the measure. */
export function metricText(
  row: BreakdownValue,
  { name, needs }: MetricColumn,
  unit: string | null,
  zone: number,
): string {
  if (!isSortable(name)) return ''
  const value = row[name]
  if (value === null || typeof value === 'string' || needs === 'measure') return numberText(value, unit, zone)
  if (name === 'error_rate') return share(value, 1)
  if (name === 'bytes') return bytes(value)
  return needs === 'time' ? moment(value, zone, 1) : count(value)
}

/** What values were sorted among, where that is not all of them. */
export function rankedNote({ ranked, distinct }: Pick<Breakdown, 'ranked' | 'distinct'>): string | null {
  if (ranked === null || distinct <= ranked) return null
  return `Sorted among the ${count(ranked)} values with most rows.`
}

/** When most rows came, in words. */
export function trendTitle(trend: number[], from: number, seconds: number, zone: number): string {
  const most = Math.max(0, ...trend)
  if (most === 0) return 'no row has a time'
  return `most ${count(most)} at ${moment(from + trend.indexOf(most) * seconds, zone, seconds)}`
}

/** Rows over time as a path of bars, each 1 wide, the highest of `height`. None of a bucket with rows is too low to be seen. */
export function trendPath(trend: number[], height: number): string {
  const most = Math.max(1, ...trend)
  return trend
    .map((hits, at) => {
      if (hits === 0) return ''
      const top = height - Math.max(1, (height * hits) / most)
      return `M${at} ${height}V${Number(top.toFixed(1))}h1V${height}z`
    })
    .join('')
}
