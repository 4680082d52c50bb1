import { expect, test } from 'vitest'
import { historySeconds, lineOf, nearest, scaleEnd, withPoint, type Point } from './history'

test('old points go, but for the one where the line begins', () => {
  let points: Point[] = []
  for (let at = 0; at <= 500; at++) points = withPoint(points, { at, value: at })
  expect(points[0]?.at).toBe(500 - historySeconds)
  expect(points).toHaveLength(historySeconds + 1)
})

test('the scale ends at the limit, or at a round number', () => {
  expect(scaleEnd([3, 7], 100)).toBe(100)
  expect(scaleEnd([3, 170], 100)).toBe(170)
  expect([0, 1, 3, 7, 10, 11, 999].map((value) => scaleEnd([value], null))).toEqual([
    1, 1, 5, 10, 10, 20, 1000,
  ])
  expect(scaleEnd([3 * 2 ** 20], null, 1024)).toBe(4 * 2 ** 20)
  expect(scaleEnd([1000 * 1024], null, 1024)).toBe(1024 * 1024)
})

test('the newest is at the right edge, what is more than the scale at its top', () => {
  const points = [
    { at: 40, value: 0 },
    { at: 100, value: 50 },
    { at: 160, value: 200 },
  ]
  expect(lineOf(points, 100, 240, 10)).toEqual([
    [0, 10],
    [120, 5],
    [240, 0],
  ])
  expect([nearest(points, 1), nearest(points, 0.55), nearest(points, 0)]).toEqual([2, 1, 0])
})
