import { expect, test } from 'vitest'
import {
  bufferBytes,
  bufferedMax,
  Sender,
  sliced,
  sliceBytes,
  streamed,
  type Piece,
  type Source,
} from './sender'
import type { Outcome } from './transport'

const windowBytes = 100

/** A socket whose other end is the test. */
class FakeSocket {
  sent: (Piece | string)[] = []
  closed: number | undefined | null = null
  bufferedAmount = 0
  onmessage: ((event: MessageEvent) => void) | null = null
  onclose: ((event: CloseEvent) => void) | null = null
  send(data: Piece | string) {
    this.sent.push(data)
  }
  close(code?: number) {
    this.closed = code
  }
  say(said: object) {
    this.onmessage?.({ data: JSON.stringify(said) } as MessageEvent)
  }
  get bytes() {
    return this.sent.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.length : 0), 0)
  }
}

/** Pieces of 30 bytes, in one buffer as the real ones. */
function pieces(total: number, failAt = Infinity): Source {
  const buffer = new Uint8Array(30)
  let at = 0
  return {
    async next() {
      if (at >= failAt) throw new DOMException('gone', 'NotReadableError')
      const size = Math.min(30, total - at)
      at += size
      return size > 0 ? buffer.subarray(0, size) : null
    },
  }
}

const settle = () => new Promise((go) => setTimeout(go, 0))

function begin(source: Source, from: number, to: number) {
  const socket = new FakeSocket()
  const heard = { progress: [] as [number, number][], outcomes: [] as Outcome[], slept: 0 }
  const sender = new Sender(
    socket,
    source,
    from,
    to,
    {
      progress: (sent, taken) => heard.progress.push([sent, taken]),
      ended: (outcome) => heard.outcomes.push(outcome),
    },
    async () => {
      heard.slept++
      if (heard.slept === 3) socket.bufferedAmount = 0
    },
  )
  return { socket, sender, heard }
}

const ready = (offset: number) => ({ type: 'ready', offset, window_bytes: windowBytes })

test('nothing leaves before the server is ready, and never more than its window is on its way', async () => {
  const { socket, heard } = begin(pieces(300), 0, 300)
  await settle()
  expect(socket.bytes).toBe(0)
  socket.say(ready(0))
  await settle()
  // Three pieces of 30; a fourth would make 120.
  expect(socket.bytes).toBe(90)
  for (let taken = 30; taken < 300; taken += 30) {
    socket.say({ type: 'taken', offset: taken })
    await settle()
    expect(socket.bytes).toBe(Math.min(300, 90 + taken))
    expect(socket.bytes - taken).toBeLessThanOrEqual(windowBytes)
  }
  expect(socket.sent[socket.sent.length - 1]).toBe('{"type":"end"}')
  socket.say({ type: 'done', bytes: 300 })
  expect(heard.outcomes).toEqual([{ kind: 'done', answer: { type: 'done', bytes: 300 } }])
  socket.onclose?.({} as CloseEvent)
  expect(heard.outcomes).toHaveLength(1)
})

test('offsets count from the start of the log, progress from the start of the attempt', async () => {
  const { socket, heard } = begin(pieces(60), 1000, 1060)
  socket.say(ready(1000))
  await settle()
  socket.say({ type: 'taken', offset: 1030 })
  expect(heard.progress).toEqual([
    [60, 1000],
    [60, 1030],
  ])
})

test('a window that is smaller than a piece lets one through at a time', async () => {
  const { socket } = begin(pieces(60), 0, 60)
  socket.say({ ...ready(0), window_bytes: 10 })
  await settle()
  expect(socket.bytes).toBe(30)
  socket.say({ type: 'taken', offset: 10 })
  await settle()
  expect(socket.bytes).toBe(30)
  socket.say({ type: 'taken', offset: 30 })
  await settle()
  expect(socket.bytes).toBe(60)
})

test('what the browser itself still holds is waited for', async () => {
  const { socket, heard } = begin(pieces(30), 0, 30)
  socket.bufferedAmount = bufferedMax + 1
  socket.say(ready(0))
  await settle()
  expect([heard.slept, socket.bytes]).toEqual([3, 30])
})

test('a file that ends too soon or can not be read is told, and no end is said', async () => {
  for (const source of [pieces(45), pieces(60, 30)]) {
    const { socket, heard } = begin(source, 0, 60)
    socket.say(ready(0))
    await settle()
    expect(heard.outcomes).toEqual([{ kind: 'unreadable' }])
    expect(socket.sent.every((piece) => typeof piece !== 'string')).toBe(true)
    expect(socket.closed).toBe(1000)
  }
})

test('refusals and losses are the last word', async () => {
  const error = { code: 'offset_mismatch', message: '', offset: 7 }
  const refused = begin(pieces(60), 0, 60)
  refused.socket.say({ type: 'error', error })
  expect(refused.heard.outcomes).toEqual([{ kind: 'refused', status: 0, error, retryAfterMs: 0 }])
  const lost = begin(pieces(60), 0, 60)
  lost.socket.onclose?.({} as CloseEvent)
  expect(lost.heard.outcomes).toEqual([{ kind: 'lost' }])
})

test('stopped, it closes in order and says nothing more', async () => {
  const { socket, sender, heard } = begin(pieces(300), 0, 300)
  socket.say(ready(0))
  await settle()
  sender.stop()
  expect(socket.closed).toBe(1000)
  socket.say({ type: 'taken', offset: 90 })
  socket.onclose?.({} as CloseEvent)
  await settle()
  expect([heard.outcomes, heard.progress, socket.bytes]).toEqual([[], [], 90])
})

test('a stream is read into one buffer, whole pieces whatever it gives at once', async () => {
  const bytes = new Uint8Array(2 * bufferBytes + 5).map((_, at) => at % 251)
  const source = streamed(new Blob([bytes]))
  const read: number[] = []
  let at = 0
  for (let piece = await source.next(); piece; piece = await source.next()) {
    const view = piece as Uint8Array<ArrayBuffer>
    expect(view.every((byte, index) => byte === (at + index) % 251)).toBe(true)
    at += view.length
    read.push(view.length)
  }
  expect(read).toEqual([bufferBytes, bufferBytes, 5])
})

test('slices cover the stretch and nothing else', async () => {
  const file = { size: 0, slice: (start: number, end: number) => ({ start, end }) as unknown as Blob }
  const source = sliced(file as never, 7, 7 + sliceBytes + 3)
  expect([await source.next(), await source.next(), await source.next()]).toEqual([
    { start: 7, end: 7 + sliceBytes },
    { start: 7 + sliceBytes, end: 7 + sliceBytes + 3 },
    null,
  ])
})
