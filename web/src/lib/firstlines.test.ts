import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { firstLines } from './firstlines'

const file = (content: string | Uint8Array<ArrayBuffer>) => new Blob([content])

test('the first lines of a text, a last one without its end too', async () => {
  expect(await firstLines(file('one\r\ntwo\n\nfour'))).toEqual(['one', 'two', '', 'four'])
  expect(await firstLines(file(''))).toEqual([])
  const many = Array.from({ length: 100 }, (_, number) => `line ${number}`)
  expect(await firstLines(file(many.join('\n')))).toEqual(many.slice(0, 10))
})

test('a line that is cut by the end of what is read is none', async () => {
  expect(await firstLines(file(`short\n${'x'.repeat(70_000)}\n`))).toEqual(['short'])
})

test('a gzip file that unpacks to more than is read has no cut line', async () => {
  const lines = Array.from({ length: 9 }, (_, number) => String(number).repeat(20_000))
  const found = await firstLines(file(new Uint8Array(gzipSync(lines.join('\n')))))
  expect(found.length).toBeGreaterThan(1)
  expect(found).toEqual(lines.slice(0, found.length))
})

test('a gzip file is unpacked, and its start alone is enough', async () => {
  const lines = Array.from({ length: 30_000 }, (_, number) => `${number} ${Math.sin(number)}`)
  const packed = gzipSync(`${lines.join('\n')}\n`)
  expect(packed.length).toBeGreaterThan(65_536)
  expect(await firstLines(file(new Uint8Array(packed)))).toEqual(lines.slice(0, 10))
  expect(await firstLines(file(new Uint8Array(gzipSync('a\nb'))))).toEqual(['a', 'b'])
})

test('what is no text, or can not be read, has no lines', async () => {
  expect(await firstLines(file(new Uint8Array([80, 65, 82, 49, 0, 1])))).toEqual([])
  expect(
    await firstLines({
      slice: () => {
        throw new Error('gone')
      },
    }),
  ).toEqual([])
})
