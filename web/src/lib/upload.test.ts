import { beforeEach, expect, test } from 'vitest'
import { ApiError, type Session } from './api'
import { backoffMs, resumable, stallMs, Upload, type Env, type FileLike, type XhrLike } from './upload'

class FakeXhr implements XhrLike {
  status = 0
  responseText = ''
  url = ''
  body = ''
  aborted = false
  headers: Record<string, string> = {}
  upload: XhrLike['upload'] = { onprogress: null }
  onload: XhrLike['onload'] = null
  onerror: XhrLike['onerror'] = null
  open(_: string, url: string) {
    this.url = url
  }
  send(body: Blob) {
    this.body = String((body as unknown as { range: number[] }).range)
  }
  abort() {
    this.aborted = true
  }
  getResponseHeader(name: string) {
    return this.headers[name] ?? null
  }
  answer(status: number, error: object | null = null) {
    this.status = status
    this.responseText = JSON.stringify(error ? { error } : {})
    this.onload?.({} as ProgressEvent)
  }
  error() {
    this.onerror?.({} as ProgressEvent)
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
  created: 0,
  expires_seconds: 1800,
  ...change,
})

/** A clock by hand and a server that answers as told. */
function world() {
  const w = {
    time: 0,
    timers: [] as { at: number; run: () => void }[],
    xhrs: [] as FakeXhr[],
    cancelled: 0,
    readable: true,
    session: (): Session => session(),
    last: () => w.xhrs[w.xhrs.length - 1] as FakeXhr,
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
  const env: Env = {
    xhr: () => (w.xhrs.push(new FakeXhr()), w.last()),
    session: async () => w.session(),
    cancel: async () => w.cancelled++,
    readable: async () => w.readable,
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

test('sends one slice from the offset to the end, then is done', async () => {
  expect([w.last().url, w.last().body]).toEqual(['/api/sessions/s/data?offset=0', '0,1000'])
  w.last().answer(200)
  await settle()
  expect(upload.state).toMatchObject({ phase: 'done', changed: false })
  expect(w.timers).toHaveLength(0)
})

test('a lost connection goes on by itself from where the server is', async () => {
  upload.serverSays({ offset: 400, state: 'receiving' })
  w.last().error()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'waiting', offset: 400, retryAt: backoffMs[0] })
  await w.pass(backoffMs[0] ?? 0)
  expect([w.last().url, w.last().body]).toEqual(['/api/sessions/s/data?offset=400', '400,1000'])
  expect(upload.state.phase).toBe('sending')
})

test('waits longer each time, then leaves it to the button, which works', async () => {
  w.session = () => {
    throw new ApiError(0, { code: 'no_answer', message: '' })
  }
  w.last().error()
  await settle()
  await w.pass(backoffMs.reduce((a, b) => a + b))
  expect(upload.state).toMatchObject({ phase: 'interrupted', error: { code: 'connection_lost' } })
  expect(w.timers).toHaveLength(0)
  w.session = () => session()
  await upload.retry()
  expect(w.last().url).toContain('offset=400')
})

test('progress makes the waits short again', async () => {
  for (let turn = 1; turn <= 10; turn++) {
    w.last().error()
    await settle()
    expect(upload.state.retryAt).toBe(w.time + (backoffMs[0] ?? 0))
    await w.pass(backoffMs[0] ?? 0)
    upload.serverSays({ offset: 400 + turn, state: 'receiving' })
  }
})

test('a wrong offset is put right at once, but not for ever', async () => {
  w.last().answer(409, { code: 'offset_mismatch', message: '', offset: 250 })
  expect(w.last().url).toContain('offset=250')
  w.last().answer(409, { code: 'offset_mismatch', message: '', offset: 250 })
  expect(upload.state.phase).toBe('waiting')
})

test('busy waits; Retry-After is kept to', async () => {
  w.last().headers['Retry-After'] = '3'
  w.last().answer(409, { code: 'busy', message: '' })
  expect(upload.state).toMatchObject({ phase: 'waiting', error: { code: 'busy' }, retryAt: 3000 })
})

test('a silence that the server gave up on goes on from where it is', async () => {
  const error = { code: 'interrupted', message: 'nothing came for 60 s at byte 400', offset: 400 }
  w.last().answer(408, error)
  expect(upload.state).toMatchObject({ phase: 'waiting', error, retryAt: backoffMs[0] })
  await w.pass(backoffMs[0] ?? 0)
  expect(w.last().url).toContain('offset=400')
  expect(upload.state.phase).toBe('sending')
})

test('cancelled elsewhere is cancelled, and no failure', () => {
  w.last().answer(409, { code: 'cancelled', message: '' })
  expect(upload.state.phase).toBe('cancelled')
  expect(w.timers).toHaveLength(0)
})

test('finished elsewhere is done', async () => {
  w.last().answer(409, { code: 'finished', message: '' })
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
  w.last().answer(422, error)
  expect(upload.state).toMatchObject({ phase: 'failed', error })
  upload = new Upload(file(), 's', env, () => undefined)
  upload.start(0)
  w.session = () => session({ state: 'failed', error })
  w.last().error()
  await settle()
  await w.pass(500)
  expect(upload.state).toMatchObject({ phase: 'failed', error })
})

test('a forgotten session fails', async () => {
  w.session = () => {
    throw new ApiError(404, { code: 'no_session', message: '' })
  }
  w.last().error()
  await settle()
  await w.pass(500)
  expect(upload.state).toMatchObject({ phase: 'failed', error: { code: 'no_session' } })
})

test('silence on both sides is told, and any movement ends it', async () => {
  await w.pass(stallMs - 1000)
  w.last().upload.onprogress?.({} as ProgressEvent)
  await w.pass(stallMs - 1000)
  expect(upload.state.stalled).toBe(false)
  await w.pass(2000)
  expect(upload.state).toMatchObject({ phase: 'sending', stalled: true })
  upload.serverSays({ offset: 10, state: 'receiving' })
  expect(upload.state.stalled).toBe(false)
})

test('a file cut under a silent browser is found by the watch', async () => {
  w.readable = false
  await w.pass(stallMs + 1000)
  expect(upload.state).toMatchObject({ phase: 'failed', error: { code: 'file_unreadable' } })
})

test('a file that became unreadable fails at once when the browser says so', async () => {
  w.readable = false
  w.last().error()
  await settle()
  expect(upload.state).toMatchObject({ phase: 'failed', changed: true })
})

test('a file changed while it was sent is told at the end', async () => {
  const changing = { ...file() } as { lastModified: number } & FileLike
  upload = new Upload(changing, 's', env, () => undefined)
  upload.start(0)
  ;(changing as { lastModified: number }).lastModified = 2
  w.last().answer(200)
  await settle()
  expect(upload.state).toMatchObject({ phase: 'done', changed: true })
})

test('cancel aborts, tells the server, and nothing comes back to life', async () => {
  const xhr = w.last()
  await upload.cancel()
  expect([xhr.aborted, w.cancelled, upload.state.phase]).toEqual([true, 1, 'cancelled'])
  await upload.retry()
  await w.pass(60_000)
  expect(w.xhrs).toHaveLength(1)
})

test('cancel while waiting for the server to answer', async () => {
  w.last().error()
  await settle()
  const retrying = upload.retry()
  await upload.cancel()
  await retrying
  expect(upload.state.phase).toBe('cancelled')
  expect(w.xhrs).toHaveLength(1)
})

test('an empty file is sent too', async () => {
  upload = new Upload(file({ size: 0 }), 's', env, () => undefined)
  upload.start(0)
  expect(w.last().body).toBe('0,0')
  w.readable = false
  w.last().answer(200)
  await settle()
  expect(upload.state).toMatchObject({ phase: 'done', changed: false })
})

test('a dropped file finds the session that was cut off', () => {
  const free = () => false
  expect(resumable(file(), [session({ size: 1 }), session({ id: 'b' })], free)?.id).toBe('b')
  expect(resumable(file(), [session({ state: 'finished' }), session({ name: 'x' })], free)).toBeNull()
  expect(resumable(file(), [session()], () => true)).toBeNull()
  expect(resumable(file(), [session({ state: 'waiting', offset: 0 })], free)?.id).toBe('s')
})
