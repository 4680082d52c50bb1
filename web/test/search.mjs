// Types into the search box what somebody types who knows no syntax, and counts the lines that are meant here.
//   node test/search.mjs [--program PROGRAM] [--only WORDS] [--shots DIR]

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, digits, laptop, send, settled, shoot, state } from './browser.mjs'
import { timedText } from './log.mjs'
import { anyRow, rowsOf, select } from './rows.mjs'
import { serve } from './serve.mjs'
import { end, run, tell } from './steps.mjs'

const args = options('program', 'only', 'shots', 'chromium')
const lineCount = 20_000
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-search-'))
const file = path.join(folder, 'access.log')
const text = timedText(lineCount)
writeFileSync(file, text)
const rows = rowsOf(text)
const matching = (meets, span) => select(rows, meets, span).length

const table = path.join(folder, 'events.ndjson')
const events = Array.from({ length: 3000 }, (_, index) => ({
  time: new Date(Date.UTC(2026, 0, 27, 0, 0, index * 20)).toISOString(),
  level: ['info', 'warn', 'error'][index % 3],
  'city name': ['Kiel', 'Aalborg', 'Turku', 'Malmö'][index % 4],
  message: `order ${index % 50} was ${index % 7 === 0 ? 'refused' : 'taken'}`,
  took: index % 90,
}))
writeFileSync(table, events.map((event) => JSON.stringify(event)).join('\n') + '\n')
const event = (meets) => events.filter(meets).length

/** A line in the middle, of which address, minute and text are typed. */
const known = rows.find(({ row, rejected, query }) => row > 9_000 && !rejected && query !== '')
const minute = Math.floor(known.time / 60) * 60
const utc = (seconds) => new Date(seconds * 1000).toISOString()
const day = (number) => Date.UTC(2025, 2, number) / 1000
const read = (row) => !row.rejected

/** What is typed, and the lines that are meant: a test of a row, and a span of time. */
const things = [
  ['404', (row) => row.status === 404],
  ['5xx', (row) => row.class === '5xx'],
  ['checkout', (row) => row.path.includes('checkout')],
  ['/checkout', (row) => row.path === '/checkout'],
  ['"GET /api" 502', (row) => row.line.includes('GET /api') && row.status === 502],
  ['path:checkout', (row) => row.path.includes('checkout')],
  ['path = /checkout', (row) => row.path === '/checkout'],
  [utc(minute).slice(0, 16).replace('T', ' '), anyRow, { from: minute, to: minute + 60 }],
  ['8 March', anyRow, { from: day(8), to: day(9) }],
  [
    'checkout on March 8 from 14:00 to 15:00',
    (row) => row.path.includes('checkout'),
    { from: day(8) + 14 * 3600, to: day(8) + 15 * 3600 },
  ],
  [known.client, (row) => row.client === known.client],
  ['203.0.113', (row) => row.client.startsWith('203.0.113.')],
  ['203.0.113.0/24', (row) => row.net === '203.0.113.0/24'],
  [
    known.line,
    (row) => ['client', 'method', 'url', 'status'].every((field) => row[field] === known[field]),
    { from: known.time, to: known.time + 1 },
  ],
  ['googlebot', (row) => row.bot === 'Googlebot'],
  ['firefox', (row) => row.browser === 'Firefox'],
  ['windows', (row) => row.os.startsWith('Windows')],
  ['post checkout', (row) => row.method === 'POST' && row.path.includes('checkout')],
  ['slower than 2s', (row) => row.request_time > 2],
  ['> 500ms', (row) => row.request_time > 0.5],
  ['larger than 100 KB', (row) => row.bytes > 100 * 1024],
  ['errors', (row) => row.status >= 400],
  ['not found', (row) => row.status === 404],
  ['bots', (row) => read(row) && row.bot !== ''],
  ['status 502', (row) => row.status === 502],
  [`ip: ${known.client}`, (row) => row.client === known.client],
  ['q=whale', (row) => row.query.includes('q=whale')],
  ['checkout without 200', (row) => row.path.includes('checkout') && row.status !== 200],
  ['google.com', (row) => row.site.includes('google.com')],
  ['502 or 500', (row) => row.status === 502 || row.status === 500],
]

const server = await serve(args.program, table)
const browser = await chromium.launch(args.chromium)
const broken = []
const page = await chromium.open(browser, server.base, broken)
const box = at(page, 'search')
const suggestions = at(page, 'suggestion')
/** Of the box: lists of choices elsewhere have options, too. */
const listed = page.locator('[role=option]')

async function show(name) {
  await page.evaluate(async (name) => {
    const { sessions } = await (await fetch('/api/sessions')).json()
    location.hash = `#s=${sessions.find((session) => session.name.endsWith(name)).id}`
  }, name)
  await state(page, 'finished')
  await settled(page)
}

/** From the whole log, by keys alone; until there is an answer to all of it. */
async function type(text) {
  await box.fill('')
  await box.blur()
  await page.keyboard.press('/')
  await page.keyboard.insertText(text)
  await answered()
}

const noted = (words) => at(page, 'search-note').filter({ hasText: words }).waitFor()
const answered = () => page.locator('[data-testid=search][data-answered=true]').waitFor()
const lines = async () => {
  await settled(page)
  return digits(await at(page, 'matching').textContent())
}

/** Lines of the suggestion at this place. */
async function taken(name, text, place) {
  await show(name)
  await type(text)
  for (let step = 0; step < place; step++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.querySelector('[data-testid=search]').value === '')
  return lines()
}

const steps = {
  async 'a log is there'() {
    await send(page, file)
    // The table is finished, too, and is shown until the log is there.
    await page.waitForFunction(async () => {
      const { sessions } = await (await fetch('/api/sessions')).json()
      const sent = sessions.find((session) => session.name.endsWith('access.log'))
      return sent !== undefined && location.hash.includes(sent.id)
    })
    await state(page, 'finished')
    await settled(page)
    assert.equal(await lines(), rows.length)
    await accessible(page)
    await shoot(page, args.shots, 'search-empty')
  },

  async 'thirty things lead to the right lines, 28 of them within two presses'() {
    assert.equal(things.length, 30)
    const presses = []
    for (const [text, meets, span] of things) {
      const wanted = matching(meets, span)
      assert.ok(wanted > 0, `no line is meant by ${text}`)
      // Enter takes the first; an arrow and Enter are two presses.
      let needed = (await taken('access.log', text, 0)) === wanted ? 1 : 0
      if (needed === 0 && (await taken('access.log', text, 1)) === wanted) needed = 2
      presses.push(needed)
      if (needed !== 1) console.log(`      ${text}: ${needed === 0 ? 'NOT FOUND' : 'two presses'}`)
    }
    const found = presses.filter((needed) => needed > 0).length
    const atOnce = presses.filter((needed) => needed === 1).length
    console.log(`      ${found} of 30 within two presses, ${atOnce} by Enter alone`)
    assert.ok(found >= 28, `${found} of 30`)
  },

  async 'counts are those of the lines, under the filters that are there'() {
    await show('access.log')
    await type('post')
    await page.keyboard.press('Enter')
    await chromium.expectMatching(
      page,
      matching((row) => row.method === 'POST'),
    )
    await type('checkout')
    const wanted = matching((row) => row.method === 'POST' && row.path.includes('checkout'))
    assert.equal(Number(await suggestions.first().locator('.hits').getAttribute('data-hits')), wanted)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
  },

  async 'keys: arrows go round, Escape closes, empties and leaves, Tab completes'() {
    await show('access.log')
    await type('checkout')
    const count = await listed.count()
    assert.ok(count >= 2)
    const active = () => box.getAttribute('aria-activedescendant')
    const ids = await listed.evaluateAll((all) => all.map(({ id }) => id))
    await page.keyboard.press('ArrowUp')
    assert.equal(await active(), ids.at(-1))
    await page.keyboard.press('ArrowDown')
    assert.equal(await active(), ids[0])
    assert.equal(await page.locator('[role=option][aria-selected=true]').count(), 1)
    await page.keyboard.press('Escape')
    assert.equal(await listed.count(), 0)
    assert.equal(await box.inputValue(), 'checkout')
    await page.keyboard.press('Escape')
    assert.equal(await box.inputValue(), '')
    await page.keyboard.press('Escape')
    assert.equal(await page.evaluate(() => document.activeElement === document.body), true)
    await type('stat')
    await page.keyboard.press('Tab')
    assert.equal(await box.inputValue(), 'status ')
    await page.keyboard.type('>= 500')
    await page.keyboard.press('Enter')
    await chromium.expectMatching(
      page,
      matching((row) => row.status >= 500),
    )
    await page.keyboard.press('u')
    await chromium.expectMatching(page, rows.length)
  },

  async 'Enter before the answer waits for it, and an answer to an older text is not taken'() {
    await show('access.log')
    let asked = 0
    await page.route('**/suggest', async (route) => {
      asked++
      await new Promise((resolve) => setTimeout(resolve, 300))
      await route.continue().catch(() => {})
    })
    await page.keyboard.press('/')
    await page.keyboard.insertText('post')
    await page.waitForRequest('**/suggest')
    await page.keyboard.insertText(' checkout')
    await page.keyboard.press('Enter')
    const wanted = matching((row) => row.method === 'POST' && row.path.includes('checkout'))
    await page.waitForFunction(() => document.querySelector('[data-testid=search]').value === '')
    await chromium.expectMatching(page, wanted)
    assert.equal(asked, 2)
    await page.unroute('**/suggest')
  },

  async 'slips are put right, what no line has is said, and an error has its place'() {
    await show('access.log')
    await type('statos >= 500')
    await page.getByText('did you mean status?').waitFor()
    await accessible(page)
    await shoot(page, args.shots, 'search-slip')
    await page.keyboard.press('Enter')
    await chromium.expectMatching(
      page,
      matching((row) => row.status >= 500),
    )
    await show('access.log')
    await type('status 503')
    assert.match(await at(page, 'search-note').textContent(), /^No line matches: status = 503/)
    await accessible(page)
    await shoot(page, args.shots, 'search-none')
    await page.keyboard.press('Enter')
    assert.equal(await box.inputValue(), 'status 503')
    await type('bot and status >= many')
    assert.match(await at(page, 'search-note').textContent(), /^As a filter: expected a status/)
    await page.keyboard.press('Enter')
    await at(page, 'filter-error').waitFor()
    await show('access.log')
  },

  async 'any text of a line is a filter, too'() {
    await show('access.log')
    await type('any contains "GET /api" and not any contains "curl"')
    await page.keyboard.press('Enter')
    const wanted = (row) => row.line.includes('GET /api') && !row.line.includes('curl')
    await chromium.expectMatching(page, matching(wanted))
  },

  async 'rows of a table are found by their own columns'() {
    for (const [text, meets] of [
      ['error', (row) => row.level === 'error'],
      ['refused', (row) => row.message.includes('refused')],
      ['"order 7 was"', (row) => row.message.includes('order 7 was')],
      ['city name: kiel', (row) => row['city name'] === 'Kiel'],
      ['error malmö', (row) => row.level === 'error' && row['city name'] === 'Malmö'],
      ['took > 80', (row) => row.took > 80],
      ['took 80', (row) => row.took === 80],
      ['14:10', (row) => row.time.slice(11, 16) === '14:10'],
      ['any contains refused', (row) => row.message.includes('refused')],
      ['levl:warn', (row) => row.level === 'warn'],
    ]) {
      assert.equal(await taken('events.ndjson', text, 0), event(meets), text)
    }
  },

  async 'a log in two parts, at two servers, is searched as one'() {
    const half = rows[rows.length / 2].line
    const cut = text.indexOf(half)
    const parts = [text.slice(0, cut), text.slice(cut)].map((part, index) => {
      const name = path.join(folder, `part-${index}.log`)
      writeFileSync(name, part)
      return name
    })
    const peers = await Promise.all(
      parts.map((part) => serve(args.program, '--no-cache', '--sessions', '1', part)),
    )
    const tokens = path.join(folder, 'tokens')
    writeFileSync(tokens, peers.map(({ base }) => `${base}\n`).join(''), { mode: 0o600 })
    const addresses = peers.map(({ base }) => new URL(base).origin).join(',')
    const fleet = await serve(args.program, '--peers', addresses, '--peers-tokens', tokens)
    const before = page.url()
    try {
      await page.goto(fleet.base)
      await state(page, 'finished')
      await chromium.expectMatching(page, rows.length)
      for (const [text, meets] of [
        ['"GET /api" 502', (row) => row.line.includes('GET /api') && row.status === 502],
        ['post checkout', (row) => row.method === 'POST' && row.path.includes('checkout')],
        ['status >= 500', (row) => row.status >= 500],
      ]) {
        await type(text)
        await page.keyboard.press('Enter')
        await chromium.expectMatching(page, matching(meets))
        await page.keyboard.press('u')
        await chromium.expectMatching(page, rows.length)
      }
      await type('checkout')
      await accessible(page)
      await shoot(page, args.shots, 'search-peers')
      await page.keyboard.press('Escape')
      await type('status >= 500')
      await page.keyboard.press('Enter')
      const failed = matching(({ status }) => status >= 500)
      await chromium.expectMatching(page, failed)
      await page.getByTestId('tool-explain').click()
      await page.getByTestId('statistics').click()
      const numbers = (await page.getByTestId('ranked-by').innerText())
        .replaceAll(/[^0-9 ]/g, '')
        .trim()
        .split(/ +/)
      assert.deepEqual(numbers.slice(0, 2).map(Number), [failed, rows.length - failed])
      assert.match(await page.getByTestId('findings').innerText(), /status/)
      await accessible(page)
      await shoot(page, args.shots, 'explain-peers')
      await page.getByTestId('tool-explain').click()
      await peers[0].stop()
      await type('checkou')
      await noted('≥ means at least; ')
      await type('/nowhere/at/all')
      await noted('matches, as far as is known: ')
      await accessible(page)
      await shoot(page, args.shots, 'search-peers-missing')
    } finally {
      await page.goto(before)
      await Promise.all([fleet.stop(), peers[0].stop(), peers[1].stop()])
    }
    await settled(page)
  },

  async 'axe finds nothing and nothing moves sideways, from 320 to 2560 pixels, with less motion'() {
    await show('access.log')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    for (const width of [320, 380, 640, 1280, 2560]) {
      await page.setViewportSize({ width, height: 800 })
      await type('checkout 404 or 500')
      await suggestions.first().waitFor()
      await accessible(page)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= width, `the page is ${wide} px wide at ${width}`)
    }
    await page.setViewportSize(laptop)
    await page.emulateMedia({ reducedMotion: null })
    await type('checkout')
    await shoot(page, args.shots, 'search-open')
    await type('"GET /api" 502')
    await page.keyboard.press('ArrowDown')
    await shoot(page, args.shots, 'search-chosen')
    await page.keyboard.press('Enter')
    await settled(page)
    await shoot(page, args.shots, 'search-applied')
  },
}

const chosen = Object.entries(steps).filter(([name]) => name.includes(args.only) || name === 'a log is there')
const failed = await run(chosen, {
  failed: async (number) => {
    await tell(page, args.shots, number)
    await page.reload().catch(() => {})
  },
})
await browser.close()
await server.stop()
rmSync(folder, { recursive: true })
end('search', chosen.length, failed, broken)
