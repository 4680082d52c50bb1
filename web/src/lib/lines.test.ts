import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Live, Session } from './api'
import type { Fleet } from './fleet'
import { nowhere } from './hash'
import { lines } from './lines.svelte'
import { store } from './state.svelte'
import { viewApi, type Row, type Rows } from './viewapi'

const all = { from: null, to: null, where: '' }
const fleetOf = (...missing: string[]): Fleet => ({
  complete: missing.length === 0,
  rows_missing: 0,
  peers: ['a:1', 'b:2'].map((name) => ({
    name,
    rows: 50,
    share: 0.5,
    error: missing.includes(name) ? 'broke off' : null,
    missing_seconds: missing.includes(name) ? 1 : null,
  })),
})

let answered: Fleet | undefined
let asked: number[] = []
let session = 0

function goTo(fleet: Fleet | undefined) {
  answered = fleet
  const id = `s${session}`
  store.place = { ...nowhere, session: id }
  store.live = { session: { id, ...(fleet && { fleet }) } as Session } as Live
}

function shown(total: number) {
  lines.show(all, null, total, total)
  lines.want(0, total)
}

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  session++
  vi.spyOn(viewApi, 'rows').mockImplementation((_id, { offset, limit }) => {
    asked.push(offset)
    const rows = Array.from({ length: limit }, (_, at) => ({ row: offset + at }) as Row)
    const lines = { format: 'combined', unkept: [] }
    const answer: Rows = {
      matching: 0,
      offset,
      lines,
      sort: null,
      rows,
      ...(answered && { fleet: answered }),
    }
    return Promise.resolve(answer)
  })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('lines that arrive leave whole blocks of a log as they are', async () => {
  goTo(undefined)
  shown(150)
  await vi.advanceTimersByTimeAsync(100)
  expect(lines.row(0)?.row).toBe(0)
  shown(160)
  expect(lines.row(0)).toBeDefined()
})

test('lines of several servers are asked for anew when some arrive, as these may come before', async () => {
  goTo(fleetOf())
  shown(150)
  await vi.advanceTimersByTimeAsync(100)
  expect(lines.row(0)).toBeDefined()
  shown(150)
  expect(lines.row(0)).toBeDefined()
  shown(160)
  expect(lines.row(0)).toBeUndefined()
  await vi.advanceTimersByTimeAsync(100)
  expect(asked).toEqual([0, 100, 0, 100])
})

test('a peer that goes takes its lines with it, also where the page learns it from an answer', async () => {
  goTo(fleetOf())
  shown(100)
  await vi.advanceTimersByTimeAsync(100)
  goTo(fleetOf('b:2'))
  shown(100)
  expect(lines.row(0)).toBeUndefined()
  await vi.advanceTimersByTimeAsync(100)
  expect(lines.row(0)).toBeDefined()

  shown(300)
  await vi.advanceTimersByTimeAsync(100)
  asked = []
  answered = fleetOf()
  lines.want(0, 400)
  lines.show(all, null, 400, 300)
  await vi.advanceTimersByTimeAsync(100)
  // The first answer of other peers drops the blocks held before it, which are asked for again.
  expect(asked).toEqual([300, 0, 100, 200])
})
