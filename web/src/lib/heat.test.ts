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

test('the strength is by the logarithm, from the least to the most', () => {
  const range = { least: 1, most: 10_000 }
  expect(heat.shade(0, range)).toBeNull()
  expect(heat.shade(1, range)).toBe(0)
  expect(heat.shade(10, range)).toBeCloseTo(0.25)
  expect(heat.shade(100, range)).toBeCloseTo(0.5)
  expect(heat.shade(10_000, range)).toBe(1)
  expect(heat.shade(7, { least: 7, most: 7 })).toBe(1)
  expect(heat.heatOf([[0, 3], [], [12, 0]])).toMatchObject({ least: 3, most: 12 })
  expect(heat.heatOf([[0]])).toMatchObject({ least: 0, most: 0 })
})

test('a colour is between its neighbours of the ramp', () => {
  const ramp: heat.Rgb[] = [
    [0, 0, 0],
    [100, 200, 0],
    [200, 200, 50],
  ]
  expect(heat.rampColour(ramp, 0)).toEqual([0, 0, 0])
  expect(heat.rampColour(ramp, 0.25)).toEqual([50, 100, 0])
  expect(heat.rampColour(ramp, 0.5)).toEqual([100, 200, 0])
  expect(heat.rampColour(ramp, 1)).toEqual([200, 200, 50])
  expect(heat.rampColour(ramp, 7)).toEqual([200, 200, 50])
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
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, heat.steps(latency) ?? [0, 0])
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

test('columns are joined where bars are wider, and none are lost', () => {
  const map = heat.latencyHeat(latency, 120, { from: 0, to: 240 }, heat.steps(latency) ?? [0, 0])
  expect(map.seconds).toBe(120)
  expect(map.columns).toEqual([
    [7, 1, 0],
    [0, 0, 7],
  ])
})

test('a step is a clause, open where the last one is', () => {
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, heat.steps(latency) ?? [0, 0])
  expect(heat.stepTerm('request_time', map, 0)).toEqual(['request_time >= 0.01', 'request_time < 0.1'])
  expect(heat.stepTerm('request_time', map, 2)).toEqual(['request_time >= 1', 'request_time < 10'])
  const open = { ...map, top: null }
  expect(heat.stepTerm('request_time', open, 2)).toEqual(['request_time >= 1'])
  expect(heat.stepTitle(open, 2)).toBe('1 s and more')
})

test('nothing is still a map', () => {
  const map = heat.latencyHeat({ at: [], edges: [0, 1], hits: [] }, 60, { from: 0, to: 60 }, [0, 0])
  expect(map.columns).toEqual([[0]])
})

test('columns lie on the axis at their times, also one that begins before it', () => {
  const axis = { from: 30, to: 230 }
  const map = heat.latencyHeat(latency, 60, axis, [1, 3])
  expect(map.at).toEqual([0, 60, 120, 180])
  expect(heat.timeGrid(map, axis)).toEqual({ origin: -0.15, size: 0.3 })
  expect(heat.evenGrid(24)).toEqual({ origin: 0, size: 1 / 24 })
})

test('a box has its span within the axis, its bounds and its hits', () => {
  const axis = { from: 30, to: 230 }
  const map = heat.latencyHeat(latency, 60, axis, [1, 3])
  const area = { left: 0, right: 1, low: 1, high: 1 }
  expect(heat.areaSpan(map, area, axis)).toEqual({ from: 30, to: 120 })
  expect(heat.areaBounds('request_time', map, area)).toEqual({ field: 'request_time', from: 0.1, to: 1 })
  expect(heat.areaHits(map, area)).toEqual({ inside: 1, all: 8 })
  expect(heat.areaSpan(map, { ...area, left: 3, right: 3 }, axis)).toEqual({ from: 180, to: 230 })
})

test('a box that reaches an end of the steps has no bound there, and one of all steps still means numbers', () => {
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, [1, 3])
  const bounds = (low: number, high: number) => heat.areaBounds('f', map, { left: 0, right: 0, low, high })
  expect(bounds(2, 2)).toEqual({ field: 'f', from: 1, to: null })
  expect(bounds(0, 0)).toEqual({ field: 'f', from: null, to: 0.1 })
  expect(bounds(0, 2)).toEqual({ field: 'f', from: 0, to: null })
})

test('bounds are the steps that have their numbers', () => {
  const map = heat.latencyHeat(latency, 60, { from: 0, to: 240 }, [1, 3])
  const steps = (from: number | null, to: number | null) => heat.boundSteps(map, { field: 'f', from, to })
  for (const [low, high] of [
    [0, 0],
    [1, 1],
    [1, 2],
    [0, 2],
  ] as const) {
    const { from, to } = heat.areaBounds('f', map, { left: 0, right: 0, low, high })
    expect(steps(from, to)).toEqual({ low, high })
  }
  expect(steps(0.5, 2)).toEqual({ low: 1, high: 2 })
  expect(steps(50, null)).toEqual({ low: 2, high: 2 })
  expect(steps(null, 0.001)).toEqual({ low: 0, high: 0 })
})

test('the last number that is not above', () => {
  expect([0, 9, 10, 25, 99].map((value) => heat.lastUpTo([10, 20, 30], value))).toEqual([0, 0, 0, 1, 2])
  expect(heat.lastUpTo([], 3)).toBe(0)
})
