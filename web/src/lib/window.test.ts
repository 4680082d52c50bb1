import { describe, expect, test } from 'vitest'
import * as w from './window'

const small: w.Geometry = { total: 1000, visible: 20, rowPx: 28 }
const huge: w.Geometry = { total: 3_000_000_000, visible: 20, rowPx: 28 }

describe('few rows', () => {
  test('are true to scale', () => {
    expect(w.heightPx(small)).toBe(28_000)
    expect(w.isScaled(small)).toBe(false)
    expect(w.firstAt(280, small)).toBe(10)
    expect(w.scrollAt(10, small)).toBe(280)
    expect(w.firstAt(1e9, small)).toBe(980)
  })

  test('fewer than fit', () => {
    const few = { ...small, total: 3 }
    expect([w.firstMax(few), w.firstAt(50, few), w.clampFirst(5, few)]).toEqual([0, 0, 0])
    expect(w.firstAt(0, { ...small, total: 0 })).toBe(0)
  })
})

describe('more rows than a browser has pixels', () => {
  test('the thumb reaches the first and the last', () => {
    expect(w.isScaled(huge)).toBe(true)
    expect(w.heightPx(huge)).toBeLessThan(17_000_000)
    expect(w.firstAt(0, huge)).toBe(0)
    expect(w.firstAt(w.heightPx(huge) - huge.visible * huge.rowPx, huge)).toBe(2_999_999_980)
  })

  test('a row that was gone to is where its thumb stands, to the nearest pixel', () => {
    const first = 123_456_789
    const there = w.firstAt(w.scrollAt(first, huge), huge)
    expect(there).toBe(first)
    const pixel = w.firstAt(Math.round(w.scrollAt(first, huge)), huge)
    expect(Math.abs(pixel - first)).toBeLessThan(200)
  })
})

test('a row comes into the window by the least movement', () => {
  expect(w.reveal(5, 10, small)).toBe(5)
  expect(w.reveal(15, 10, small)).toBe(10)
  expect(w.reveal(30, 10, small)).toBe(11)
  expect(w.reveal(999, 10, small)).toBe(980)
})

test('only blocks in the window are asked for', () => {
  expect(w.blocks(0, 21, 1000)).toEqual([0])
  expect(w.blocks(90, 21, 1000)).toEqual([0, 1])
  expect(w.blocks(995, 21, 1000)).toEqual([9])
  expect(w.blocks(0, 21, 0)).toEqual([])
  expect(w.blocks(5_000_000_000, 2, 6_000_000_000)).toEqual([50_000_000])
})

test('blocks are kept, those used longest ago go', () => {
  const held = new w.Blocks<number>()
  for (let block = 0; block < 100; block++) {
    held.put(block, [block * w.blockRows])
    held.has(0)
  }
  expect(held.size).toBeLessThanOrEqual(40)
  expect(held.row(0)).toBe(0)
  expect(held.row(100)).toBeUndefined()
  expect(held.row(9900)).toBe(9900)
})
