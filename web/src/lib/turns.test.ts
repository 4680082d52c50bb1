import { expect, test } from 'vitest'
import { Turns } from './turns'

/** Frames by hand, on a clock that only drawing moves. */
function setting(budgetMs: number) {
  const frames: (() => void)[] = []
  const drawn: string[] = []
  const busy: boolean[] = []
  let now = 0
  const turns = new Turns(
    { next: (run) => frames.push(run), now: () => now },
    () => budgetMs,
    (is) => busy.push(is),
  )
  const turn = (name: string, rank: () => number, ms: number, alone = false) => ({
    alone: () => alone,
    rank,
    draw: () => {
      drawn.push(name)
      now += ms
    },
  })
  const frame = () => {
    for (const run of frames.splice(0)) run()
    return drawn.splice(0)
  }
  return { turns, turn, frame, busy, asked: () => frames.length }
}

test('a frame takes what fits, the lowest rank first, and the next ones the rest', () => {
  const { turns, turn, frame, busy, asked } = setting(6)
  for (const rank of [4, 2, 0, 3, 1]) turns.ask(turn(`panel ${rank}`, () => rank, 3))
  expect(asked()).toBe(1)
  expect(frame()).toEqual(['panel 0', 'panel 1'])
  expect(frame()).toEqual(['panel 2', 'panel 3'])
  expect(busy).toEqual([true])
  expect(frame()).toEqual(['panel 4'])
  expect(busy).toEqual([true, false])
  expect(asked()).toBe(0)
})

test('what takes longer than the budget has a frame of its own', () => {
  const { turns, turn, frame } = setting(6)
  turns.ask(turn('slow', () => 0, 40))
  turns.ask(turn('other', () => 1, 1))
  expect(frame()).toEqual(['slow'])
  expect(frame()).toEqual(['other'])
})

test('a canvas has a frame for itself', () => {
  const { turns, turn, frame } = setting(6)
  turns.ask(turn('bars', () => 0, 1, true))
  turns.ask(turn('one', () => 1, 1))
  turns.ask(turn('other', () => 2, 1))
  turns.ask(turn('map', () => 3, 1, true))
  turns.ask(turn('last', () => 4, 1))
  expect([frame(), frame(), frame(), frame()]).toEqual([['bars'], ['one', 'other'], ['map'], ['last']])
})

test('asked for twice it is drawn once; dropped, not at all', () => {
  const { turns, turn, frame, busy } = setting(6)
  const [one, other] = [turn('one', () => 0, 1), turn('other', () => 1, 1)]
  turns.ask(one)
  turns.ask(one)
  turns.ask(other)
  turns.drop(other)
  expect(frame()).toEqual(['one'])
  turns.ask(other)
  turns.drop(other)
  expect(busy).toEqual([true, false, true, false])
  expect(frame()).toEqual([])
})

test('what is out of sight waits until it comes into sight, and nothing waits for it', () => {
  const { turns, turn, frame, busy, asked } = setting(6)
  let rank = Infinity
  turns.ask(turn('below', () => rank, 1))
  expect([asked(), busy]).toEqual([0, []])
  rank = 7
  turns.look()
  expect(frame()).toEqual(['below'])
})
