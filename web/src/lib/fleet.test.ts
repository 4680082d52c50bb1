import { expect, test } from 'vitest'
import {
  distinctDoubt,
  distinctSign,
  liveKey,
  missingNames,
  missingText,
  peersText,
  type Peer,
} from './fleet'

const peer = (name: string, error: string | null, share: number | null): Peer => ({
  name,
  rows: share === null ? null : share * 1000,
  share,
  error,
  missing_seconds: error === null ? null : 3,
})
const all = { complete: true, rows_missing: 0, peers: [peer('a:1', null, 0.75), peer('b:2', null, 0.25)] }
const some = {
  complete: false,
  rows_missing: 250,
  peers: [peer('a:1', null, 0.75), peer('b:2', 'refuses the token', 0.25), peer('c:3', 'has no log', null)],
}

test('peers that are missing are named with their share', () => {
  expect(peersText(all)).toBe('2 peers')
  expect(missingText(all)).toBeNull()
  expect(peersText(some)).toBe('1 of 3 peers')
  expect(missingText(some)).toBe(
    'b:2 is missing (it had 25 % of all rows): refuses the token; c:3 is missing (its share is unknown): has no log',
  )
  expect(peersText({ ...all, peers: [peer('a:1', null, 1)] })).toBe('1 peer')
})

test('a peer with a part of its log is not missing', () => {
  const part = { ...peer('b:2', 'has a part of its log only', 0.25), missing_seconds: null }
  const fleet = { complete: false, rows_missing: 0, peers: [peer('a:1', null, 0.75), part] }
  expect(missingText(fleet)).toBe('b:2 has a part of its log only')
  expect(liveKey(fleet)).toBe(liveKey(all))
})

test('what is said aloud changes with the peers, and not with their shares or reasons', () => {
  expect(missingNames(all)).toBeNull()
  const later = some.peers.map((one) => (one.error ? { ...one, share: 0.1, error: 'broke off' } : one))
  expect(missingNames({ ...some, peers: later })).toBe(missingNames(some))
  expect(missingNames({ ...some, peers: some.peers.slice(0, 2) })).not.toBe(missingNames(some))
})

test('the peers of the numbers are told apart', () => {
  expect(liveKey(undefined)).toBe('')
  expect(liveKey(some)).not.toBe(liveKey(all))
  expect(liveKey({ ...all, rows_missing: 9 })).toBe(liveKey(all))
})

test('a number of values says why it is not exact', () => {
  const distinct = { count: 9, exact: false, error: 0 }
  expect(distinctDoubt({ ...distinct, exact: true }, some)).toBeNull()
  expect(distinctDoubt(distinct, some)).toBe('peers that are missing may have more values')
  expect(distinctDoubt({ ...distinct, error: 0.016 }, some)).toBe(
    '± 1.6 %, two standard deviations; peers that are missing may have more values',
  )
  expect(distinctDoubt({ ...distinct, error: 0.016 }, undefined)).toBe('± 1.6 %, two standard deviations')
  expect(distinctDoubt(distinct, undefined)).toBe('there may be more values')
  expect([distinct, { ...distinct, error: 0.016 }].map(distinctSign)).toEqual(['≥ ', '≈ '])
})
