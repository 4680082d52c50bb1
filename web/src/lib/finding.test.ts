import { expect, test } from 'vitest'
import { companionsOf, falseShare, ratioTitle, sentence } from './finding'
import type { Explanation, Finding } from './viewapi'

const finding = (part: Partial<Finding>): Finding => ({
  terms: [{ field: 'path', value: '/checkout' }],
  where: 'path = /checkout',
  inside: 53,
  outside: 31,
  share_inside: 53 / 1043,
  share_outside: 31 / 18957,
  ratio: 31.04,
  g: 735,
  q: 0,
  companions: [],
  ...part,
})
const answer: Explanation = {
  inside: 1043,
  outside: 18957,
  statistic: 'G-test',
  tried: 34174,
  seconds: 0.004,
  rows: [],
}
const scene = { where: 'Between 08 Mar 2025 14:10 and 14:25', records: 'requests' }
const said = (part: Partial<Finding>) =>
  sentence(finding(part), answer, scene)
    .map(({ text }) => text)
    .join('')

test('the first finding is a sentence with its counts', () => {
  expect(said({})).toBe(
    'Between 08 Mar 2025 14:10 and 14:25, requests with path /checkout were 31 times as frequent as outside: 53 of 1,043 (5.1 %), outside 31 of 18,957 (0.2 %).',
  )
  expect(said({ ratio: 3.44 })).toMatch(/were 3\.4 times as frequent/)
})

test('what came nowhere else is said so', () => {
  expect(said({ outside: 0, ratio: null })).toMatch(
    /path \/checkout came only here: 53 of 1,043 \(5\.1 %\), and none of the 18,957 outside\.$/,
  )
})

test('pairs, absent values and thresholds are words, and only values are text of the log', () => {
  const terms = [
    { field: 'request_time', value: '>= 2' },
    { field: 'referrer', value: '' },
    { field: 'path', value: '/a\u202eb' },
  ]
  expect(said({ terms })).toMatch(
    /requests with a request time of at least 2\u00a0s and no referrer and path \/a\\u202eb were/,
  )
  const values = sentence(finding({ terms }), answer, scene).filter(({ isValue }) => isValue)
  expect(values.map(({ text }) => text)).toEqual(['2\u00a0s', '/a\\u202eb'])
})

test('ratios and shares of false finds for the columns', () => {
  expect(ratioTitle(finding({ ratio: 1234.5 }))).toBe('1,235 ×')
  expect(ratioTitle(finding({ ratio: 3.456 }))).toBe('3.46 ×')
  expect(ratioTitle(finding({ outside: 0 }))).toBe('only here')
  expect([falseShare(0.00001), falseShare(0.0123)]).toEqual(['< 0.001', '0.012'])
})

test('what goes together with a finding is grouped by field', () => {
  const groups = companionsOf([
    'status = 500',
    'path = /checkout',
    'status = 502',
    'upstream_time >= 2',
    'not bot',
  ])
  expect(groups.map(({ title, values }) => [title, values.map(({ title }) => title)])).toEqual([
    ['status', ['500', '502']],
    ['path', ['/checkout']],
    ['upstream time', ['≥ 2 s']],
    ['not bot', ['']],
  ])
  expect(groups[0]?.values[0]).toEqual({ clause: 'status = 500', value: '500', title: '500' })
  expect(groups[2]?.values[0]?.value).toBeNull()
})
