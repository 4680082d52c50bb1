import { expect, test } from 'vitest'
import { areaOf, boundsTitle, boundTerms } from './box'

test('any two corners make the same box', () => {
  const box = { left: 2, right: 5, low: 1, high: 3 }
  expect(areaOf({ column: 2, cell: 3 }, { column: 5, cell: 1 })).toEqual(box)
  expect(areaOf({ column: 5, cell: 1 }, { column: 2, cell: 3 })).toEqual(box)
})

test('bounds are clauses, upper ones not part of them', () => {
  expect(boundTerms({ field: 'request_time', from: 0.1, to: 1 })).toEqual([
    'request_time >= 0.1',
    'request_time < 1',
  ])
  expect(boundTerms({ field: 'request_time', from: null, to: 0.0000015 })).toEqual([
    'request_time < 0.000002',
  ])
  expect(boundTerms({ field: 'time taken', from: 0, to: null })).toEqual(['"time taken" >= 0'])
})

test('bounds in words', () => {
  expect(boundsTitle({ from: 2, to: null })).toBe('2 s and more')
  expect(boundsTitle({ from: 0, to: null })).toBe('0 s and more')
  expect(boundsTitle({ from: null, to: 0.1 })).toBe('below 100 ms')
  expect(boundsTitle({ from: 0.002, to: 2.5 })).toBe('2 ms to 2.50 s')
})
