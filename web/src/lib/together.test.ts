import { expect, test } from 'vitest'
import { areTables, nameOf, oldestFirst, partsOf, together, uniquelyNamed, type Named } from './together'

const named = (name: string, content: string, lastModified: number): Named => ({
  file: new File([content], name.split('/').at(-1) ?? name, { lastModified }),
  name,
})
const names = (files: Named[]) => files.map(({ name }) => name)

test('the bytes are those of the files, the oldest first', async () => {
  const log = together([named('access.log', 'new\n', 3), named('access.log.1', 'old\n', 2)])
  expect(await log.text()).toBe('old\nnew\n')
  expect([log.name, log.size, log.lastModified]).toEqual(['access.log and 1 more', 8, 3])
  expect(partsOf(log)).toEqual([
    { name: 'access.log.1', size: 4 },
    { name: 'access.log', size: 4 },
  ])
  expect(partsOf(new File([], 'access.log'))).toBeNull()
})

test('rotated logs of one moment, as a copy leaves them, are in the order of their numbers', () => {
  const files = ['access.log', 'access.log.10.gz', 'access.log.2.gz', 'access.log.1'].map((name) =>
    named(name, '', 7),
  )
  expect(names(oldestFirst(files))).toEqual([
    'access.log.10.gz',
    'access.log.2.gz',
    'access.log.1',
    'access.log',
  ])
  expect(names(oldestFirst([named('b', '', 7), named('a', '', 7)]))).toEqual(['a', 'b'])
})

test('no two have one name', () => {
  const files = ['a/access.log', 'access.log', 'access.log', 'access.log'].map((name) => named(name, '', 0))
  expect(names(uniquelyNamed(files))).toEqual([
    'a/access.log',
    'access.log',
    'access.log (2)',
    'access.log (3)',
  ])
})

test('what it is called, and what is better not one log', () => {
  expect(nameOf([])).toBe('')
  expect(nameOf([{ name: 'access.log', size: 1 }])).toBe('access.log')
  expect(areTables([named('access.log', '', 0), named('orders.csv.gz', '', 0)])).toBe(true)
  expect(areTables([named('access.log.1.gz', '', 0), named('caddy.json', '', 0)])).toBe(false)
})
