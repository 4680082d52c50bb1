import { expect, test } from 'vitest'
import { adviceOf } from './advice'
import type { Report, Session } from './api'

const session = (change: Partial<Session> = {}) =>
  ({ name: 'my access.log', state: 'finished', offset: 10, files: null, ...change }) as Session
const report = (parsed: number, rejected: number, outside = 0) =>
  ({
    lines: { total: parsed + rejected + outside, parsed, repaired: 0, rejected, outside, blank: 0 },
    sources: [{ name: 'my access.log', format: 'common' }],
    rejects: { count: rejected, samples: [{ line: 1, reason: 'no time in brackets', text: 'x' }] },
  }) as unknown as Report

test('an empty log: follow it, or choose another file', () => {
  const advice = adviceOf(session({ offset: 0 }), null, false)
  expect(advice).toMatchObject({ kind: 'empty', title: 'my access.log is empty.', action: 'pick' })
  expect(advice?.text).toMatch(/no lines so far/)
  expect(advice?.command).toBe("rorqual serve --follow 'my access.log'")
  expect(adviceOf(session(), report(0, 0), false)?.text).toMatch(/only blank lines/)
  expect(adviceOf(session(), report(0, 0), true)?.text).toBe('It has no row.')
})

test('a log of one line: follow it', () => {
  expect(adviceOf(session(), report(1, 0), false)).toMatchObject({
    kind: 'one',
    title: 'my access.log has one line.',
    command: "rorqual serve --follow 'my access.log'",
  })
})

test('a log of rejected lines: why, and where to give the format', () => {
  const advice = adviceOf(session(), report(0, 12), false)
  expect(advice).toMatchObject({ kind: 'rejected', action: 'format' })
  expect(advice?.title).toBe('Nothing in my access.log could be read as common: 12 lines rejected.')
  expect(advice?.text).toMatch(/^Line 1: no time in brackets\. /)
  expect(advice?.command).toBe("rorqual serve --format FORMAT 'my access.log'")
  expect(adviceOf(session(), report(0, 12), true)).toMatchObject({ action: 'pick', command: null })
  expect(adviceOf(session({ fleet: {} as NonNullable<Session['fleet']> }), report(0, 12), false)).toBeNull()
})

test('nothing is said of other logs, nor while lines may come', () => {
  expect(adviceOf(session(), report(2, 0), false)).toBeNull()
  expect(adviceOf(session(), report(1, 1), false)).toBeNull()
  expect(adviceOf(session({ state: 'following' }), report(0, 0), false)).toBeNull()
  expect(adviceOf(session({ state: 'receiving' }), report(1, 0), false)).toBeNull()
  expect(adviceOf(null, null, false)).toBeNull()
})

test('a log of several files has no one name in a command', () => {
  const several = { count: 2, read: 2, failed: 0, current: null }
  expect(adviceOf(session({ files: several }), report(1, 0), false)?.command).toBe(
    'rorqual serve --follow FILE…',
  )
})
