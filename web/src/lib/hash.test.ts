import { expect, test } from 'vitest'
import { readHash, writeHash } from './hash'

test('a place survives the address bar', () => {
  for (const place of [
    { session: null, span: null },
    { session: 'k3v9', span: null },
    { session: 'a&b=c', span: { from: 1735689600, to: 1735693200.5 } },
  ])
    expect(readHash(writeHash(place))).toEqual(place)
})

test('a span that is none is no span', () => {
  for (const hash of ['#s=a&from=2&to=1', '#s=a&from=x&to=1', '#s=a&from=1', '#s=a&from=&to='])
    expect(readHash(hash)).toEqual({ session: 'a', span: null })
})
