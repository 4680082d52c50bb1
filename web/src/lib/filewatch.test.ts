import { expect, test } from 'vitest'
import { changeOf, changeWords, lengthOf } from './filewatch'
import type { FileLike } from './recognise'

/** A file on disk that has so many bytes now, whatever the browser remembers of it. */
function file(now: number, remembered = 1000): FileLike & { reads: number } {
  const it = {
    name: 'access.log',
    size: remembered,
    lastModified: 1,
    reads: 0,
    slice: (start: number) => {
      it.reads++
      if (start < now) return new Blob(['x'])
      return {
        arrayBuffer: () => Promise.reject(new DOMException('', 'NotReadableError')),
      } as unknown as Blob
    },
  }
  return it
}
const picked = { size: 1000, lastModified: 1 }

test('the same file is no change', async () => {
  expect(await changeOf(file(1000), picked, null)).toBeNull()
  expect(await changeOf(file(0, 0), { size: 0, lastModified: 1 }, null)).toBeNull()
})

test('a file that was cut is found by its last byte, and its length by halves', async () => {
  for (const now of [1, 2, 499, 500, 998, 999]) {
    const cut = file(now)
    expect(await changeOf(cut, picked, null)).toEqual({ size: now, lastModified: null })
    expect(cut.reads).toBeLessThanOrEqual(12)
  }
  expect(await lengthOf(file(0), 1000)).toBeNull()
})

test('an entry in the folder tells more than the browser remembers', async () => {
  const again = async () => ({ ...file(1000), size: 1200, lastModified: 2 })
  expect(await changeOf(file(1000), picked, again)).toEqual({ size: 1200, lastModified: 2 })
  const gone = () => Promise.reject(new DOMException('', 'NotFoundError'))
  expect(await changeOf(file(1000), picked, gone)).toEqual({ size: null, lastModified: null })
})

test('in words: what it was and what it is', () => {
  const gib = { size: 1.5 * 2 ** 30, lastModified: 0 }
  expect(changeWords(gib, { size: 2 ** 30, lastModified: null })).toMatch(
    /^was 1.50 GiB of 19\d\d-\d\d-\d\d [\d:]+, is 1.00 GiB$/,
  )
  expect(changeWords(gib, { size: gib.size + 1, lastModified: 0 })).toMatch(
    /^was 1,610,612,736 bytes of .*, is 1,610,612,737 bytes of 19.*; a log that is still written/,
  )
  expect(changeWords(gib, { size: null, lastModified: null })).toMatch(/can no longer be read/)
})
