import { expect, test } from 'vitest'
import type { Report } from './api'
import type { Fleet } from './fleet'
import { reported } from './reported'

const report: Report = {
  schema: '',
  complete: true,
  sources: [],
  lines: { total: 10, parsed: 10, repaired: 0, rejected: 0, outside: 0, blank: 0 },
  bytes_sent: 0,
  time: null,
  histogram: null,
  status: [{ value: '200', hits: 10, bytes: 0 }],
  clients: { count: 1, exact: true, error: 0 },
  panels: [],
  percentiles: { bytes: null, request_time: null, upstream_time: null },
  rejects: { count: 0, samples: [] },
  repairs: { count: 0, samples: [] },
  stats: { seconds: 0, bytes: 0, bytes_per_second: 0, threads: 1, memory_max_bytes: 0, peak_bytes: 0 },
}
const peer = { name: 'b:2', rows: 30, share: 0.75, error: 'broke off', missing_seconds: 1 }
const fleet: Fleet = { complete: false, rows_missing: 30, peers: [peer] }

test('a report stands in for the view of all lines', () => {
  const view = reported(report)
  expect([view.complete, view.kept.all, view.exact]).toEqual([true, true, undefined])
  expect(view.panels[0]?.exact).toBe(true)
})

test('without all peers it is marked as a view is, whether it or its session names them', () => {
  const given = [reported({ ...report, complete: false, fleet }), reported(report, fleet)]
  for (const view of given) {
    expect([view.complete, view.kept.all, view.exact]).toEqual([false, false, false])
    expect(view.kept.reason).toBe('b:2 is missing (it had 75 % of all rows): broke off')
    expect(view.panels[0]).toMatchObject({ exact: false, error_max: 30, distinct: { exact: false } })
  }
  const whole = reported(report, { ...fleet, complete: true, peers: [{ ...peer, error: null }] })
  expect([whole.complete, whole.kept.all, whole.exact]).toEqual([true, true, true])
})
