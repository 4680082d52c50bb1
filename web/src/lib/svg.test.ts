import { expect, test } from 'vitest'
import { logStack } from './histogram'
import type { LensValues } from './lens'
import { histogramSvg } from './svg'

const drawing = {
  title: 'access.log – path = "<script>"\u0001',
  bins: {
    seconds: 60,
    at: [0, 60],
    names: ['5xx', '2xx'],
    hits: [
      [1, 0],
      [3, 2],
    ],
  },
  heights: [
    [1, 0],
    [4, 2],
  ],
  isLog: false,
  lens: null,
  ghost: null,
  colours: ['rgb(1, 2, 3)', 'rgb(4, 5, 6)'],
  view: { from: 0, to: 120 },
  zone: 0,
  ink: 'black',
  ground: 'white',
  outline: 'blue',
}

test('one shape for each part that has hits, and nothing of the log is markup', () => {
  const svg = histogramSvg(drawing)
  expect(svg.match(/<rect [^>]*fill="rgb\(1, 2, 3\)"/g)).toHaveLength(2) // legend and one bar
  expect(svg.match(/<rect [^>]*fill="rgb\(4, 5, 6\)"/g)).toHaveLength(3)
  expect(svg).not.toContain('<script>')
  expect(svg).not.toContain('\u0001')
})

test('heights are to scale', () => {
  const heights = [...histogramSvg(drawing).matchAll(/height="([\d.]+)" fill="rgb\(4/g)].map((m) =>
    Number(m[1]),
  )
  expect(heights[1]).toBeCloseTo(1.5 * (heights[2] ?? 0), 1)
})

test('a lens is a line with an axis of its own, broken where a bar has no value', () => {
  const lens: LensValues = {
    metric: 'p95',
    name: 'p95 of <took>',
    unit: 'seconds',
    values: [0.25, null, 0.5, 0.75],
    error: 0,
    precision: null,
    exact: true,
  }
  const bins = { ...drawing.bins, at: [0, 30, 60, 90], seconds: 30, names: [], hits: [] }
  const svg = histogramSvg({ ...drawing, bins, heights: [], lens })
  const line = /<path d="(M[^"]*L[^"]*)" fill="none" stroke="black"/.exec(svg)?.[1] ?? ''
  expect(line.match(/M/g)).toHaveLength(2)
  expect(line.match(/L/g)).toHaveLength(1)
  expect(svg).toContain('p95 of &#60;took&#62;, right axis')
  expect(svg).toContain('>200 ms</text>')
})

test('a logarithmic axis is named, and has the counts themselves', () => {
  const svg = histogramSvg({ ...drawing, heights: logStack(drawing.bins), isLog: true })
  expect(svg).toContain('>log</text>')
  expect(svg).toMatch(/<text [^>]*>1<\/text>/)
})

test('an outline over the bars has their scale and says what it is', () => {
  const svg = histogramSvg({ ...drawing, ghost: { heights: [8, 0], title: 'B, <the day before>' } })
  // Up at the first bar to the top, which is the highest of both, and down after it.
  expect(svg).toContain('<path d="M64 370L64 60L622 60L622 370L1180 370L1180 370"')
  expect(svg).toContain('stroke="blue" stroke-width="2"')
  expect(svg).toContain('B, &#60;the day before&#62;')
  expect(histogramSvg(drawing)).not.toContain('blue')
})
