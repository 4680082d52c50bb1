import { createHash, webcrypto } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Session } from './api'
import { differences, fingerprint, prefixBytes, resumable, type FileLike } from './recognise'

const file = (change: Partial<FileLike> = {}): FileLike => ({
  name: 'access.log',
  size: 1000,
  lastModified: 1,
  slice: () => new Blob(),
  ...change,
})
const session = (change: Partial<Session> = {}): Session => ({
  id: 's',
  name: 'access.log',
  size: 1000,
  state: 'interrupted',
  offset: 400,
  rate: 0,
  eta_seconds: null,
  error: null,
  follow: null,
  fingerprint: 'sha-256:1MiB:aa',
  created: 0,
  expires_seconds: 1800,
  files: null,
  reopened: null,
  columns: null,
  own_columns: 0,
  ...change,
})
const free = () => false

test('a fingerprint is the hash of the first MiB, and no byte more is read', async () => {
  const bytes = Buffer.alloc(prefixBytes + 10, 'line\n')
  const expected = createHash('sha256').update(bytes.subarray(0, prefixBytes)).digest('hex')
  const subtle = webcrypto.subtle as unknown as SubtleCrypto
  expect(await fingerprint(new Blob([bytes]), subtle)).toBe(`sha-256:1MiB:${expected}`)
  const changed = Buffer.from(bytes)
  changed[prefixBytes] = 0
  expect(await fingerprint(new Blob([changed]), subtle)).toBe(`sha-256:1MiB:${expected}`)
  expect(expected.length + 'sha-256:1MiB:'.length).toBeLessThanOrEqual(128) // the server keeps no more
})

test('where the browser hashes nothing, or the file can not be read, there is none', async () => {
  expect(await fingerprint(new Blob(['x']), {} as SubtleCrypto)).toBeNull()
  const gone = { slice: () => ({ arrayBuffer: () => Promise.reject(new Error('gone')) }) as unknown as Blob }
  expect(await fingerprint(gone)).toBeNull()
})

test('what differs is named', () => {
  const is = (change: Partial<FileLike>, print: string | null = 'sha-256:1MiB:aa') =>
    differences(session(), file(change), print)
  expect(is({})).toEqual([])
  expect(is({ name: 'b.log' })).toEqual(['its name is b.log, not access.log'])
  expect(is({ size: 2000 })).toEqual(['it has 1.95 KiB, not 1000 B'])
  expect(is({}, 'sha-256:1MiB:bb')).toEqual(['it begins with other bytes'])
  expect(is({ name: 'b.log', size: 7 })).toHaveLength(2)
  const large = differences(session({ size: 2 ** 30 }), file({ size: 2 ** 30 + 1 }), null)
  expect(large).toEqual(['it has 1,073,741,825 bytes, not 1,073,741,824'])
})

test('without a hash on either side, or with one that another client made, name and size decide', () => {
  expect(differences(session(), file(), null)).toEqual([])
  expect(differences(session({ fingerprint: null }), file(), 'sha-256:1MiB:bb')).toEqual([])
  expect(differences(session({ fingerprint: 'etag:7' }), file(), 'sha-256:1MiB:bb')).toEqual([])
})

test('a dropped file finds the session that was cut off', () => {
  const print = 'sha-256:1MiB:aa'
  const found = (sessions: Session[], busy = free) => resumable(file(), print, sessions, busy)?.id ?? null
  expect(found([session({ size: 1 }), session({ id: 'b' })])).toBe('b')
  expect(found([session({ state: 'finished' }), session({ name: 'x' }), session({ size: null })])).toBeNull()
  expect(found([session({ fingerprint: 'sha-256:1MiB:bb' })])).toBeNull()
  expect(found([session()], () => true)).toBeNull()
  expect(found([session({ state: 'waiting', offset: 0 })])).toBe('s')
})
