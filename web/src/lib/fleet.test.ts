import { expect, test } from 'vitest'
import { missingText, peersText, type Peer } from './fleet'

const peer = (name: string, error: string | null, share: number | null): Peer => ({
  name,
  rows: share === null ? null : share * 1000,
  share,
  error,
  missing_seconds: error === null ? null : 3,
})

test('peers that are missing are named with their share', () => {
  const all = { complete: true, rows_missing: 0, peers: [peer('a:1', null, 0.75), peer('b:2', null, 0.25)] }
  expect(peersText(all)).toBe('2 peers')
  expect(missingText(all)).toBeNull()
  const peers = [
    peer('a:1', null, 0.75),
    peer('b:2', 'refuses the token', 0.25),
    peer('c:3', 'has no log', null),
  ]
  const some = { complete: false, rows_missing: 250, peers }
  expect(peersText(some)).toBe('1 of 3 peers')
  expect(missingText(some)).toBe(
    'The numbers are without b:2 (25 % of all rows): refuses the token; c:3 (unknown share): has no log',
  )
  expect(peersText({ ...all, peers: [peer('a:1', null, 1)] })).toBe('1 peer')
})
