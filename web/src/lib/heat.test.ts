import { expect, test } from 'vitest'
import * as heat from './heat'

const latency = {
  at: [0, 60, 180],
  edges: [0, 0.01, 0.1, 1, 10],
  hits: [
    [0, 5, 1, 0, 0],
    [0, 2, 0, 0, 0],
    [0, 0, 0, 7, 0],
  ],
}

test('one hit is seen, and more is stronger', () => {
  expect(heat.shade(0, 100)).toBe(0)
  expect(heat.shade(1, 1e9)).toBeGreaterThan(0.05)
  expect(heat.shade(50, 100)).toBeLessThan(heat.shade(100, 100))
  expect(heat.shade(100, 100)).toBe(1)
})

test('the week lies with Monday on top', () => {
  const hits = Array.from({ length: 7 }, (_, day) =>
    Array.from({ length: 24 }, (_, hour) => day * 100 + hour),
  )
  const columns = heat.weekColumns(hits)
  expect(columns).toHaveLength(24)
  expect(columns[5]).toEqual([605, 505, 405, 305, 205, 105, 5])
  expect(heat.weekTerms(14, 6)).toEqual(['weekday = mon', 'hour = 14'])
  expect(heat.weekTerms(0, 0)).toEqual(['weekday = sun', 'hour = 0'])
})

test('only steps that occur, all columns of the span', () => {
  expect(heat.steps(latency)).toEqual([1, 3])
  expect(heat.steps({ at: [0], edges: [0], hits: [[0]] })).toBeNull()
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, 100, heat.steps(latency) ?? [0, 0])
  expect(map.edges).toEqual([0.01, 0.1, 1])
  expect(map.top).toBe(10)
  expect(map.columns).toEqual([
    [5, 1, 0],
    [2, 0, 0],
    [0, 0, 0],
    [0, 0, 7],
  ])
  expect(map.most).toBe(7)
})

test('columns are joined where there is no room, and none are lost', () => {
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, 2, heat.steps(latency) ?? [0, 0])
  expect(map.seconds).toBe(120)
  expect(map.columns).toEqual([
    [7, 1, 0],
    [0, 0, 7],
  ])
})

test('a step is a clause, open where the last one is', () => {
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, 100, heat.steps(latency) ?? [0, 0])
  expect(heat.stepTerm('request_time', map, 0)).toEqual(['request_time >= 0.01', 'request_time < 0.1'])
  expect(heat.stepTerm('request_time', map, 2)).toEqual(['request_time >= 1', 'request_time < 10'])
  const open = { ...map, top: null }
  expect(heat.stepTerm('request_time', open, 2)).toEqual(['request_time >= 1'])
  expect(heat.stepTitle(open, 2)).toBe('1.00 s and more')
})

test('nothing is still a map', () => {
  const map = heat.latencyHeat({ at: [], edges: [0, 1], hits: [] }, 60, { from: 0, to: 60 }, 10, [0, 0])
  expect(map.columns).toEqual([[0]])
})
