// What the page says where the memory was too little, or nothing came, in Chromium.
//   node test/memory.mjs --program PROGRAM [--only WORDS] [--shots DIR] [--chromium PROGRAM]
// PROGRAM is a rorqual that is started for each step. What is expected is counted here, from the lines that are sent.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, digits, send, settled, state } from './browser.mjs'
import { timedText } from './log.mjs'
import { serve } from './serve.mjs'
import { end, picture, run, tell } from './steps.mjs'

const args = options('program', 'only', 'shots', 'chromium')
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-memory-'))
const browser = await chromium.launch(args.chromium)
const broken = []

function put(name, text) {
  const file = path.join(folder, name)
  writeFileSync(file, text)
  return file
}

const clients = 500_000
const attack = 100_000
const attacker = '203.0.113.9'

/** Clients that come once each, and one that comes all the time for the hour after them. */
function attacked() {
  const line = (client, minute, status) =>
    `${client} - - [10/Oct/2024:${minute < 60 ? 13 : 14}:${String(minute % 60).padStart(2, '0')}:00 +0000] "GET / HTTP/1.1" ${status} 10 "-" "curl/8.5.0"\n`
  const once = Array.from({ length: clients }, (_, number) =>
    line(
      `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
      Math.floor((number * 60) / clients),
      200,
    ),
  )
  const often = Array.from({ length: attack }, (_, number) =>
    line(attacker, 60 + Math.floor((number * 60) / attack), 403),
  )
  return [...once, ...often].join('')
}

const shoot = async (page, name) =>
  args.shots && page.screenshot({ path: picture(args.shots, name), fullPage: true })

/** All of it came, and is counted. */
async function finished(page) {
  await state(page, 'finished')
  await page.locator('[data-testid=filter][data-complete=true]').waitFor()
}

async function filtered(page, term) {
  await page.evaluate((term) => {
    const fields = new URLSearchParams(location.hash.slice(1))
    location.hash = `#s=${fields.get('s')}${term ? `&f=${encodeURIComponent(term)}` : ''}`
  }, term)
}

const steps = {
  async 'a filter on rows that are gone is not shown as applied'(page) {
    const first = put('first.log', timedText(3_000))
    await send(page, first)
    await finished(page)
    await settled(page)
    const place = await page.evaluate(() => location.hash)
    await send(page, put('second.log', timedText(2_000)))
    await page.waitForFunction((place) => location.hash !== place, place)
    await finished(page)
    // There is one place, which the second log has.
    await page.evaluate(
      (place) => (location.hash = `${place}&f=${encodeURIComponent('status = 404')}`),
      place,
    )
    await at(page, 'trouble').waitFor()
    assert.match(await at(page, 'trouble').textContent(), /gave their place.*those of the whole log/)
    assert.equal(await at(page, 'chip').getAttribute('data-applied'), 'false')
    assert.match(await at(page, 'scope').textContent(), /whole log/)
    assert.equal(digits(await at(page, 'lines-total').textContent()), 3_000)
    await shoot(page, 'gone')
  },

  async 'a filter on a session that the server forgot is not shown as applied'(page) {
    await send(page, put('gone.log', timedText(3_000)))
    await finished(page)
    await settled(page)
    const status = await page.evaluate(async () => {
      const id = new URLSearchParams(location.hash.slice(1)).get('s')
      return (await fetch(`/api/sessions/${id}`, { method: 'DELETE' })).status
    })
    assert.equal(status, 204)
    await at(page, 'panel-status').locator('.value').first().click()
    await at(page, 'trouble').waitFor()
    assert.match(await at(page, 'trouble').textContent(), /no longer knows.*those of the whole log/)
    assert.equal(await at(page, 'chip').getAttribute('data-applied'), 'false')
    assert.match(await at(page, 'scope').textContent(), /whole log/)
    await shoot(page, 'forgotten')
  },

  async 'the strip counts the view that the rest of the page shows'(page) {
    const text = timedText(5_000)
    await send(page, put('strip.log', text))
    await finished(page)
    await settled(page)
    assert.equal(digits(await at(page, 'lines-total').textContent()), 5_000)
    await filtered(page, 'status = 404')
    const wanted = text.split('\n').filter((line) => / 404 (\d+|-) /.test(line)).length
    await page.waitForFunction(
      (wanted) =>
        document.querySelector('[data-testid=filter]')?.dataset.settled === 'true' &&
        Number(document.querySelector('[data-testid=lines-total]').textContent.replace(/\D/g, '')) === wanted,
      wanted,
    )
    assert.equal(digits(await at(page, 'matching').textContent()), wanted)
    assert.match(await at(page, 'scope').textContent(), /this view/)
    assert.equal(await at(page, 'chip').getAttribute('data-applied'), 'true')
    await shoot(page, 'strip')
  },

  async 'a span that has all requests leaves none to compare them with'(page) {
    // Rejected lines have no time, and so are outside of any span.
    const sound = timedText(3_000)
      .split('\n')
      .filter((line) => / HTTP\/[\d.]+" \d{3} /.test(line))
    assert.ok(sound.length > 2_900)
    await send(page, put('all.log', `${sound.join('\n')}\n`))
    await finished(page)
    await settled(page)
    await page.evaluate(() => {
      const id = new URLSearchParams(location.hash.slice(1)).get('s')
      location.hash = `#s=${id}&ofrom=1&oto=9000000000&tool=explain`
    })
    await at(page, 'nothing').waitFor()
    assert.match(await at(page, 'nothing').textContent(), /All requests are here, and none is left/)
    await shoot(page, 'all')
  },

  async 'an empty log, and one of a single line: what to do is said'(page) {
    await send(page, put('empty.log', ''))
    await at(page, 'advice').waitFor()
    assert.match(await at(page, 'advice').textContent(), /empty\.log is empty.*no lines so far/)
    assert.match(await at(page, 'advice').textContent(), /rorqual serve --follow empty\.log/)
    await at(page, 'advice').getByRole('button', { name: 'Choose another file' }).waitFor()
    await accessible(page)
    await shoot(page, 'empty-log')
    await send(page, put('one.log', timedText(1)))
    await page.waitForFunction(() => document.querySelector('[data-testid=advice]')?.dataset.kind === 'one')
    assert.match(await at(page, 'advice').textContent(), /one\.log has one line/)
    await settled(page)
    assert.equal(digits(await at(page, 'lines-total').textContent()), 1)
    await accessible(page)
    await shoot(page, 'one-line')
  },

  async 'a log of rejected lines: why, and another format by a press'(page) {
    const lines = Array.from({ length: 10 }, (_, index) => `whale${index} thing 200\n`)
    await send(page, put('odd.log', lines.join('')))
    await at(page, 'error').waitFor()
    await page.fill('#format', 'common')
    await page.getByRole('button', { name: 'Read it as this' }).click()
    await at(page, 'advice').waitFor()
    assert.match(
      await at(page, 'advice').textContent(),
      /Nothing in odd\.log could be read as common: 10 lines rejected.*Line 1: /s,
    )
    await accessible(page)
    await shoot(page, 'rejected-only')
    await at(page, 'other-format').press('Enter')
    assert.match(await page.textContent('ol[aria-label="First lines of the log"]'), /whale0 thing 200/)
    await page.fill('#format', '%h %l %>s')
    await at(page, 'preview').waitFor()
    await accessible(page)
    await shoot(page, 'rejected-format')
    await page.getByRole('button', { name: 'Read it as this' }).click()
    await at(page, 'advice').waitFor({ state: 'detached' })
    await finished(page)
    assert.equal(await at(page, 'rejected').locator('dd.rejected').count(), 0)
  },

  async 'files that are dropped at once all keep their rows'(page) {
    const sizes = [4_000, 3_000, 2_000, 1_000]
    const files = sizes.map((size) => put(`${size}.log`, timedText(size)))
    await send(page, files)
    await page.waitForFunction(
      async (count) => {
        const { sessions } = await (await fetch('/api/sessions')).json()
        return sessions.filter(({ state }) => state === 'finished').length === count
      },
      sizes.length,
      { polling: 500 },
    )
    const sessions = await page.evaluate(async () => (await (await fetch('/api/sessions')).json()).sessions)
    for (const { id, name } of sessions) {
      await page.evaluate(
        (id) => (location.hash = `#s=${id}&f=${encodeURIComponent('not status = 599')}`),
        id,
      )
      await page.waitForFunction(
        (size) =>
          document.querySelector('[data-testid=filter]')?.dataset.settled === 'true' &&
          Number(document.querySelector('[data-testid=matching]').textContent.replace(/\D/g, '')) === size,
        parseInt(name, 10),
      )
      assert.equal(await at(page, 'trouble').count(), 0, name)
    }
  },

  async 'a client that comes often is seen when the memory is full of others'(page) {
    await send(page, put('attacked.log', attacked()))
    await finished(page)
    await settled(page)
    const panel = at(page, 'panel-client')
    await panel.getByRole('button', { name: attacker, exact: true }).waitFor()
    const others = digits(await panel.getByTestId('others').locator('.hits').textContent())
    assert.ok(others > 0 && others < clients, `${others} hits of others`)
    await shoot(page, 'others')
    // Each filter is exact, for clients that the panel does not list too.
    for (const [filter, lines] of [
      ['client = 198.51.100.7', 0],
      [`client = ${attacker}`, attack],
      [`client != ${attacker}`, clients],
    ]) {
      await filtered(page, filter)
      await page.waitForFunction((lines) => {
        const bar = document.querySelector('[data-testid=filter]')
        const matching = document.querySelector('[data-testid=matching]').textContent
        return bar?.dataset.settled === 'true' && matching.replace(/\D/g, '') === `${lines}`
      }, lines)
      assert.equal((await at(page, 'matching').locator('..').textContent()).includes('≈'), false, filter)
    }
    // All lines have one path and one agent.
    for (const field of ['path', 'agent']) {
      const row = at(page, `panel-${field}`).locator('tbody tr').first()
      assert.equal(digits(await row.locator('.hits').textContent()), clients, field)
    }
    await shoot(page, 'without')
    await filtered(page, '')
    await settled(page)
    await at(page, 'tool-rates').click()
    await at(page, 'untried').waitFor()
    await shoot(page, 'untried')
  },
}

/** What the server of a step has. */
const given = {
  'a filter on rows that are gone is not shown as applied': ['--sessions', '1'],
  'files that are dropped at once all keep their rows': ['--memory', '1GiB'],
  'a client that comes often is seen when the memory is full of others': [
    '--sessions',
    '1',
    '--memory',
    '180MiB',
    '--threads',
    '1',
  ],
}

const chosen = Object.entries(steps).filter(([name]) => name.includes(args.only))
let page
const failed = await run(
  chosen.map(([name, step]) => [
    name,
    async () => {
      const server = await serve(args.program, ...(given[name] ?? []))
      page = await chromium.open(browser, server.base, broken)
      await step(page)
      await page.context().close()
      await server.stop()
    },
  ]),
  { failed: (number) => tell(page, args.shots, number) },
)
await browser.close()
rmSync(folder, { recursive: true })
end('memory', chosen.length, failed, broken)
