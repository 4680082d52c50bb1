import { expect, test } from 'vitest'
import { nowhere } from './hash'
import type { LensValues } from './lens'
import { breakdownCsv, breakdownJson, command, lensCsv, markdown, quoted, request } from './takeaway'
import type { Breakdown, BreakdownValue, View } from './viewapi'

const everything = { from: null, to: null, where: '' }

test('words of a shell', () => {
  expect(quoted('/var/log/access.log')).toBe('/var/log/access.log')
  expect(quoted("it's $HOME `id`")).toBe("'it'\\''s $HOME `id`'")
  expect(quoted('')).toBe("''")
})

test('a command has the view, and what the tool asks', () => {
  const view = { ...nowhere, files: ['access.log'], format: null, rows: null, selection: everything }
  expect(command(view)).toBe('rorqual logs access.log')
  const selection = { from: 1738310400, to: 1738310400.5, where: 'path = "/a b"' }
  expect(command({ ...view, selection, files: ['-my log'] })).toBe(
    `rorqual logs --since 2025-01-31T08:00:00Z --until 2025-01-31T08:00:00.5Z --where 'path = "/a b"' './-my log'`,
  )
  const other = { from: 1738310400, to: 1738314000 }
  expect(command({ ...view, tool: 'explain', other })).toBe(
    'rorqual logs --explain 2025-01-31T08:00:00Z..2025-01-31T09:00:00Z access.log',
  )
  const metrics = { field: 'path', sort: 'p95' as const, show: null, measure: null }
  expect(command({ ...view, tool: 'metrics', metrics })).toBe('rorqual logs --by path --sort p95 access.log')
  const shown = { ...metrics, show: ['hits' as const, 'p95' as const] }
  expect(command({ ...view, tool: 'metrics', metrics: shown })).toBe(
    'rorqual logs --by path --show hits,p95 --sort p95 access.log',
  )
  const limit = { per: 'minute' as const, requests: 30 }
  expect(command({ ...view, tool: 'rates', rates: { by: 'net', limit } })).toBe(
    'rorqual logs --rates --by net --limit-per-minute 30 access.log',
  )
  const hour = { from: other.to, to: other.to + 3600, where: 'status >= 500' }
  expect(command({ ...view, selection: hour, tool: 'compare', other })).toBe(
    "rorqual logs --where 'status >= 500' --compare 2025-01-31T09:00:00Z..2025-01-31T10:00:00Z" +
      ' 2025-01-31T08:00:00Z..2025-01-31T09:00:00Z access.log',
  )
  const pair = { field: 'path', a: '/a', b: '/b' }
  expect(command({ ...view, tool: 'compare', other, pair })).toBe('rorqual logs access.log')
})

test('a command names all files, and the format that was given', () => {
  const view = {
    ...nowhere,
    selection: everything,
    files: ['web1/access.log', 'my log.gz'],
    format: null,
    rows: null,
  }
  expect(command(view)).toBe("rorqual logs web1/access.log 'my log.gz'")
  expect(command({ ...view, format: 'combined' })).toBe(
    "rorqual logs --format combined web1/access.log 'my log.gz'",
  )
  expect(command({ ...view, rows: '$.data.items' })).toContain(" --rows '$.data.items' web1")
  expect(command({ ...view, format: 'custom' })).toContain(' --format FORMAT web1')
})

test('a request names no token', () => {
  expect(request('http://127.0.0.1:1/x?where=a%20b&format=ndjson')).toBe(
    `curl -H "Authorization: Bearer $RORQUAL_TOKEN" 'http://127.0.0.1:1/x?where=a%20b&format=ndjson'`,
  )
})

test('text of the log stays in its cell', () => {
  const rows = [{ value: '/a|b<img>`x`\n**', hits: 3, bytes: 2048 }]
  const panel = { field: 'path', title: 'Path', rows, distinct: 1, hits: 3, exact: true }
  const view = {
    lines: { matching: 3, total: 10 },
    time: { first: 0, last: 61, zone_seconds: 0 },
    panels: [panel],
  } as unknown as View
  const text = markdown(
    view,
    'access.log',
    { ...everything, where: 'status = 500' },
    0,
    'http://127.0.0.1:1/#s=1',
  )
  expect(text.split('\n')).toEqual([
    '**access.log**: 3 of 10',
    '',
    '01 Jan 1970 00:00:00 to 01 Jan 1970 00:01:01 UTC',
    '',
    '`status = 500`',
    '',
    '| Path | hits | share | bytes |',
    '|---|--:|--:|--:|',
    '| /a\\|b\\<img\\>\\`x\\` \\*\\* | 3 | 100 % | 2.00 KiB |',
    '',
    'http://127.0.0.1:1/#s=1',
  ])
})

const value: BreakdownValue = {
  value: '=cmd|"x"',
  filter: 'path = "=cmd"',
  hits: 12,
  share: 0.5,
  errors: 3,
  error_rate: 0.25,
  refused: null,
  bytes: '9007199254740993',
  p50: null,
  p95: 1.2,
  p99: null,
  max: -3,
  total: '-9007199254740993',
  clients: null,
  first: null,
  last: null,
  trend: [1, 2],
}
const answer: Breakdown = {
  seconds: 0.01,
  exact: false,
  field: 'path',
  sort: 'hits',
  rows: 24,
  distinct: 2,
  distinct_error: 0,
  ranked: null,
  measure: { field: 'request_time', unit: 'seconds' },
  measure_error: 0.015625,
  clients_error: 0,
  has_status: true,
  has_bytes: true,
  has_clients: true,
  from: 1738310400,
  bucket_seconds: 60,
  values: [value],
  others: 12,
}

test('the table of metrics as CSV has its shown columns, its errors, and no formulas', () => {
  const shown = ['hits', 'errors', 'p95', 'max', 'bytes', 'total', 'clients', 'trend'] as const
  expect(breakdownCsv(answer, [...shown]).split('\r\n')).toEqual([
    'path,share,hits,errors,p95,max,bytes,total,clients,measure,measure_error,clients_error,exact',
    `"'=cmd|""x""",0.5,12,3,1.2,-3,9007199254740993,-9007199254740993,,request_time,0.015625,0,false`,
    '',
  ])
})

test('as JSON it is the answer, with all that it says of itself', () => {
  expect(JSON.parse(breakdownJson(answer))).toEqual(answer)
})

test('the line over the bars as CSV: a row for each bar, empty where it has no value', () => {
  const lens: LensValues = {
    metric: 'p95',
    name: 'p95 of request_time',
    unit: 'seconds',
    values: [0.25, null],
    error: 0.015625,
    precision: '± 1.6 %',
    exact: true,
  }
  const bins = {
    seconds: 60,
    at: [1738310400, 1738310460],
    names: ['5xx', '2xx'],
    hits: [
      [1, 0],
      [2, 0],
    ],
  }
  expect(lensCsv(lens, bins)).toBe(
    'time,seconds,hits,p95 of request_time,error,exact\r\n' +
      '2025-01-31T08:00:00Z,60,3,0.25,0.015625,true\r\n' +
      '2025-01-31T08:01:00Z,60,0,,0.015625,true\r\n',
  )
})
