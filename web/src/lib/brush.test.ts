import { describe, expect, it } from 'vitest'
import { barAt, bounds, clauses, heights, isBound, ordered, ranged, rangeTitle, reaches } from './brush'
import type { NumberBuckets } from './viewapi'

const buckets: NumberBuckets = { scale: 'log', edges: [0, 1, 2, 5, 10], hits: [40, 0, 300, 1] }

describe('a range of numbers', () => {
  it('is the clauses that mean its bars', () => {
    expect(clauses('duration_ms', buckets, { first: 2, last: 2 })).toEqual([
      'duration_ms >= 2',
      'duration_ms < 5',
    ])
    expect(clauses('a b', buckets, { first: 0, last: 1 })).toEqual(['"a b" < 2'])
    expect(clauses('n', buckets, { first: 1, last: 3 })).toEqual(['n >= 1'])
    expect(clauses('n', buckets, { first: 0, last: 3 })).toEqual([])
  })

  it('takes the place of the one before', () => {
    const terms = ['n >= 1', 'm < 2', 'n < 5', '"n" <= 7', 'n = 3', 'level = error']
    expect(ranged(terms, 'n', ['n >= 2'])).toEqual(['m < 2', 'n = 3', 'level = error', 'n >= 2'])
    expect(isBound('n < 5 and m < 2', 'n')).toBe(false)
    expect(isBound('not n < 5', 'n')).toBe(false)
  })

  it('is read from its clauses, and parts the bars', () => {
    const chosen = bounds(['level = error', 'n >= 1', 'm < 2', 'n < 5', 'n >= 0'], 'n')
    expect(chosen).toEqual({ from: 1, to: 5 })
    expect([0, 1, 2, 3].map((bar) => reaches(buckets, bar, chosen ?? { from: 0, to: 0 }))).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(bounds(['n > 2'], 'n')).toEqual({ from: 2, to: Infinity })
    expect([bounds(['n = 3', 'm < 2'], 'n'), bounds(['n < 250ms'], 'n')]).toEqual([null, null])
  })

  it('is said in words', () => {
    expect(rangeTitle(buckets, { first: 1, last: 2 }, 'integer')).toBe('1 to below 5: 300 rows')
    expect(rangeTitle(buckets, { first: 3, last: 3 }, 'integer')).toBe('from 5 on: 1 row')
  })

  it('is found under the pointer', () => {
    expect([-1, 0, 0.26, 0.99, 1, 3].map((part) => barAt(buckets, part))).toEqual([0, 0, 1, 3, 3, 3])
    expect(ordered(3, 1)).toEqual({ first: 1, last: 3 })
    expect(heights(buckets)).toEqual([40 / 300, 0, 1, 0.02])
  })
})
