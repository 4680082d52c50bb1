import { expect, test } from 'vitest'
import type { Bins } from './histogram'
import * as l from './lens'
import type { TimeSeries } from './viewapi'

const day = Date.UTC(2025, 0, 1) / 1000
const bins: Bins = {
  seconds: 60,
  at: [day, day + 60, day + 120, day + 180],
  names: ['2xx'],
  hits: [[4, 0, 2, 1]],
}
const answer: TimeSeries = {
  seconds: 0.01,
  rows: 7,
  exact: true,
  measure: { field: 'request_time', unit: 'seconds' },
  measure_error: 0.015625,
  clients_error: 0,
  from: day + 60,
  bucket_seconds: 60,
  buckets: 2,
  metrics: { p95: [null, 0.25], bytes: ['9007199254740993', null] },
}
const of = (metric: l.LensMetric, measure: string | null = 'request_time', more: Partial<TimeSeries> = {}) =>
  l.lensOf(metric, measure, { ...answer, ...more }, bins)

test('each bar has the value of its bucket, and none where there is no bucket', () => {
  expect(of('p95')?.values).toEqual([null, null, 0.25, null])
  expect(of('bytes')?.values).toEqual([null, 9007199254740992, null, null])
  expect(of('p95', 'request_time', { from: null, bucket_seconds: null })?.values).toEqual(Array(4).fill(null))
})

test('an answer about other bars, another metric or other numbers is none', () => {
  expect(of('p95', 'request_time', { bucket_seconds: 30 })).toBeNull()
  expect(of('clients')).toBeNull()
  expect(of('p95', 'upstream_time')).toBeNull()
})

test('an infinity has no place on an axis', () => {
  expect(of('p95', 'request_time', { metrics: { p95: ['inf', 1] } })?.values[1]).toBeNull()
})

test('an estimate says how far it may be beside the exact number; exact ones say nothing', () => {
  expect(of('p95')?.precision).toBe('± 1.6 %')
  expect(of('bytes')?.precision).toBeNull()
  const clients = { metrics: { clients: [3, 4] } }
  expect(of('clients', null, clients)?.precision).toBeNull()
  expect(of('clients', null, { ...clients, clients_error: 0.04 })?.precision).toBe('± 4.0 %')
  expect(of('bytes', null, { exact: false })?.exact).toBe(false)
})

test('what is said of a bar; of one without a value nothing', () => {
  expect(l.lensSaid(of('p95'), 2)).toBe(', p95 of request_time ≈ 250 ms')
  expect(l.lensSaid(of('p95'), 1)).toBe('')
  expect(l.lensSaid(null, 2)).toBe('')
  expect(l.lensText(0.065, { metric: 'error_rate', unit: null })).toBe('6.5 %')
})

const lens = (metric: l.LensMetric, unit: string | null, values: (number | null)[]): l.LensValues => ({
  metric,
  name: metric,
  unit,
  values,
  error: 0,
  precision: null,
  exact: true,
})
const labels = (of: l.LensValues) => l.lensTicks(of, 160).map(({ label }) => label)

test('the axis begins at 0 unless there are values below, and has room for all', () => {
  expect(l.lensExtent(lens('p95', 'float', [2, null, 8]))).toEqual([0, 8])
  expect(l.lensExtent(lens('p95', 'float', [-2, 8]))).toEqual([-2, 8])
  expect(l.lensExtent(lens('error_rate', null, [0, null]))).toEqual([0, 1])
})

test('ticks are round in the unit', () => {
  expect(labels(lens('error_rate', null, [0.07]))).toEqual(['0 %', '2 %', '4 %', '6 %'])
  expect(labels(lens('p95', 'seconds', [0.9]))).toEqual(['0', '200 ms', '400 ms', '600 ms', '800 ms'])
  expect(labels(lens('bytes', null, [5 * 1024 ** 2]))).toEqual([
    '0',
    '1 MiB',
    '2 MiB',
    '3 MiB',
    '4 MiB',
    '5 MiB',
  ])
  expect(labels(lens('max', 'integer', [-30, 50]))).toEqual(['-20', '0', '20', '40'])
  expect(labels(lens('clients', null, [48000]))).toEqual(['0', '10k', '20k', '30k', '40k'])
})

test('only metrics that there are', () => {
  expect(l.lensNamed('p95')).toBe('p95')
  expect(l.lensNamed('p96')).toBeNull()
  expect(l.lensName('p95', 'took')).toBe('p95 of took')
  expect(l.lensName('clients', 'took')).toBe('clients')
})
