import { expect, test } from 'vitest'
import { measureSpread, numberSpread } from './spread'

const quantiles = { p50: 3, p90: 7, p95: 7, p99: 15 }
const numbers = { field: 'took', unit: 'float', hits: 5, min: 0, max: 15, quantiles, quantile_error: 1 / 64 }

test('the numbers of a column are filters, with bars by doublings', () => {
  const spread = numberSpread(numbers, 0)
  expect(spread.rows.map(({ name }) => name)).toEqual(['min', 'p50', 'p90', 'p95', 'p99', 'max'])
  expect(spread.rows.map(({ bar }) => bar)).toEqual([0, 0.5, 0.75, 0.75, 1, 1])
  expect(spread.rows[1]).toMatchObject({ said: '3', filter: 'took >= 3' })
  expect(spread).toMatchObject({ id: 'number-took', count: '5 lines', precision: '≈ within 1.6 %' })
})

test('numbers below zero have no bars, and times no quantiles and no filter', () => {
  expect(numberSpread({ ...numbers, min: -1 }, 0).rows.every(({ bar }) => bar === 0)).toBe(true)
  const times = numberSpread({ ...numbers, unit: 'time', quantiles: null }, 0)
  expect(times.rows.map(({ name, filter }) => [name, filter])).toEqual([
    ['min', null],
    ['max', null],
  ])
  expect(times.precision).toBe('')
})

test('what is no double is said as it came', () => {
  const spread = numberSpread(
    { ...numbers, max: 'inf', quantiles: { ...quantiles, p99: 'inf' }, quantile_error: 'inf' },
    0,
  )
  expect(spread.rows.at(-1)).toMatchObject({ said: 'inf', filter: 'took >= inf', bar: 0 })
  expect(spread.precision).toBe('≈, without a bound')
  const large = numberSpread({ ...numbers, field: 'a b', unit: 'integer', max: '18446744073709551615' }, 0)
  expect(large.rows.at(-1)).toMatchObject({ filter: '"a b" >= 18446744073709551615', bar: 1 })
})

test('a measure that no line has is a dash', () => {
  const say = (value: number) => `${String(value)} ms`
  expect(
    measureSpread('bytes', 'Size', null, say, 1).rows.every(({ said, bar }) => said === '–' && bar === 0),
  ).toBe(true)
  const of = { count: 2, mean: 2, max: 3, p50: 1, p90: 3, p95: 3, p99: 3 }
  const spread = measureSpread('request_time', 'Time', of, say, 1)
  expect(spread.rows[0]).toEqual({
    name: 'p50',
    about: 'half are at most this',
    said: '1 ms',
    bar: 0.5,
    filter: null,
  })
  expect(spread.count).toBe('2 lines')
})
