import { expect, test } from 'vitest'
import { verdict } from './suggest.svelte'
import type { Suggestion, Suggestions } from './viewapi'

const row = (where: string, more: Partial<Suggestion> = {}): Suggestion => ({
  label: where,
  where,
  from: null,
  to: null,
  hits: 1,
  exact: true,
  meant: null,
  typed: false,
  ...more,
})
const answer = (rows: Suggestion[], column: number | null = null): Suggestions => ({
  rows,
  complete: true,
  error: column === null ? null : { column, message: 'expected a value' },
})

test('Enter takes the best suggestion that has rows', () => {
  const best = row('path contains "a"')
  expect(verdict('a', answer([row('user = a', { hits: 0 }), best]))).toEqual({ take: best })
  expect(verdict('a', answer([row('any contains "a"', { hits: 0 })]))).toBeNull()
  expect(verdict('a', answer([]))).toBeNull()
})

test('a filter is taken as it is typed, also without rows', () => {
  const typed = row('status = 599', { hits: 0, typed: true })
  expect(verdict('status = 599', answer([typed, row('path = /')]))).toEqual({ take: typed })
})

test('a filter with an error in it goes to the server, which says where', () => {
  expect(verdict('bot and status >= x', answer([row('any contains "bot"')], 14))).toEqual({
    filter: 'bot and status >= x',
  })
  const slip = row('status >= 500', { meant: 'status' })
  expect(verdict('statos >= 500', answer([slip], 0))).toEqual({ take: slip })
  expect(verdict('nosuch = 1', answer([], 0))).toEqual({ filter: 'nosuch = 1' })
  const url = row('url = "/a?b=c"')
  expect(verdict('/a?b=c', answer([url], 0))).toEqual({ take: url })
})
