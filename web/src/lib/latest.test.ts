import { beforeEach, describe, expect, test } from 'vitest'
import { Latest, type Clock } from './latest'

/** A clock that only moves when told. */
class Hand implements Clock {
  at = 0
  private timers: { at: number; run: () => void }[] = []
  now = () => this.at
  after = (ms: number, run: () => void) => {
    const timer = { at: this.at + ms, run }
    this.timers.push(timer)
    return () => (this.timers = this.timers.filter((one) => one !== timer))
  }
  async go(ms: number) {
    const until = this.at + ms
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.at = Math.max(this.at, next.at)
      this.timers = this.timers.filter((one) => one !== next)
      next.run()
      await flush()
    }
    this.at = until
  }
}
const flush = () => new Promise((go) => setImmediate(go))

interface Sent {
  question: string
  at: number
  signal: AbortSignal
  answer: (text: string) => Promise<unknown>
  refuse: (error: Error) => Promise<unknown>
}

let clock: Hand
let sent: Sent[]
let taken: string[]
let failed: string[]
let latest: Latest<string, string>

beforeEach(() => {
  clock = new Hand()
  sent = []
  taken = []
  failed = []
  latest = new Latest({
    send: (question, signal) =>
      new Promise((resolve, reject) =>
        sent.push({
          question,
          at: clock.at,
          signal,
          answer: (text) => (resolve(text), flush()),
          refuse: (error) => (reject(error), flush()),
        }),
      ),
    take: (answer) => void taken.push(answer),
    fail: (error) => void failed.push((error as Error).message),
    clock,
    settleMs: 15,
    againMs: 500,
  })
})

describe('questions', () => {
  test('several at once are one, the newest', async () => {
    latest.ask('a')
    latest.ask('b')
    await clock.go(15)
    expect(sent.map(({ question }) => question)).toEqual(['b'])
  })

  test('the same one is asked once', async () => {
    expect(latest.ask('a')).toBe(true)
    await clock.go(15)
    expect(latest.ask('a')).toBe(false)
    await clock.go(1000)
    expect(sent).toHaveLength(1)
  })

  test('a newer one breaks off the older, whose answer is never taken', async () => {
    latest.ask('a')
    await clock.go(15)
    latest.ask('b')
    expect(sent[0]?.signal.aborted).toBe(true)
    await clock.go(15)
    await sent[1]?.answer('B')
    await sent[0]?.answer('A')
    expect(taken).toEqual(['B'])
  })

  test('nor is its failure told', async () => {
    latest.ask('a')
    await clock.go(15)
    latest.ask('b')
    await sent[0]?.refuse(new Error('superseded'))
    await clock.go(15)
    await sent[1]?.refuse(new Error('none'))
    expect(failed).toEqual(['none'])
  })

  test('after stop nothing comes, and the same question is new', async () => {
    latest.ask('a')
    await clock.go(15)
    latest.stop()
    await sent[0]?.answer('A')
    expect(taken).toEqual([])
    expect(latest.ask('a')).toBe(true)
  })
})

describe('asked again while more arrives', () => {
  test('at most once in 500 ms, and never two on their way', async () => {
    latest.ask('a')
    await clock.go(15)
    await sent[0]?.answer('1')
    for (let i = 0; i < 20; i++) {
      latest.again()
      await clock.go(100)
      await sent[sent.length - 1]?.answer(String(i))
    }
    expect(sent.length).toBeLessThanOrEqual(5)
    const gaps = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500)
  })

  test('what came while an answer was on its way is asked for after it', async () => {
    latest.ask('a')
    await clock.go(15)
    latest.again()
    await clock.go(2000)
    expect(sent).toHaveLength(1)
    await sent[0]?.answer('1')
    await clock.go(0)
    expect(sent).toHaveLength(2)
    await sent[1]?.answer('2')
    await clock.go(2000)
    expect(taken).toEqual(['1', '2'])
    expect(sent).toHaveLength(2)
  })

  test('what takes long is asked for less often', async () => {
    latest.ask('a')
    await clock.go(15)
    await clock.go(200)
    await sent[0]?.answer('1')
    latest.again()
    await clock.go(799)
    expect(sent).toHaveLength(1)
    await clock.go(1)
    expect(sent).toHaveLength(2)
  })

  test('without a question nothing is asked', async () => {
    latest.again()
    await clock.go(1000)
    expect(sent).toEqual([])
  })
})
