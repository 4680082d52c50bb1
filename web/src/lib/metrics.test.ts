import { expect, test } from 'vitest'
import * as m from './metrics'
import type { BreakdownValue, Metric } from './viewapi'

const all = { status: true, bytes: true, measure: true, clients: true, time: true }
const titles = (chosen: Metric[] | null, has = all) => m.shownColumns(chosen, has).map(({ name }) => name)

const row: BreakdownValue = {
  value: '/checkout',
  filter: 'path = "/checkout"',
  hits: 1812,
  share: 0.0068,
  errors: 53,
  error_rate: 0.065,
  refused: 0,
  bytes: 1610612736,
  p50: 0.16,
  p95: 1.2,
  p99: null,
  max: '9007199254740993',
  total: 'inf',
  clients: 311,
  first: 1735689607.25,
  last: 1735775990.5,
  trend: [3, 0, 12],
}
const text = (name: Metric, unit: string | null = 'seconds') => {
  const column = m.metricColumns.find((column) => column.name === name)
  return column && m.metricText(row, column, unit, 0)
}

test('the usual columns are those that the rows can have', () => {
  expect(titles(null)).toEqual([
    'hits',
    'errors',
    'error_rate',
    'p50',
    'p95',
    'max',
    'bytes',
    'clients',
    'trend',
  ])
  const table = { status: false, bytes: false, measure: false, clients: false, time: true }
  expect(titles(null, table)).toEqual(['hits', 'trend'])
  expect(titles(null, { ...table, measure: true, time: false })).toEqual(['hits', 'p50', 'p95', 'max'])
})

test('a choice is kept where the rows have less; columns stand in one order', () => {
  const chosen: Metric[] = ['hits', 'p99', 'first']
  expect(titles(chosen, { ...all, measure: false })).toEqual(['hits', 'first'])
  expect(titles(chosen)).toEqual(chosen)
})

test('a column comes and goes; the usual ones are no choice', () => {
  const without = m.turned(null, 'errors')
  expect(without).not.toContain('errors')
  expect(m.turned(without, 'errors')).toBeNull()
  expect(m.turned(['hits'], 'first')).toEqual(['hits', 'first'])
})

test('what the address names', () => {
  expect(['p95', 'trend', 'eval', null].map(m.sortNamed)).toEqual(['p95', 'hits', 'hits', 'hits'])
  expect(m.metricsNamed(['last', 'eval', 'errors'])).toEqual(['hits', 'errors', 'last'])
})

test('cells say their number as people read it, and whether there is one', () => {
  expect(['hits', 'errors', 'refused', 'clients'].map((name) => text(name as Metric))).toEqual([
    '1,812',
    '53',
    '0',
    '311',
  ])
  expect([text('error_rate'), text('bytes'), text('trend')]).toEqual(['6.5 %', '1.50 GiB', ''])
  expect([text('first'), text('last')]).toEqual(['01 Jan 2025 00:00:07', '01 Jan 2025 23:59:50'])
  expect([text('p50'), text('p95'), text('p99')]).toEqual(['160 ms', '1.20 s', '–'])
  expect([text('p95', 'bytes'), text('p95', 'float'), text('p95', null)]).toEqual(['1 B', '1.2', '1.2'])
  expect([text('max'), text('total')]).toEqual(['9007199254740993', 'inf'])
})

test('what was sorted is said where it is not all', () => {
  expect(m.rankedNote({ ranked: 1000, distinct: 4321 })).toBe('Sorted among the 1,000 values with most rows.')
  expect(m.rankedNote({ ranked: 1000, distinct: 1000 })).toBeNull()
  expect(m.rankedNote({ ranked: null, distinct: 4321 })).toBeNull()
})

test('a trend says when most came; each of its bars can be seen', () => {
  expect(m.trendTitle([3, 0, 12], 1735689600, 3600, 0)).toBe('most 12 at 01 Jan 2025 02:00')
  expect(m.trendTitle([0, 0], 1735689600, 3600, 0)).toBe('no row has a time')
  expect(m.trendPath([1000, 0, 500, 1], 20)).toBe('M0 20V0h1V20zM2 20V10h1V20zM3 20V19h1V20z')
  expect(m.trendPath([], 20)).toBe('')
})
