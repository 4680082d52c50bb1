/** A second lens over the bars: which metric it shows, its values by bar, and their axis. */

import { numberText } from './columns'
import { bytes, count, relative, share } from './format'
import { short, stepAtLeast, type Bins, type ValueTick } from './histogram'
import type { TimeSeries } from './viewapi'

/** What a lens shows of each bucket. */
export const lensMetrics = ['error_rate', 'p50', 'p95', 'p99', 'max', 'bytes', 'clients'] as const
export type LensMetric = (typeof lensMetrics)[number]

export interface Lens {
  /** Null: there is none. */
  metric: LensMetric | null
  /** Numbers that quantiles are of; null: how long requests took. */
  measure: string | null
}

export const noLens: Lens = { metric: null, measure: null }

const titles: Record<LensMetric, string> = {
  error_rate: 'error rate',
  p50: 'p50',
  p95: 'p95',
  p99: 'p99',
  max: 'max',
  bytes: 'bytes',
  clients: 'clients',
}
export const lensTitle = (metric: LensMetric) => titles[metric]

/** Metrics of a number of each line. */
export const isOfMeasure = (metric: LensMetric) => ['p50', 'p95', 'p99', 'max'].includes(metric)
const isQuantile = (metric: LensMetric) => isOfMeasure(metric) && metric !== 'max'

export const lensNamed = (name: string | null): LensMetric | null =>
  lensMetrics.find((metric) => metric === name) ?? null

/** The metric with the number that it is of. */
export const lensName = (metric: LensMetric, measure: string | null) =>
  isOfMeasure(metric) && measure !== null ? `${lensTitle(metric)} of ${measure}` : lensTitle(metric)

/** A value for each bar; null where there is none. */
export interface LensValues {
  metric: LensMetric
  name: string
  /** Of numbers that are measured. */
  unit: string | null
  values: (number | null)[]
  /** The part by which values may be wrong; 0 of exact ones. */
  error: number
  /** The same in words; null of exact ones. */
  precision: string | null
  exact: boolean
}

/** The part by which values may be wrong. */
function errorOf(metric: LensMetric, answer: TimeSeries): number {
  if (metric === 'clients') return answer.clients_error
  if (!isQuantile(metric)) return 0
  return answer.measure_error === 'inf' ? Infinity : Number(answer.measure_error)
}

/** What an answer says of the bars; null where it is about another metric, or other bars. */
export function lensOf(
  metric: LensMetric,
  measure: string | null,
  answer: TimeSeries,
  bins: Bins,
): LensValues | null {
  const found = answer.metrics[metric]
  const { from, bucket_seconds: seconds } = answer
  const isOther = isOfMeasure(metric) && measure !== null && answer.measure?.field !== measure
  if (found === undefined || isOther) return null
  if (from !== null && seconds !== bins.seconds) return null
  const error = errorOf(metric, answer)
  const value = (at: number) => numberOf(from === null ? null : (found[(at - from) / bins.seconds] ?? null))
  return {
    metric,
    name: lensName(metric, answer.measure?.field ?? measure),
    unit: isOfMeasure(metric) ? (answer.measure?.unit ?? null) : null,
    values: bins.at.map(value),
    error,
    precision: error > 0 ? relative(error) : null,
    exact: answer.exact !== false,
  }
}

/** A text stands for a whole number that is no double; an infinity has no place on an axis. */
function numberOf(value: number | string | null): number | null {
  const number = value === null ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : null
}

/** A value in words. */
export function lensText(
  value: number | null,
  { metric, unit }: Pick<LensValues, 'metric' | 'unit'>,
): string {
  if (value === null) return '–'
  if (metric === 'error_rate') return share(value, 1)
  if (metric === 'bytes') return bytes(value)
  return metric === 'clients' ? count(value) : numberText(value, unit, 0)
}

/** What the lens says of a bar; nothing where it has no value. */
export function lensSaid(lens: LensValues | null, bin: number): string {
  const value = lens?.values[bin] ?? null
  if (lens === null || value === null) return ''
  const about = lens.precision === null && lens.exact ? '' : '≈ '
  return `, ${lens.name} ${about}${lensText(value, lens)}`
}

/** Least and greatest value of the axis: from 0 on, unless there are values below. */
export function lensExtent({ values }: LensValues): [number, number] {
  const known = values.filter((value) => value !== null)
  const [least, most] = [Math.min(0, ...known), Math.max(0, ...known)]
  return most > least ? [least, most] : [least, least + 1]
}

/** Round values of the axis, few. */
export function lensTicks(lens: LensValues, height: number): ValueTick[] {
  const [least, most] = lensExtent(lens)
  const isBytes = lens.metric === 'bytes' || lens.unit === 'bytes'
  const room = (most - least) / Math.max(1, Math.floor(height / 32))
  // Of bytes those that are round in their unit.
  const unit = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log(room) / Math.log(1024))) : 1
  const step = stepAtLeast(room / unit) * unit
  const first = Math.ceil(least / step)
  const length = Math.floor(most / step) - first + 1
  return Array.from({ length }, (_, index) => {
    const at = (first + index) * step
    return { at, label: tickText(at, lens) }
  })
}

/** The axis has little room. */
function tickText(value: number, { metric, unit }: LensValues): string {
  if (metric === 'error_rate') return `${Number((100 * value).toPrecision(3))} %`
  if (value === 0) return '0'
  if (metric === 'bytes' || unit === 'bytes') return bytes(value).replace(/\.0+ /, ' ')
  if (unit !== 'seconds') return Math.abs(value) >= 1e4 ? short(value) : String(Number(value.toPrecision(6)))
  if (Math.abs(value) < 0.001) return `${Number((value * 1e6).toPrecision(3))} µs`
  return Math.abs(value) < 1
    ? `${Number((value * 1e3).toPrecision(3))} ms`
    : `${short(Number(value.toPrecision(3)))} s`
}
