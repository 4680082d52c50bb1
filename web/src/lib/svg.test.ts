import { expect, test } from 'vitest'
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
  colours: ['rgb(1, 2, 3)', 'rgb(4, 5, 6)'],
  view: { from: 0, to: 120 },
  zone: 0,
  ink: 'black',
  ground: 'white',
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
