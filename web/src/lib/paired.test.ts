import { expect, test } from 'vitest'
import { comparedTitle, pairedShares } from './paired'

const part = (hits: number, of: number) => ({ hits, bytes: 0, share: hits / of })
const row = (value: string, a: number, b: number, g: number) => ({
  value,
  a: part(a, 50),
  b: part(b, 1050),
  g,
})

const comparison = {
  a: { hits: 50, bytes: 0 },
  b: { hits: 1050, bytes: 0 },
  panels: [
    { field: 'method', title: 'Method', rows: [row('GET', 45, 945, 0)] },
    { field: 'path', title: 'Path', rows: [row('/checkout', 50, 70, 319.2), row('/', 0, 900, 214.6)] },
    { field: 'status', title: 'Status', rows: [row('503', 25, 25, 400)] },
  ],
}

test('outside is what all have more, and shares are of either side', () => {
  const { inside, outside, columns } = pairedShares(comparison)
  expect([inside, outside]).toEqual([50, 1000])
  const path = columns.find(({ field }) => field === 'path')
  expect(path?.values).toEqual([
    { value: '/checkout', inside: 50, outside: 20, shareInside: 1, shareOutside: 0.02 },
    { value: '/', inside: 0, outside: 900, shareInside: 0, shareOutside: 0.9 },
  ])
})

test('the column that differs most significantly comes first, without the one that was chosen by', () => {
  const fields = pairedShares(comparison).columns.map(({ field }) => field)
  expect(fields).toEqual(['status', 'path', 'method'])
  const others = pairedShares(comparison, 'path').columns.map(({ field }) => field)
  expect(others).toEqual(['status', 'method'])
})

test('a part that is everything has nothing outside', () => {
  const all = { hits: 50, bytes: 0 }
  const same = { value: 'x', a: part(50, 50), b: part(50, 50), g: 0 }
  const { outside, columns } = pairedShares({
    a: all,
    b: all,
    panels: [{ field: 'f', title: 'F', rows: [same] }],
  })
  expect(outside).toBe(0)
  expect(columns[0]?.values[0]?.shareOutside).toBe(0)
})

test('thresholds of durations and sizes are said with their units', () => {
  expect(comparedTitle('request_time', '>= 0.626688')).toBe('≥ 627 ms')
  expect(comparedTitle('bytes', '>= 157696')).toBe('≥ 154 KiB')
  expect(comparedTitle('path', '>= 5')).toBe('>= 5')
  expect(comparedTitle('referrer', '')).toBe('(none)')
  expect(comparedTitle('path', '/a\u0001')).toBe('/a␁')
})
