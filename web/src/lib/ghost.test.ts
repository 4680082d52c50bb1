import { expect, test } from 'vitest'
import { ghostAbout, ghostHeights, ghostOf, ghostSaid, skyline } from './ghost'
import type { Bins } from './histogram'

const bins: Bins = {
  seconds: 60,
  at: [600, 660, 720],
  names: ['5xx', '2xx'],
  hits: [
    [1, 0, 0],
    [3, 8, 8],
  ],
}
const a = { from: 600, to: 780 }
const b = { from: 60, to: 240 }
const series = (hits: number[], from: number | null = 60, bucket_seconds = 60) => ({
  from,
  bucket_seconds,
  metrics: { hits },
})

test('B is moved to the start of A and has its height by shares', () => {
  const ghost = ghostOf(series([4, 0, 1]), a, b, bins)
  expect(ghost).toEqual({ hits: [4, 0, 1], totalB: 5, totalA: 20, isCut: false })
  expect(ghost && ghostHeights(ghost, false)).toEqual([16, 0, 4])
  expect(ghost && ghostHeights(ghost, true)[2]).toBeCloseTo(Math.log10(5))
  expect(ghost && ghostSaid(ghost, bins, 0)).toBe(', 20.0 % of A, B 4, 80.0 % of B')
  expect(ghost && ghostAbout(ghost, 'requests')).toBe(
    'over this view from its start on, as high as if it had as many requests (× 4.0)',
  )
})

test('lines of B that begin later stay as much later', () => {
  expect(ghostOf(series([7], 180), a, b, bins)?.hits).toEqual([0, 0, 7])
})

test('spans that differ by a part of a bar lie on the nearest one', () => {
  expect(ghostOf(series([7], 60), a, { from: 80, to: 240 }, bins)?.hits).toEqual([7, 0, 0])
  expect(ghostOf(series([1, 2, 3], 60), a, { from: 20, to: 240 }, bins)?.hits).toEqual([0, 1, 2])
  expect(ghostOf(series([1, 2, 3], 60), a, { from: 100, to: 240 }, bins)?.hits).toEqual([3, 3, 0])
})

test('a longer B is cut, and said to be', () => {
  const ghost = ghostOf(series([1, 2, 3, 4]), a, { from: 60, to: 300 }, bins)
  expect(ghost).toMatchObject({ hits: [1, 2, 3], totalB: 10, isCut: true })
  expect(ghost && ghostAbout(ghost, 'rows')).toMatch(/after the last bar is left out$/)
})

test('nothing in B is said, and bars of another width are not this one', () => {
  const none = ghostOf(series([], null), a, b, bins)
  expect(none && ghostHeights(none, false)).toEqual([0, 0, 0])
  expect(none && ghostAbout(none, 'requests')).toBe('has no requests')
  expect(ghostOf(series([1], 60, 120), a, b, bins)).toBeNull()
})

test('the outline goes up at the first bar and down after the last', () => {
  expect(skyline(bins, [1, 2, 0])).toEqual([
    { at: 600, height: 0 },
    { at: 600, height: 1 },
    { at: 660, height: 1 },
    { at: 660, height: 2 },
    { at: 720, height: 2 },
    { at: 720, height: 0 },
    { at: 780, height: 0 },
    { at: 780, height: 0 },
  ])
})
