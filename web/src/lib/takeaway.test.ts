import { expect, test } from 'vitest'
import { nowhere } from './hash'
import { command, markdown, quoted, request } from './takeaway'
import type { View } from './viewapi'

const everything = { from: null, to: null, where: '' }

test('words of a shell', () => {
  expect(quoted('/var/log/access.log')).toBe('/var/log/access.log')
  expect(quoted("it's $HOME `id`")).toBe("'it'\\''s $HOME `id`'")
  expect(quoted('')).toBe("''")
})

test('a command has the view, and what the tool asks', () => {
  const view = { ...nowhere, file: 'access.log', selection: everything }
  expect(command(view)).toBe('rorqual logs access.log')
  const selection = { from: 1738310400, to: 1738310400.5, where: 'path = "/a b"' }
  expect(command({ ...view, selection, file: '-my log' })).toBe(
    `rorqual logs --since 2025-01-31T08:00:00Z --until 2025-01-31T08:00:00.5Z --where 'path = "/a b"' './-my log'`,
  )
  const other = { from: 1738310400, to: 1738314000 }
  expect(command({ ...view, tool: 'explain', other })).toBe(
    'rorqual logs --explain 2025-01-31T08:00:00Z..2025-01-31T09:00:00Z access.log',
  )
  const metrics = { field: 'path', sort: 'p95' as const, show: null, measure: null }
  expect(command({ ...view, tool: 'metrics', metrics })).toBe('rorqual logs --by path --sort p95 access.log')
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
