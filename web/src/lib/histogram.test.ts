import { describe, expect, test } from 'vitest'
import * as h from './histogram'
import type { Histogram } from './viewapi'

const day = Date.UTC(2025, 0, 1) / 1000

const sparse: Histogram = {
  bucket_seconds: 60,
  finest_seconds: 60,
  at: [day, day + 120],
  stack: 'class',
  series: [
    { value: '2xx', hits: [10, 20] },
    { value: '3xx', hits: [1, 0] },
    { value: '4xx', hits: [0, 2] },
    { value: '5xx', hits: [3, 0] },
    { value: 'other', hits: [0, 0] },
  ],
}

const of = (bins: h.Bins, name: (typeof h.classes)[number]) => bins.hits[h.classes.indexOf(name)]

describe('fill', () => {
  test('gaps are zeros', () => {
    const bins = h.fill(sparse, { from: day, to: day + 240 }, 400)
    expect(bins.at).toEqual([day, day + 60, day + 120, day + 180])
    expect(of(bins, '2xx')).toEqual([10, 0, 20, 0])
    expect(of(bins, '5xx')).toEqual([3, 0, 0, 0])
    expect([0, 1, 2].map((bin) => h.total(bins, bin))).toEqual([14, 0, 22])
  })

  test('joins whole buckets where there is no room, and loses none', () => {
    const bins = h.fill(sparse, { from: day, to: day + 240 }, 2)
    expect(bins.seconds).toBe(120)
    expect(of(bins, '2xx')).toEqual([10, 20])
  })

  test('leaves out what lies outside the span, and never has no bins', () => {
    expect(of(h.fill(sparse, { from: day + 60, to: day + 120 }, 10), '2xx')).toEqual([0])
    expect(h.fill(sparse, { from: day, to: day }, 10).at).toHaveLength(1)
  })

  test('a mistaken clock does not make millions of bins', () => {
    const bins = h.fill(sparse, { from: 0, to: day * 2 }, 1e9)
    expect(bins.at.length).toBeLessThanOrEqual(4097)
    expect(bins.hits.flat().reduce((a, b) => a + b)).toBe(36)
  })
})

test('stacks from the baseline', () => {
  const all = h.stack(h.fill(sparse, { from: day, to: day + 180 }, 400))
  expect(all[0]).toEqual([3, 0, 0])
  expect(all[4]).toEqual([14, 0, 22])
})

test('other fields stand as they are ranked, the rest on top', () => {
  const series = [
    { value: null, hits: [7, 0] },
    { value: 'GET', hits: [5, 1] },
    { value: '', hits: [0, 2] },
  ]
  const bins = h.fill({ ...sparse, stack: 'method', series }, { from: day, to: day + 180 }, 400)
  expect(bins.names).toEqual(['GET', '', null])
  expect(bins.hits[2]).toEqual([7, 0, 0])
  expect(h.binTitle(bins, 2, 0)).toMatch(/3 requests, \(none\) 2, GET 1$/)
})

test('spans', () => {
  const span = { from: 100, to: 160 }
  expect(h.before(span)).toEqual({ from: 40, to: 100 })
  expect(h.shifted(span, -86400)).toEqual({ from: -86300, to: -86240 })
  expect([h.covers(null, span), h.covers(span, null), h.covers(span, { from: 100, to: 150 })]).toEqual([
    true,
    false,
    true,
  ])
  expect(h.covers(span, { from: 90, to: 150 })).toBe(false)
})

test('says what a bar counts', () => {
  expect([1, 60, 120, 900, 3600, 21600, 86400, 604800, 90].map(h.widthTitle)).toEqual([
    'second',
    'minute',
    '2 minutes',
    '15 minutes',
    'hour',
    '6 hours',
    'day',
    'week',
    '90 seconds',
  ])
})

test('spans: whole, snapped outwards, scaled inside the whole', () => {
  expect(h.wholeSpan(sparse)).toEqual({ from: day, to: day + 180 })
  expect(h.wholeSpan({ ...sparse, at: [] })).toBeNull()
  expect(h.snap({ from: day + 59, to: day + 61 }, 60)).toEqual({ from: day, to: day + 120 })
  expect(h.snap({ from: day, to: day }, 60)).toEqual({ from: day, to: day + 60 })
  const whole = { from: 0, to: 100 }
  expect(h.scale(whole, whole, 50, 0.5)).toEqual({ from: 25, to: 75 })
  expect(h.scale({ from: 90, to: 100 }, whole, 95, 4)).toEqual({ from: 60, to: 100 })
  expect(h.scale({ from: 25, to: 75 }, whole, 50, 9)).toEqual(whole)
})

test('the axis of a log that still arrives moves in steps', () => {
  const at = (to: number) => ({ from: 0, to })
  const first = h.arrivingEnd(null, at(100), 0.1)
  expect(first).toBe(1000)
  expect(h.arrivingEnd(first, at(300), 0.29)).toBe(first)
  expect(h.arrivingEnd(first, at(300), 0.1)).toBe(3000) // far off
  expect(h.arrivingEnd(first, at(1001), 0.99)).toBeCloseTo(1001 / 0.99) // passed
  expect(h.arrivingEnd(null, at(100), null)).toBe(125)
})

describe('ticks', () => {
  test('hours with the date where it changes', () => {
    const ticks = h.timeTicks({ from: day, to: day + 2 * 86400 }, 800, 0)
    expect(ticks.map((tick) => tick.label)).toEqual([
      '00:00',
      '06:00',
      '12:00',
      '18:00',
      '00:00',
      '06:00',
      '12:00',
      '18:00',
      '00:00',
    ])
    expect(ticks.filter((tick) => tick.above).map((tick) => tick.above)).toEqual([
      '01 Jan 2025',
      '02 Jan 2025',
      '03 Jan 2025',
    ])
  })

  test('round in the zone of the log', () => {
    const [tick] = h.timeTicks({ from: day, to: day + 86400 }, 200, 5400)
    expect(tick?.label).toBe('12:00')
    expect(((tick?.at ?? 0) + 5400) % 43200).toBe(0)
  })

  test('months and years for long logs', () => {
    const year = h.timeTicks({ from: day, to: day + 365 * 86400 }, 1200, 0)
    expect(year.map((tick) => tick.label).slice(0, 3)).toEqual(['Jan', 'Feb', 'Mar'])
    const decades = h.timeTicks({ from: 0, to: day }, 600, 0)
    expect(decades.length).toBeGreaterThan(2)
    expect(decades.length).toBeLessThan(10)
  })

  test('never crowd', () => {
    for (const seconds of [1, 30, 600, 86400, 1e6, 1e7, 1e8, 2e9])
      for (const width of [300, 1200, 2500])
        expect(h.timeTicks({ from: day, to: day + seconds }, width, 0).length).toBeLessThanOrEqual(
          width / 70 + 2,
        )
  })

  test('counts', () => {
    expect(h.countTicks(1234, 160)).toEqual([0, 500, 1000])
    expect(h.countTicks(1, 160)).toEqual([0, 1])
    expect(h.countTicks(0, 160)).toEqual([0])
    expect([950, 9999, 12000, 1500000].map(h.short)).toEqual(['950', '9,999', '12k', '1.5M'])
  })
})

test('words for times', () => {
  expect(h.zoneTitle(0)).toBe('UTC')
  expect(h.zoneTitle(-12600)).toBe('UTC−03:30')
  expect(h.moment(day, 0, 86400)).toBe('01 Jan 2025')
  expect(h.moment(day, 3600, 3600)).toBe('01 Jan 2025 01:00')
  expect(h.moment(day + 5, 0, 1)).toBe('01 Jan 2025 00:00:05')
  expect(h.spanTitle({ from: day, to: day + 3600 }, 0, 3600)).toBe('01 Jan 2025 00:00 – 01:00')
  expect(h.spanTitle({ from: day, to: day + 172800 }, 0, 86400)).toBe('01 Jan 2025 – 03 Jan 2025')
  const bins = h.fill(sparse, { from: day, to: day + 180 }, 400)
  expect(h.binTitle(bins, 0, 0)).toBe('01 Jan 2025 00:00 – 00:01, 14 requests, 2xx 10, 3xx 1, 5xx 3')
})

test('a span of a log of one year is named without it', () => {
  const span = { from: day, to: day + 90000 }
  expect(h.shortSpanTitle(span, { from: day, to: day + 31536000 }, 0)).toBe('01 Jan 00:00 – 02 Jan 01:00')
  const longer = { from: day - 60, to: day + 31536000 }
  expect(h.shortSpanTitle(span, longer, 0)).toBe('01 Jan 2025 00:00 – 02 Jan 2025 01:00')
  expect(h.shortSpanTitle(span, null, 0)).toBe('01 Jan 2025 00:00 – 02 Jan 2025 01:00')
})

test('on a logarithmic scale a bar is as high as the logarithm of all, and its parts share it as they share the hits', () => {
  const bins = h.fill(sparse, { from: day, to: day + 180 }, 400)
  const tops = h.logStack(bins)
  const top = tops[4] ?? []
  expect(top[0]).toBeCloseTo(Math.log10(15))
  expect(top[1]).toBe(0)
  expect(top[2]).toBeCloseTo(Math.log10(23))
  // 3 of 14 are errors, which stand on the baseline.
  expect((tops[0]?.[0] ?? 0) / (top[0] ?? 1)).toBeCloseTo(3 / 14)
})

test('ticks of a logarithmic scale are the counts at their heights, and do not run into each other', () => {
  expect(h.logTicks(0, 160)).toEqual([0])
  expect(h.logTicks(7, 160)).toEqual([0, 1, 3])
  expect(h.logTicks(100_000, 160)).toEqual([0, 10, 100, 1000, 10_000, 100_000])
  expect(h.logTicks(100_000, 320)).toContain(1)
  const ticks = h.hitTicks(h.logHeight(2500), 160, true)
  expect(ticks.map(({ label }) => label)).toContain('1,000')
  expect(ticks.every(({ at }) => at <= h.logHeight(2500))).toBe(true)
  expect(h.hitTicks(90, 160, false).map(({ at }) => at)).toEqual([0, 50])
})
