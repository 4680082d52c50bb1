import { expect, test } from 'vitest'
import type { Session } from './api'
import type { UploadState } from './upload'
import {
  doubtText,
  filesText,
  followed,
  inexact,
  notice,
  problemText,
  reopened,
  shownState,
  soFar,
  stateWord,
} from './words'

const session = (change: Partial<Session> = {}): Session => ({
  id: 's',
  name: 'access.log',
  size: 2 ** 30,
  state: 'receiving',
  offset: 812 * 2 ** 20,
  rate: 0,
  eta_seconds: null,
  error: null,
  follow: null,
  fingerprint: null,
  created: 0,
  expires_seconds: 1800,
  files: null,
  reopened: null,
  columns: null,
  own_columns: 0,
  ...change,
})
const upload = (change: Partial<UploadState> = {}): UploadState => ({
  phase: 'sending',
  way: 'put',
  quietSince: null,
  heldBack: false,
  offset: 0,
  error: null,
  retryAt: null,
  changed: false,
  ...change,
})
const say = (s: Session, u: UploadState | null = null, lost = false) => notice(s, u, lost, 0)

test('of several files it says which could not be read, and how far they are', () => {
  const files = { count: 3, read: 2, failed: 1, current: 'access.log' }
  const error = { code: 'bad_input', message: '1 of 3 files could not be read to the end:\na.gz: damaged' }
  const said = notice(session({ state: 'failed', error, files }), null, false, 0)
  expect(said?.text).toBe('1 of 3 files could not be read to the end: a.gz: damaged.')
  expect(filesText(files, false)).toBe('file 3 of 3: access.log')
  expect(filesText({ ...files, current: null }, false)).toBe('3 files, 1 not read to the end')
  expect(filesText(files, true)).toBe('3 files, 1 not read to the end')
})

test('a format that does not fit is said of the file whose it is, the worst first', () => {
  const source = (name: string, sound: number, lines = 200) => ({
    name,
    guess: { lines, sound, unread: null },
  })
  expect(doubtText([], 2)).toBeNull()
  expect(doubtText([source('a', 200), { name: 'given', guess: null }], 2)).toBeNull()
  expect(doubtText([source('a', 8, 10)], 2)).toBe('fits 8 of the first 10 lines')
  const good = source('good.log', 200)
  expect(doubtText([good, source('a.log', 8, 10)], 2)).toBe('a.log fits 8 of the first 10 lines')
  const bad = [
    source('a.log', 199),
    source('b.log', 1_500, 2_000),
    source('c.log', 160),
    source('d.log', 190),
  ]
  expect(doubtText([good, ...bad], 2)).toBe(
    'b.log fits 1,500 of the first 2,000 lines, c.log 160 of 200, 2 more files not all',
  )
  expect(doubtText([good, ...bad.slice(0, 2)], 2)).toBe(
    'b.log fits 1,500 of the first 2,000 lines, a.log 199 of 200',
  )
  expect(doubtText([good, ...bad], 20)).toContain('d.log 190 of 200, a.log 199 of 200')
})

test('all well says nothing', () => {
  expect(say(session(), upload())).toBeNull()
  expect(say(session({ state: 'finished' }), upload({ phase: 'done' }))).toBeNull()
  expect(say(session({ state: 'interrupted' }), upload())).toBeNull() // just resumed: the server follows in a moment
})

test('a file that was opened again says what was read of it', () => {
  expect(reopened(session())).toBeNull()
  const known = { reopened: { kept_bytes: 512 * 2 ** 20 } }
  expect(reopened(session({ ...known, offset: 512 * 2 ** 20 }))).toBe(
    'Reopened: the rows of 512 MiB were kept.',
  )
  expect(reopened(session(known))).toBe('Reopened: the rows of 512 MiB were kept, 300 MiB were read.')
})

test('a lost connection says where, and what to do', () => {
  expect(say(session(), upload({ phase: 'waiting', retryAt: 3500 }))?.text).toBe(
    'Connection lost at 812 MiB. Trying again in 4 s.',
  )
  expect(say(session(), upload({ phase: 'interrupted' }))).toMatchObject({ actions: ['resume'] })
  expect(say(session({ state: 'interrupted' }))?.text).toBe(
    'Connection lost at 812 MiB. Drop the same file again to go on from there.',
  )
})

test('a silence of ours is told as one', () => {
  const error = { code: 'interrupted', message: 'nothing came for 60 s' }
  expect(say(session(), upload({ phase: 'waiting', error, retryAt: 500 }))?.text).toBe(
    'Nothing was sent for too long at 812 MiB. Trying again in 1 s.',
  )
})

test('the state shown is ours where we know more', () => {
  expect(shownState(session(), upload({ phase: 'waiting' }))).toBe('interrupted')
  expect(shownState(session(), upload())).toBe('receiving')
  expect(shownState(session({ state: 'finished' }), upload({ phase: 'waiting' }))).toBe('finished')
})

test('ends are told exactly', () => {
  expect(say(session({ state: 'cancelled' }))?.text).toBe(
    'Cancelled at 812 MiB of 1.00 GiB. What was read until then stays below.',
  )
  const error = { code: 'unknown_format', message: 'x', lines: ['?'] }
  expect(say(session({ state: 'failed', error }))?.actions).toEqual(['format'])
  const said =
    'x.tar: this is a tar archive (a.log), and no access log. Read what is in it: tar -xOf x.tar a.log'
  const archive = { code: 'unknown_format', message: `${said}\n  It starts with: x`, lines: [] }
  expect(say(session({ state: 'failed', error: archive }))).toMatchObject({ text: said, actions: ['pick'] })
  expect(
    say(session({ state: 'failed', error: { code: 'gzip', message: 'the gzip stream is damaged' } }))?.text,
  ).toBe('Reading stopped: the gzip stream is damaged. What was read up to 812 MiB stays below.')
  expect(say(session({ state: 'finished' }), upload({ phase: 'done', changed: true }))?.tone).toBe('warn')
})

test('partial totals say that they are', () => {
  expect(soFar(session())).toBe('so far, 79 %')
  expect(soFar(session({ size: null }))).toBe('so far')
  expect(soFar(session({ state: 'cancelled' }))).toBe('of the first 79 %')
  expect(soFar(session({ state: 'finished' }))).toBeNull()
})

test('a log that is followed is live, and tells what became of its file', () => {
  expect(stateWord('following')).toBe('Live')
  const after = (follow: Session['follow']) => followed(session({ state: 'following', follow }))
  const well = { truncations: 0, rotations: 0, missing: false }
  expect(after(null)).toBeNull()
  expect(after(well)).toBeNull()
  expect(after({ ...well, truncations: 1 })).toBe(
    'The file was cut once and read from its new start; what was counted before stays.',
  )
  expect(after({ truncations: 0, rotations: 3, missing: true })).toBe(
    'Another file took its name 3 times and was read on. No file has its name now; the one that was opened is still read.',
  )
})

test('only what is not exact is said not to be', () => {
  const hint = 'some rows are read back, which takes longer'
  expect(inexact(null)).toBeNull()
  expect(inexact({})).toBeNull()
  expect(inexact({ exact: true, hint })).toBeNull()
  expect(inexact({ exact: false, hint })).toBe(hint)
  expect(inexact({ exact: false, hint: null })).toMatch(/^not exact: /)
})

test('what is not exact for want of peers says which', () => {
  const peer = { name: 'b:2', rows: null, share: null, error: 'broke off', missing_seconds: 1 }
  const fleet = { complete: false, rows_missing: 0, peers: [peer] }
  expect(inexact({ exact: false, fleet })).toBe('not exact: b:2 is missing (its share is unknown): broke off')
  const whole = { ...fleet, complete: true, peers: [{ ...peer, error: null, missing_seconds: null }] }
  expect(inexact({ exact: true, fleet: whole })).toBeNull()
  expect(inexact({ exact: false, fleet: whole })).toContain('lines came while they were counted')
})

test('problems', () => {
  expect(problemText('sessions_full', '', 4, null)).toBe(
    'All 4 sessions are in use. Close one, then try again.',
  )
  expect(problemText('sessions_full', '', 4, 'access.log')).toBe(
    'access.log was not opened: all 4 sessions are in use. Close one, then try again.',
  )
  for (const code of ['no_session', 'no_token'])
    expect(problemText(code, 'message', null, null)).not.toContain('essage')
  expect(problemText('http_500', 'the server answered 500', null, null)).toBe('The server answered 500.')
})

test('an upload that is paused, not taken, held back or changed says so, and what to do', () => {
  const paused = upload({ phase: 'paused' })
  expect(shownState(session({ state: 'waiting' }), paused)).toBe('paused')
  expect(shownState(session({ state: 'finished' }), paused)).toBe('finished')
  expect(say(session({ state: 'waiting' }), paused)).toMatchObject({
    text: 'Paused at 812 MiB. Resume goes on from there; the server keeps what it has for 30 min.',
    actions: ['resume'],
  })
  const quiet = upload({ quietSince: -7400 })
  expect(say(session(), quiet)).toMatchObject({
    text: 'The server takes nothing since 7 s, at 812 MiB. After 45 s a new connection goes on from there.',
    actions: ['now'],
  })
  expect(say(session(), upload({ heldBack: true }))?.actions).toEqual(['proxy'])
  const error = { code: 'file_changed', message: 'a.log changed while it was uploaded: was 2 B, is 1 B' }
  const failed = upload({ phase: 'failed', error })
  expect(shownState(session({ state: 'waiting' }), failed)).toBe('interrupted')
  expect(say(session({ state: 'waiting' }), failed)?.text).toBe(
    'a.log changed while it was uploaded: was 2 B, is 1 B. What was read up to 812 MiB stays below.',
  )
  expect(say(session({ state: 'finished' }), upload({ phase: 'done', changed: true, error }))?.text).toMatch(
    /^a\.log changed .* is 1 B: this report may mix/,
  )
})
