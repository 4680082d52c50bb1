import { expect, test } from 'vitest'
import { engineOf, readingOf, waysOf } from './ways'

const chromium =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36'
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0'
const safari =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15'

test('engines by their names', () => {
  const headless = chromium.replace('Chrome', 'HeadlessChrome')
  const engines = [chromium, headless, firefox, safari, ''].map(engineOf)
  expect(engines).toEqual(['chromium', 'chromium', 'firefox', 'other', 'other'])
  expect([readingOf('chromium'), readingOf('firefox'), readingOf('other')]).toEqual([
    'stream',
    'slices',
    'slices',
  ])
})

test('the fastest first, the other behind it', () => {
  const none = new Set<never>()
  expect(waysOf('auto', 'chromium', none)).toEqual(['socket', 'put'])
  expect(waysOf('auto', 'firefox', none)).toEqual(['put', 'socket'])
  expect(waysOf('auto', 'other', none)).toEqual(['put', 'socket'])
})

test('what was found broken stands behind, and is still there', () => {
  expect(waysOf('auto', 'chromium', new Set(['socket'] as const))).toEqual(['put', 'socket'])
  expect(waysOf('auto', 'chromium', new Set(['socket', 'put'] as const))).toEqual(['socket', 'put'])
})

test('what the reader wishes for is the only way', () => {
  expect(waysOf('put', 'chromium', new Set(['put'] as const))).toEqual(['put'])
  expect(waysOf('socket', 'firefox', new Set())).toEqual(['socket'])
})
