import { beforeEach, expect, test } from 'vitest'
import { ApiError, type ServerError, type Session } from './api'
import type { Change } from './filewatch'
import type { FileLike } from './recognise'
import type { Job, Listener, Way } from './transport'
import { backoffMs, quietMs, reconnectMs, Upload, type Env } from './upload'

/** One attempt of a transport, whose end the test decides. */
class Attempt {
  stopped = false
  constructor(
    readonly way: Way,
    readonly job: Job,
    readonly listener: Listener,
  ) {}
  get from() {
    return this.job.from
  }
  done(answer: unknown = { state: 'finished' }) {
    this.listener.ended({ kind: 'done', answer })
  }
  refuse(status: number, error: ServerError, retryAfterMs = 0) {
    this.listener.ended({ kind: 'refused', status, error, retryAfterMs })
  }
  lose() {
    this.listener.ended({ kind: 'lost' })
  }
}

const size = 1000
const file = (change: Partial<FileLike> = {}): FileLike => ({
  name: 'access.log',
  size,
  lastModified: 1,
  slice: (start, end) => ({ range: [start, end] }) as unknown as Blob,
  ...change,
})

const session = (change: Partial<Session> = {}): Session => ({
  id: 's',
  name: 'access.log',
  size,
  state: 'interrupted',
  offset: 400,
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

/** A clock by hand and a server that answers as told. */
function world() {
  const w = {
    time: 0,
    timers: [] as { at: number; run: () => void }[],
    attempts: [] as Attempt[],
    ways: ['put'] as Way[],
    learnt: [] as [Way, boolean][],
    cancelled: 0,
    change: null as Change | null,
    session: (): Session => session(),
    last: () => w.attempts[w.attempts.length - 1] as Attempt,
    async pass(ms: number) {
      const end = w.time + ms
      for (;;) {
        const next = w.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        w.timers.splice(w.timers.indexOf(next), 1)
        w.time = next.at
        next.run()
        await settle()
      }
      w.time = end
    },
  }
  const begin = (way: Way) => (job: Job, listener: Listener) => {
    const attempt = new Attempt(way, job, listener)
    w.attempts.push(attempt)
    return () => void (attempt.stopped = true)
  }
  const env: Env = {
    ways: () => w.ways,
    transport: { put: begin('put'), socket: begin('socket') },
    learnt: (way, works) => void w.learnt.push([way, works]),
    session: async () => w.session(),
    cancel: async () => w.cancelled++,
    look: async () => w.change,
    now: () => w.time,
    after: (ms, run) => {
      const timer = { at: w.time + ms, run }
      w.timers.push(timer)
      return () => void (w.timers.includes(timer) && w.timers.splice(w.timers.indexOf(timer), 1))
    },
  }
  return { w, env }
}

const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

let w: ReturnType<typeof world>['w']
let env: Env
let upload: Upload

beforeEach(() => {
  ;({ w, env } = world())
  upload = new Upload(file(), 's', env, () => undefined)
  upload.start(0)
})

const lost: ServerError = { code: 'busy', message: '' }

test('sends one stretch from the offset to the end, then is done', async () => {
  const { job } = w.last()
  expect([job.from, job.to]).toEqual([0, 1000])
  expect(job.url).toEqual({
    put: '/api/sessions/s/data?offset=0',
    socket: '/api/sessions/s/socket?offset=0',
  })
  w.last().done()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'done', changed: false })
  expect(w.timers).toHaveLength(0)
})

test('a lost connection goes on by itself from where the server is', async () => {
  upload.serverSays({ offset: 400, state: 'receiving' })
  w.last().lose()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'waiting', offset: 400, retryAt: backoffMs[0] })
  await w.pass(backoffMs[0] ?? 0)
  expect(w.last().from).toBe(400)
  expect(upload.state.phase).toBe('sending')
})

test('waits longer each time, then leaves it to the button, which works', async () => {
  w.session = () => {
    throw new ApiError(0, { code: 'no_answer', message: '' })
  }
  w.last().lose()
  await settle()
  await w.pass(backoffMs.reduce((a, b) => a + b))
  expect(upload.state).toMatchObject({ phase: 'interrupted', error: { code: 'connection_lost' } })
  expect(w.timers).toHaveLength(0)
  w.session = () => session()
  await upload.retry()
  expect(w.last().from).toBe(400)
})

test('progress makes the waits short again', async () => {
  for (let turn = 1; turn <= 10; turn++) {
    w.last().lose()
    await settle()
    expect(upload.state.retryAt).toBe(w.time + (backoffMs[0] ?? 0))
    await w.pass(backoffMs[0] ?? 0)
    upload.serverSays({ offset: 400 + turn, state: 'receiving' })
  }
})

test('a way that breaks before anything was taken makes room for the other at once', async () => {
  w.ways = ['socket', 'put']
  upload = new Upload(file(), 's', env, () => undefined)
  upload.start(0)
  expect(w.last().way).toBe('socket')
  w.last().lose()
  await settle()
  expect([w.last().way, w.last().from, upload.state.phase]).toEqual(['put', 0, 'sending'])
  expect(w.learnt).toEqual([])
  // Only what brought bytes tells that the other is to blame.
  upload.serverSays({ offset: 100, state: 'receiving' })
  expect(w.learnt).toEqual([
    ['socket', false],
    ['put', true],
  ])
  w.last().lose()
  await settle()
  await w.pass(backoffMs[0] ?? 0)
  expect([w.last().way, upload.state.way]).toEqual(['put', 'put'])
})

test('a way that brought bytes is tried again when it breaks', async () => {
  w.ways = ['socket', 'put']
  upload = new Upload(file(), 's', env, () => undefined)
  upload.start(0)
  w.last().listener.taken(100)
  w.last().lose()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'waiting', offset: 100 })
  await w.pass(backoffMs[0] ?? 0)
  expect([w.last().way, w.last().from]).toEqual(['socket', 400])
})

test('where no way brings anything it is the network: all are tried again, with pauses', async () => {
  w.ways = ['socket', 'put']
  upload = new Upload(file(), 's', env, () => undefined)
  upload.start(400)
  w.last().lose()
  await settle()
  w.last().lose()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'waiting', retryAt: backoffMs[0] })
  await w.pass(backoffMs[0] ?? 0)
  expect(w.attempts.slice(1).map(({ way }) => way)).toEqual(['socket', 'put', 'socket'])
  expect(w.learnt).toEqual([])
})

test('a wrong offset is put right at once, but not for ever', async () => {
  const wrong = { code: 'offset_mismatch', message: '', offset: 250 }
  w.last().refuse(409, wrong)
  expect(w.last().from).toBe(250)
  w.last().refuse(409, wrong)
  expect(upload.state.phase).toBe('waiting')
})

test('busy waits; Retry-After is kept to', async () => {
  w.last().refuse(409, lost, 3000)
  expect(upload.state).toMatchObject({ phase: 'waiting', error: { code: 'busy' }, retryAt: 3000 })
})

test('a proxy without its server is waited for', () => {
  w.last().refuse(502, { code: 'http_502', message: '' })
  expect(upload.state.phase).toBe('waiting')
})

test('a silence that the server gave up on goes on from where it is', async () => {
  const error = { code: 'interrupted', message: 'nothing came for 60 s at byte 400', offset: 400 }
  w.last().refuse(408, error)
  expect(upload.state).toMatchObject({ phase: 'waiting', error, retryAt: backoffMs[0] })
  await w.pass(backoffMs[0] ?? 0)
  expect(w.last().from).toBe(400)
  expect(upload.state.phase).toBe('sending')
})

test('cancelled elsewhere is cancelled, and no failure', () => {
  w.last().refuse(409, { code: 'cancelled', message: '' })
  expect(upload.state.phase).toBe('cancelled')
  expect(w.timers).toHaveLength(0)
})

test('finished elsewhere is done', async () => {
  w.last().refuse(409, { code: 'finished', message: '' })
  await settle()
  expect(upload.state.phase).toBe('done')
})

test('finished, but the answer is lost, is done', async () => {
  upload.serverSays({ offset: size, state: 'finished' })
  upload.serverSays({ offset: size, state: 'finished' })
  expect(upload.state.phase).toBe('sending')
  await w.pass(2000)
  expect(upload.state.phase).toBe('done')
  expect(w.timers).toHaveLength(0)
})

test('an unknown format fails with its lines, also when the refusal arrives as a lost connection', async () => {
  const error = { code: 'unknown_format', message: 'no', lines: ['what'] }
  w.last().refuse(422, error)
  expect(upload.state).toMatchObject({ phase: 'failed', error })
  upload = new Upload(file(), 's', env, () => undefined)
  upload.start(0)
  w.session = () => session({ state: 'failed', error })
  w.last().lose()
  await settle()
  await w.pass(500)
  expect(upload.state).toMatchObject({ phase: 'failed', error })
})

test('a forgotten session fails', async () => {
  w.session = () => {
    throw new ApiError(404, { code: 'no_session', message: '' })
  }
  w.last().lose()
  await settle()
  await w.pass(500)
  expect(upload.state).toMatchObject({ phase: 'failed', error: { code: 'no_session' } })
})

test('a silence is told, any movement ends it, and a long one ends the connection', async () => {
  w.session = () => session({ state: 'receiving', offset: 0 })
  await w.pass(quietMs - 1000)
  w.last().listener.sent(10)
  await w.pass(quietMs - 1000)
  expect(upload.state.quietSince).toBeNull()
  await w.pass(2000)
  expect(upload.state).toMatchObject({ phase: 'sending', quietSince: quietMs - 1000 })
  upload.serverSays({ offset: 10, state: 'receiving' })
  expect(upload.state.quietSince).toBeNull()
  const silent = w.last()
  w.session = () => session({ state: 'receiving', offset: 10 })
  await w.pass(reconnectMs + 1000)
  expect(silent.stopped).toBe(true)
  expect(w.attempts).toHaveLength(2)
  expect(w.last().from).toBe(10)
})

test('what the server took is asked for where nobody tells, and an upload that a proxy keeps is noticed', async () => {
  const big = 200 * 2 ** 20
  upload = new Upload(file({ size: big }), 's', env, () => undefined)
  w.session = () => session({ state: 'waiting', offset: 0, size: big })
  upload.start(0)
  w.last().listener.sent(10 * 2 ** 20)
  await w.pass(5000)
  expect(upload.state.heldBack).toBe(false)
  w.last().listener.sent(30 * 2 ** 20)
  await w.pass(2000)
  expect(upload.state).toMatchObject({ phase: 'sending', heldBack: true })
  // No new connection: the proxy would begin anew.
  await w.pass(2 * reconnectMs)
  expect(upload.state.phase).toBe('sending')
  // The attempt before the one that this is about has nothing to say.
  w.session = () => session({ state: 'receiving', offset: 5000, size: big })
  await w.pass(2000)
  expect(upload.state).toMatchObject({ offset: 5000, heldBack: true })
})

test('paused, nothing is sent and nothing happens by itself; then it goes on where the server is', async () => {
  upload.serverSays({ offset: 300, state: 'receiving' })
  const before = w.last()
  upload.pause()
  expect([before.stopped, upload.state.phase]).toEqual([true, 'paused'])
  await w.pass(120_000)
  expect(w.attempts).toHaveLength(1)
  await upload.retry()
  expect([upload.state.phase, w.last().from]).toEqual(['sending', 400])
})

test('a file that changes is found by the watch, and told with what it was and is', async () => {
  w.session = () => session({ state: 'receiving', offset: 0 })
  w.change = { size: 10, lastModified: null }
  await w.pass(5000)
  expect(upload.state).toMatchObject({ phase: 'failed', changed: true, error: { code: 'file_changed' } })
  expect(upload.state.error?.message).toMatch(
    /^access.log changed while it was uploaded: was 1000 B of 1970-01-01 .*, is 10 B$/,
  )
  expect(w.last().stopped).toBe(true)
})

test('a file that became unreadable fails at once when the browser says so', async () => {
  w.change = { size: null, lastModified: null }
  w.last().listener.ended({ kind: 'unreadable' })
  await settle()
  expect(upload.state).toMatchObject({ phase: 'failed', changed: true })
  expect(upload.state.error?.message).toMatch(/can no longer be read/)
})

test('a file changed while it was sent is told at the end', async () => {
  w.change = { size, lastModified: 2 }
  w.last().done()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'done', changed: true })
})

test('cancel stops, tells the server, and nothing comes back to life', async () => {
  const attempt = w.last()
  await upload.cancel()
  expect([attempt.stopped, w.cancelled, upload.state.phase]).toEqual([true, 1, 'cancelled'])
  await upload.retry()
  await w.pass(60_000)
  expect(w.attempts).toHaveLength(1)
})

test('cancel while waiting for the server to answer', async () => {
  w.last().lose()
  await settle()
  const retrying = upload.retry()
  await upload.cancel()
  await retrying
  expect(upload.state.phase).toBe('cancelled')
  expect(w.attempts).toHaveLength(1)
})

test('an empty file is sent too', async () => {
  upload = new Upload(file({ size: 0 }), 's', env, () => undefined)
  upload.start(0)
  expect([w.last().from, w.last().job.to]).toEqual([0, 0])
  w.last().done()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'done', changed: false })
})
