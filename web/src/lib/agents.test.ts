import { expect, test } from 'vitest'
import { kinds } from './agents'
import { share } from './format'

const total = (hits: number) => ({ hits, bytes: 100 * hits })
const told = (people: number, bots: number, unknown: number) =>
  kinds({ humans: total(people), bots: total(bots), unknown: total(unknown) })

test('people, bots and those nobody knows add up', () => {
  const all = told(600, 300, 100)
  expect(all.map(({ word, of, all }) => [word, of.hits, share(of.hits, all)])).toEqual([
    ['people', 600, '60.0 %'],
    ['bots', 300, '30.0 %'],
    ['unknown', 100, '10.0 %'],
  ])
})

test('only people and bots are filters', () => {
  expect(told(1, 1, 1).map(({ term }) => term)).toEqual(['not bot', 'bot', null])
})

test('where all agents had room, nothing is said of others', () => {
  expect(told(3, 1, 0).map(({ word, of, all }) => [word, share(of.hits, all)])).toEqual([
    ['people', '75.0 %'],
    ['bots', '25.0 %'],
  ])
})

test('before the first answer nobody is told apart', () => {
  expect(kinds({ humans: null, bots: null, unknown: null })).toEqual([])
})
