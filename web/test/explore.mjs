// Drives everything that explores a log in Chromium: filters, brush, panels, heatmaps, lines, tools, exports, keys.
//   node test/explore.mjs [--program PROGRAM | --base URL] [--only WORDS] [--shots DIR]
// PROGRAM is a rorqual to start, target/debug/rorqual by default. What is expected is counted here, from the lines that are sent.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, clear, digits, laptop, send, settled, state } from './browser.mjs'
import { timedText } from './log.mjs'
import { quantiles } from './quantiles.mjs'
import { anyRow, rowsOf, select } from './rows.mjs'
import { serve } from './serve.mjs'
import { shiftsOf, toldShifts, watchShifts } from './shifts.mjs'
import { end, picture, run, tell } from './steps.mjs'
import { Wire } from './wire.mjs'

const args = options('base', 'program', 'only', 'shots', 'chromium')
const lineCount = 20_000
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-explore-'))
const file = path.join(folder, 'access.log')
const text = timedText(lineCount)
writeFileSync(file, text)
const rows = rowsOf(text)
const matching = (meets, span) => select(rows, meets, span).length

/** The filters of the steps, as tests of a row. */
const bot = (row) => row.bot !== ''
const refused = (row) => row.status >= 400
const checkout = (row) => row.path === '/checkout'
const bad = (row) => row.status === 404 || row.class === '5xx'
const get = (row) => row.method === 'GET'
const post = (row) => row.method === 'POST'
const sundayAtThree = (row) => row.weekday === 7 && row.hour === 3
const error500 = (row) => row.status === 500
const not = (meets) => (row) => !meets(row)

const server = args.base ? null : await serve(args.program)
const base = args.base ?? server.base
const wire = await Wire.start()
const browser = await chromium.launch(args.chromium, wire)
const broken = []

const open = () =>
  chromium.open(browser, base, broken, {
    permissions: ['clipboard-read', 'clipboard-write'],
    acceptDownloads: true,
  })
const panel = (page, field) => at(page, `panel-${field}`)
const value = (page, field, name) => panel(page, field).getByRole('button', { name, exact: true })
const terms = (page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).getAll('f'))

/** Values and hits that a panel shows, by value. */
const shownIn = (page, field) =>
  panel(page, field)
    .locator('tbody tr')
    .evaluateAll((all) =>
      Object.fromEntries(
        all.map((row) => [
          row.querySelector('.value bdi').textContent,
          Number(row.querySelector('.hits').textContent.replace(/\D/g, '')),
        ]),
      ),
    )

/** The same, counted here: the values of the lines that meet the other filters, most first. */
function countedIn(field, meets, most = 10) {
  const hits = new Map()
  for (const row of select(rows, (row) => !row.rejected && row[field] !== '' && meets(row)))
    hits.set(String(row[field]), (hits.get(String(row[field])) ?? 0) + 1)
  const order = [...hits].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return Object.fromEntries(order.slice(0, most))
}

/** The view counts as many lines as are counted here. */
const expectMatching = (page, meets, span) =>
  chromium.expectMatching(page, matching(meets, span), String(meets))

async function clearView(page) {
  await page.evaluate(() => {
    const fields = new URLSearchParams(location.hash.slice(1))
    location.hash = `#s=${fields.get('s')}`
  })
  await settled(page)
  await expectMatching(page, anyRow)
}

async function type(page, text) {
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await at(page, 'search').fill(text)
  await page.keyboard.press('Enter')
  // Taken once the server has said what it means.
  await page.waitForFunction(() => document.querySelector('[data-testid=search]').value === '')
}

const telephone = { width: 380, height: 800 }
const wall = { width: 2560, height: 1300 }

/** What is out of sight is not drawn, unless a picture of the whole page is wanted. */
async function drawAll(page, visibility) {
  await page.$$eval(
    '.cell, .scroller',
    (all, visibility) => {
      for (const node of all) node.style.contentVisibility = visibility
    },
    visibility,
  )
}

/** Pictures of a state, with what it is about in sight; of a telling one on a large screen too, or of the whole page. */
async function shoot(page, name, { about, large = false, full = false } = {}) {
  if (!args.shots) return
  const before = await page.evaluate(() => scrollY)
  const looks = [[telephone, 'dark'], [laptop, 'light'], ...(large ? [[wall, 'dark']] : [])]
  for (const [viewport, colorScheme] of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    await page.waitForTimeout(300)
    await page.evaluate((top) => scrollTo(0, top), before)
    if (about) await at(page, about).evaluate((node) => node.scrollIntoView({ block: 'nearest' }))
    const file = picture(args.shots, `${name}-${viewport.width}-${colorScheme}`)
    const whole = full && viewport !== wall
    if (whole) {
      await drawAll(page, 'visible')
      // Else the header that stays is in the middle of it.
      await page.evaluate(() => scrollTo(0, 0))
    }
    await page.screenshot({ path: file, fullPage: whole })
    if (whole) await drawAll(page, '')
  }
  await page.setViewportSize(laptop)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.waitForTimeout(300)
  await page.evaluate((top) => scrollTo(0, top), before)
}

async function drag(page, from, to, { shift = false } = {}) {
  const box = await at(page, 'histogram').locator('.u-over').boundingBox()
  if (shift) await page.keyboard.down('Shift')
  await page.mouse.move(box.x + box.width * from, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * to, box.y + 60, { steps: 4 })
  await page.mouse.up()
  if (shift) await page.keyboard.up('Shift')
}

/** The first row of the table of metrics, by the heads of its columns. */
const firstMetrics = (page) =>
  at(page, 'metrics').evaluate((table) => {
    const texts = (row) => [...row.cells].map(({ innerText }) => innerText.replace(/[\s▼]+/g, ' ').trim())
    const cells = texts(table.tBodies[0].rows[0])
    return Object.fromEntries(texts(table.tHead.rows[0]).map((head, index) => [head, cells[index]]))
  })

/** The tool shows the newest answer: an older one is paler while it stays. */
const answered = (page) => page.locator('[data-testid=tool][aria-busy=false]').waitFor()

/** The line over the bars is that of the view. */
const lined = async (page, name) => {
  await settled(page)
  await page.locator('[data-testid=lens-note][aria-busy=false]', { hasText: name }).waitFor()
}

/** The outline over the bars is that of the comparison. */
const ghosted = (page) =>
  page.locator('[data-testid=ghost-note][aria-busy=false]', { hasText: 'over this view' }).waitFor()

/** What a button or link of the export menu gives. */
async function taken(page, find) {
  await page.locator('summary', { hasText: 'Export' }).click()
  const [download] = await Promise.all([page.waitForEvent('download'), find.click()])
  return readFileSync(await download.path())
}

/** The line over the bars as its CSV has it, a row for each bar. */
async function lineOf(page) {
  const [head, ...lines] = (await taken(page, at(page, 'lens-csv'))).toString().trimEnd().split('\r\n')
  const rows = lines.map((line) => line.split(','))
  return {
    head: head.split(','),
    bars: rows.map(([time, seconds, hits, value, error, exact]) => ({
      from: Date.parse(time) / 1000,
      seconds: Number(seconds),
      hits: Number(hits),
      value: value === '' ? null : Number(value),
      error: Number(error),
      exact: exact === 'true',
    })),
  }
}

/** Each bar of the line has what is counted here of the lines in it, within its error; without lines it has nothing. */
function expectLine({ bars }, meets, span, of) {
  const sound = select(rows, (row) => !row.rejected && meets(row), span)
  assert.ok(bars.length > 20, `${bars.length} bars`)
  assert.equal(
    bars.reduce((sum, { hits }) => sum + hits, 0),
    sound.length,
  )
  for (const { from, seconds, hits, value, error, exact } of bars) {
    const inside = sound.filter(({ time }) => time >= from && time < from + seconds)
    const counted = inside.length === 0 ? null : of(inside)
    const about = `${value} at ${new Date(from * 1000).toISOString()}, counted here ${counted}`
    assert.ok(exact && hits === inside.length, about)
    if (counted === null || value === null) assert.equal(value, counted, about)
    else assert.ok(Math.abs(value - counted) <= error * counted + 1e-6, about)
  }
}

const errorRate = (inside) => inside.filter(({ status }) => status >= 500).length / inside.length

const sortedBy = (page, name) =>
  at(page, 'metrics').locator('th[aria-sort=descending]', { hasText: name }).waitFor()

const spanOf = (page) =>
  page.evaluate(() => {
    const fields = new URLSearchParams(location.hash.slice(1))
    return { from: Number(fields.get('from')), to: Number(fields.get('to')) }
  })

/** The span that a tool is asked about. */
const selectedOf = (page) =>
  page.evaluate(() => {
    const fields = new URLSearchParams(location.hash.slice(1))
    return { from: Number(fields.get('ofrom')), to: Number(fields.get('oto')) }
  })

/** Where a part of the width of the heatmap and one of its steps are on the screen; steps by their least time. */
async function heatPoint(page, part, step) {
  const cells = panel(page, 'latency')
  const labels = await cells.locator('.labels li').allTextContents()
  const box = await at(page, 'latency').locator('canvas').boundingBox()
  const row = labels.indexOf(step)
  assert.ok(row >= 0, `${step} is none of ${labels}`)
  return { x: box.x + box.width * part, y: box.y + ((row + 0.5) * box.height) / labels.length }
}

/** Draws a box over cells: between parts of the width, and from one step to another. */
async function drawBox(page, [from, low], [to, high]) {
  await at(page, 'latency').scrollIntoViewIfNeeded()
  const [a, b] = [await heatPoint(page, from, low), await heatPoint(page, to, high)]
  await page.mouse.move(a.x, a.y)
  await page.mouse.down()
  await page.mouse.move(b.x, b.y, { steps: 4 })
  await page.mouse.up()
}

/** The box of the address, and the rows in it. */
async function boxOf(page) {
  const fields = Object.fromEntries(
    await page.evaluate(() => [...new URLSearchParams(location.hash.slice(1)).entries()]),
  )
  assert.equal(fields.ofield, 'request_time')
  const span = { from: Number(fields.ofrom), to: Number(fields.oto) }
  const [min, max] = [Number(fields.omin ?? -Infinity), Number(fields.omax ?? Infinity)]
  const meets = (row) => row.request_time !== null && row.request_time >= min && row.request_time < max
  return { span, min, max, meets, inside: select(rows, meets, span) }
}

/** Both answers about the box are there. */
async function boxExplained(page, inside) {
  const text = `inside, ${inside.toLocaleString('en')} line`
  await page.waitForFunction(
    (text) => document.querySelector('[data-testid=paired] .key')?.textContent.includes(text),
    text,
  )
  await answered(page)
}

/** Nothing reaches over the side of 320 pixels, once the bars are drawn anew for them. */
async function fitsPhone(page) {
  await page.setViewportSize({ width: 320, height: 640 })
  await page.waitForFunction(() => document.documentElement.scrollWidth === 320)
  await page.setViewportSize(laptop)
}

const steps = {
  async 'the empty page explains itself'(page) {
    await clear(page)
    await page.goto('about:blank')
    await page.goto(base)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await at(page, 'sample').waitFor()
    assert.match(await page.textContent('main'), /every number answers a click/)
    await accessible(page)
    await shoot(page, 'empty')
  },

  async 'filters work while the file arrives, and rows keep their places'(page) {
    wire.rate = 500_000
    await send(page, file)
    await at(page, 'filter').waitFor()
    await panel(page, 'week').waitFor()
    await page.waitForFunction(() =>
      /so far/.test(document.querySelector('[data-testid=filter]').textContent),
    )
    await type(page, 'status >= 400')
    await settled(page)
    const early = digits(await at(page, 'matching').textContent())
    assert.ok(early < matching(refused))
    await shoot(page, 'arriving')
    const order = () =>
      page.$$eval('[data-testid=panel-client] .value', (all) => all.map((one) => one.textContent))
    const seen = [await order()]
    let changes = 0
    const begun = Date.now()
    while (Date.now() - begun < 3000) {
      await page.waitForTimeout(50)
      const now = await order()
      if (now.join() !== seen[seen.length - 1].join()) {
        seen.push(now)
        // A new value may come at the end at any time; those that were there keep their places for a second.
        changes++
      }
    }
    assert.ok(changes <= 6, `${changes} changes of order in 3 s`)
    await accessible(page)
    wire.mend()
    await state(page, 'finished')
    await expectMatching(page, refused)
    await clearView(page)
  },

  async 'nothing jumps while a file arrives'(page) {
    const place = page.url()
    const jumped = []
    for (const viewport of [laptop, telephone]) {
      const context = await browser.newContext({ viewport })
      const other = await context.newPage()
      await watchShifts(other)
      await other.goto(`${base}#new`)
      await at(other, 'sample').waitFor()
      wire.rate = 700_000
      await send(other, file)
      await state(other, 'finished')
      wire.mend()
      await settled(other)
      await at(other, 'unusual').waitFor()
      await other.waitForTimeout(500)
      const shifts = await shiftsOf(other)
      console.log(`      layout shift at ${viewport.width} px: ${shifts.sum.toFixed(4)}`)
      await other.evaluate(async () => {
        const id = new URLSearchParams(location.hash.slice(1)).get('s')
        await fetch(`/api/sessions/${id}`, { method: 'DELETE' })
      })
      await context.close()
      if (shifts.sum > 0.1) jumped.push(`${shifts.sum} at ${viewport.width} px\n${toldShifts(shifts)}`)
    }
    assert.equal(jumped.join('\n'), '')
    assert.equal(page.url(), place)
  },

  async 'done, whole'(page) {
    await accessible(page)
    await shoot(page, 'done', { full: true, large: true })
    assert.equal(await panel(page, 'latency').count(), 1)
    const people = digits(await at(page, 'people').locator('dd').textContent())
    const bots = digits(await at(page, 'bots').locator('dd').textContent())
    assert.equal(bots, matching(bot))
    assert.equal(
      people,
      matching((row) => !bot(row) && !row.rejected),
    )
  },

  async 'a press on a value includes, again takes it out, Alt and the button leave it out'(page) {
    await value(page, 'path', '/checkout').click()
    await expectMatching(page, checkout)
    assert.deepEqual(await terms(page), ['path = /checkout'])
    assert.equal(await value(page, 'path', '/checkout').getAttribute('aria-pressed'), 'true')
    await accessible(page)
    await shoot(page, 'filtered')
    await value(page, 'path', '/checkout').click()
    await expectMatching(page, anyRow)
    await value(page, 'path', '/').click({ modifiers: ['Alt'] })
    await expectMatching(page, (row) => row.path !== '/')
    await panel(page, 'path').locator('tr', { hasText: '/index.html' }).hover()
    await panel(page, 'path').getByRole('button', { name: 'Without /index.html' }).click()
    await expectMatching(page, (row) => !['/', '/index.html'].includes(row.path))
    assert.deepEqual(await terms(page), ['path not in (/, /index.html)'])
    await clearView(page)
  },

  async 'the other values of a chosen field stay, counted under the other filters'(page) {
    await value(page, 'method', 'GET').click()
    await expectMatching(page, get)
    assert.deepEqual(await shownIn(page, 'method'), countedIn('method', anyRow))
    const paths = countedIn('path', get)
    const [first, second, third] = Object.keys(paths)
    await value(page, 'path', second).click()
    await expectMatching(page, (row) => get(row) && row.path === second)
    // In their places, with their counts.
    const inOrder = async () => Object.entries(await shownIn(page, 'path'))
    assert.deepEqual(await inOrder(), Object.entries(paths))
    assert.deepEqual(
      await shownIn(page, 'method'),
      countedIn('method', (row) => row.path === second),
    )
    assert.deepEqual(
      await shownIn(page, 'status'),
      countedIn('status', (row) => get(row) && row.path === second),
    )
    await value(page, 'path', first).click()
    const either = (row) => get(row) && [first, second].includes(row.path)
    await expectMatching(page, either)
    assert.deepEqual(await terms(page), ['method = GET', `path in (${second}, ${first})`])
    assert.deepEqual(await inOrder(), Object.entries(paths))
    const pressed = () => panel(page, 'path').locator('[aria-pressed=true] bdi').allTextContents()
    assert.deepEqual(await pressed(), [first, second])
    assert.match(
      await value(page, 'path', third).locator('xpath=../..').locator('.share').getAttribute('title'),
      /other filters leave/,
    )
    await accessible(page)
    await shoot(page, 'facets', { about: 'panel-path', large: true })
    // Out again, left out, and neither.
    await value(page, 'path', first).click()
    await expectMatching(page, (row) => get(row) && row.path === second)
    await value(page, 'path', second).click()
    await expectMatching(page, get)
    await value(page, 'path', first).click({ modifiers: ['Alt'] })
    await expectMatching(page, (row) => get(row) && row.path !== first)
    assert.deepEqual(await inOrder(), Object.entries(paths))
    const struck = panel(page, 'path').locator('tr.out')
    assert.match(await struck.locator('.value').textContent(), /\(left out\)/)
    await accessible(page)
    await shoot(page, 'facets-out', { about: 'panel-path' })
    await struck.locator('.value').click()
    await expectMatching(page, get)
    await clearView(page)
  },

  async 'only one of the values chosen: by Shift, by its button, by keys'(page) {
    await value(page, 'path', '/checkout').click()
    await value(page, 'path', '/').click()
    await value(page, 'path', '/index.html').click({ modifiers: ['Alt'] })
    await expectMatching(page, (row) => ['/', '/checkout'].includes(row.path))
    await value(page, 'path', '/').click({ modifiers: ['Shift'] })
    await expectMatching(page, (row) => row.path === '/')
    assert.deepEqual(await terms(page), ['path = /'])
    await value(page, 'path', '/checkout').click()
    await panel(page, 'path').locator('tr', { hasText: '/checkout' }).hover()
    await panel(page, 'path').getByRole('button', { name: 'Only /checkout' }).click()
    await expectMatching(page, checkout)
    await value(page, 'path', '/').focus()
    await page.keyboard.press('Enter')
    await expectMatching(page, (row) => checkout(row) || row.path === '/')
    await page.keyboard.press('Shift+Enter')
    await expectMatching(page, (row) => row.path === '/')
    await page.keyboard.press('Alt+Enter')
    await expectMatching(page, (row) => row.path !== '/')
    await page.keyboard.press('Enter')
    await expectMatching(page, anyRow)
    await page.keyboard.press('u')
    await expectMatching(page, (row) => row.path !== '/')
    await clearView(page)
  },

  async 'a value that is named stays in sight, however rare it is; searched, and as CSV'(page) {
    const clients = Object.keys(countedIn('client', anyRow, Infinity))
    const rare = clients[clients.length - 1]
    await type(page, `client = ${rare}`)
    await expectMatching(page, (row) => row.client === rare)
    const expected = { ...countedIn('client', anyRow), ...countedIn('client', (row) => row.client === rare) }
    assert.deepEqual(await shownIn(page, 'client'), expected)
    const client = panel(page, 'client')
    await client.getByRole('button', { name: /more/ }).click()
    await client.getByRole('searchbox').fill('203.0.113')
    const found = (row) => row.client.includes('203.0.113')
    await page.waitForFunction(
      (wanted) => document.querySelectorAll('[data-testid=panel-client] tbody tr').length === wanted,
      Object.keys(countedIn('client', found, Infinity)).length,
    )
    assert.deepEqual(await shownIn(page, 'client'), countedIn('client', found, Infinity))
    const one = Object.keys(countedIn('client', found))[0]
    await value(page, 'client', one).click()
    await expectMatching(page, (row) => [rare, one].includes(row.client))
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      client.getByRole('link', { name: /CSV/ }).click(),
    ])
    const csv = readFileSync(await download.path(), 'utf8')
    assert.equal(csv.trimEnd().split(/\r?\n/).length, clients.length + 1)
    await client.getByRole('button', { name: /first 10/ }).click()
    await clearView(page)
  },

  async 'two values chosen are compared side by side'(page) {
    await value(page, 'method', 'GET').click()
    await value(page, 'path', '/checkout').click()
    await value(page, 'path', '/').click()
    await expectMatching(page, (row) => get(row) && (checkout(row) || row.path === '/'))
    await panel(page, 'path').getByRole('button', { name: 'Compare these two' }).click()
    await at(page, 'comparison').waitFor()
    const side = async (name) => (await at(page, `compare-${name}`).textContent()).split(', ')
    const a = ['path = /checkout', matching((row) => get(row) && checkout(row))]
    const b = ['path = /', matching((row) => get(row) && row.path === '/')]
    const read = ([said, lines]) => [said, digits(lines)]
    assert.deepEqual([read(await side('a')), read(await side('b'))], [a, b])
    await accessible(page)
    await shoot(page, 'compare-values', { about: 'tool' })
    await page.getByRole('button', { name: 'swap' }).click()
    await answered(page)
    await page.waitForFunction(() =>
      /checkout/.test(document.querySelector('[data-testid=compare-b]').textContent),
    )
    await page.reload()
    await at(page, 'comparison').waitFor()
    await answered(page)
    assert.deepEqual([read(await side('a')), read(await side('b'))], [b, a])
    await clearView(page)
  },

  async 'and all that by keyboard'(page) {
    await page.keyboard.press('p')
    const first = await page.evaluate(() => document.activeElement.textContent.trim())
    await page.keyboard.press('ArrowDown')
    const second = await page.evaluate(() => document.activeElement.textContent.trim())
    assert.notEqual(first, second)
    await page.keyboard.press('Enter')
    await expectMatching(page, (row) => row.path === second)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
    await page.keyboard.press('p')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('-')
    await expectMatching(page, (row) => row.path !== first)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
    await page.keyboard.press('r')
    await expectMatching(page, (row) => row.path !== first)
    await page.keyboard.press('Control+z')
    await expectMatching(page, anyRow)
  },

  async 'chips: typed, completed, turned round, edited, removed, shared by the address'(page) {
    await page.keyboard.press('/')
    await page.keyboard.type('sta')
    await page
      .getByRole('listbox')
      .getByRole('option', { name: /^status\b/ })
      .first()
      .waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type('>= 400 and not bot')
    await page.keyboard.press('Enter')
    await expectMatching(page, (row) => refused(row) && !bot(row))
    assert.deepEqual(await terms(page), ['status >= 400', 'not bot'])
    await page.getByRole('button', { name: 'Turn round: not bot' }).click()
    await expectMatching(page, (row) => refused(row) && bot(row))
    await page.getByRole('button', { name: 'status >= 400', exact: true }).click()
    await at(page, 'filter-input').fill('status = 404 or class = 5xx')
    await page.keyboard.press('Enter')
    await expectMatching(page, (row) => bad(row) && bot(row))
    await page.reload()
    await at(page, 'filter').waitFor()
    await expectMatching(page, (row) => bad(row) && bot(row))
    await page.getByRole('button', { name: 'Remove filter: bot' }).click()
    await expectMatching(page, bad)
    await clearView(page)
  },

  async 'a filter that is none says where, and is mended in its place'(page) {
    await type(page, 'bot and status >= many')
    await at(page, 'filter-error').waitFor()
    assert.match(await at(page, 'filter-error').textContent(), /expected .* at column 11\b/s)
    assert.equal(await at(page, 'filter-input').inputValue(), 'status >= many')
    await accessible(page)
    await shoot(page, 'failed-filter')
    await at(page, 'filter-input').fill('status >= 500')
    await page.keyboard.press('Enter')
    await expectMatching(page, (row) => bot(row) && row.status >= 500)
    await clearView(page)
  },

  async 'the brush narrows everything; stacked by another field; the legend filters'(page) {
    await drag(page, 0.36, 0.44)
    await page.waitForFunction(() => /from=/.test(location.hash))
    const span = await spanOf(page)
    await expectMatching(page, anyRow, span)
    await at(page, 'stack').selectOption('method')
    await at(page, 'legend').getByRole('button', { name: /^GET/ }).waitFor()
    await accessible(page)
    await shoot(page, 'stacked')
    await at(page, 'legend').getByRole('button', { name: /^POST/ }).click()
    await expectMatching(page, post, span)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow, span)
    await at(page, 'legend').getByRole('button', { name: 'Without POST' }).click()
    await expectMatching(page, not(post), span)
    await page.keyboard.press('Escape')
    await expectMatching(page, not(post))
    await clearView(page)
  },

  async 'what is pressed around the bars can be hit: at least 24 pixels'(page) {
    await page.waitForFunction(() => document.querySelectorAll('[data-testid=unusual-span]').length > 0)
    for (const viewport of [laptop, telephone]) {
      await page.setViewportSize(viewport)
      await page.waitForTimeout(300)
      const small = await page.evaluate(() =>
        [
          ...document.querySelectorAll(
            '[data-testid=legend] button, [data-testid=unusual-marks] button, [data-testid=unusual] button, [data-testid=rejected] button, [data-testid=repaired] button',
          ),
        ].flatMap((button) => {
          const { width, height } = button.getBoundingClientRect()
          const said = `${button.ariaLabel ?? button.textContent.trim() ?? button.title}: ${width} × ${height}`
          return width >= 24 && height >= 24 ? [] : [said]
        }),
      )
      assert.deepEqual(small, [])
    }
    await page.setViewportSize(laptop)
    assert.ok((await at(page, 'unusual-marks').locator('button').count()) > 0)
    // Marks and legend do not lie over each other.
    const marks = await at(page, 'unusual-marks').locator('button').first().boundingBox()
    const legend = await at(page, 'legend').locator('button').first().boundingBox()
    assert.ok(marks.y + marks.height <= legend.y, `${marks.y + marks.height} and ${legend.y}`)
  },

  async 'hover says the bucket'(page) {
    const box = await at(page, 'histogram').locator('.u-over').boundingBox()
    await page.mouse.move(box.x + box.width / 2, box.y + 50)
    await page.waitForFunction(() =>
      /requests, .*2xx/.test(document.querySelector('[data-testid=readout]').textContent),
    )
    await page.mouse.move(5, 5)
  },

  async 'a panel is searched, goes on, and gives its CSV'(page) {
    const client = panel(page, 'client')
    await client.getByRole('button', { name: /more/ }).click()
    await page.waitForFunction(
      () => document.querySelectorAll('[data-testid=panel-client] tbody tr').length === 50,
    )
    await client.getByRole('searchbox').fill('203.0.113')
    await page.waitForFunction(
      () => document.querySelectorAll('[data-testid=panel-client] tbody tr').length === 4,
    )
    await accessible(page)
    await shoot(page, 'searching', { about: 'panel-client' })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      client.getByRole('link', { name: /CSV/ }).click(),
    ])
    const csv = readFileSync(await download.path(), 'utf8')
    const clients = new Set(rows.filter((row) => !row.rejected).map((row) => row.client))
    assert.equal(csv.trimEnd().split(/\r?\n/).length, clients.size + 1)
    await client.getByRole('button', { name: /first 10/ }).click()
  },

  async 'outcomes, people and bots are filters'(page) {
    await at(page, 'rejected').getByRole('button', { name: /only/ }).click()
    await expectMatching(page, (row) => row.rejected)
    await page.waitForFunction(
      () => /GET/.test(document.querySelector('[data-testid=grid]').textContent) === false,
    )
    await accessible(page)
    await shoot(page, 'rejected')
    await at(page, 'rejected').getByRole('button', { name: /only/ }).click()
    await at(page, 'bots').getByRole('button').click()
    await expectMatching(page, bot)
    await at(page, 'people').getByRole('button').click()
    await expectMatching(page, () => false)
    assert.match(await at(page, 'lines-range').textContent(), /none in this view/)
    await accessible(page)
    await clearView(page)
  },

  async 'heatmaps are walked through and filter'(page) {
    await at(page, 'week').focus()
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight')
    const said = await panel(page, 'week').locator('[aria-live]').textContent()
    assert.match(said, /^Sunday, 03:00 to 04:00: [\d,]+ requests?$/)
    await page.keyboard.press('Enter')
    await expectMatching(page, sundayAtThree)
    assert.equal(digits(said.split(': ')[1]), matching(sundayAtThree))
    await page.keyboard.press('u')
    await at(page, 'latency').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('t')
    await panel(page, 'latency').locator('table').waitFor()
    await accessible(page)
    await page.keyboard.press('t')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => /request_time/.test(decodeURIComponent(location.hash)))
    await settled(page)
    assert.ok(digits(await at(page, 'matching').textContent()) > 0)
    await clearView(page)
  },

  async 'the heatmap has the axis of the bars, in any width'(page) {
    for (const width of [380, 720, 1280, 1600]) {
      await page.setViewportSize({ width, height: 900 })
      await page.waitForTimeout(300)
      const [bars, cells] = await Promise.all([
        at(page, 'histogram').locator('.u-over').boundingBox(),
        at(page, 'latency').locator('canvas').boundingBox(),
      ])
      assert.ok(Math.abs(bars.x - cells.x) <= 1, `${width}: left at ${bars.x} and ${cells.x}`)
      assert.ok(Math.abs(bars.width - cells.width) <= 1, `${width}: ${bars.width} and ${cells.width} wide`)
      // Above each other is the same time.
      const time = (text) => text.trim().split(',')[0]
      for (const hour of [7, 112, 168, 248, 329]) {
        // Half an hour after the edge of any bar.
        const part = (hour + 0.5) / (14 * 24)
        await at(page, 'histogram').scrollIntoViewIfNeeded()
        const over = await at(page, 'histogram').locator('.u-over').boundingBox()
        await page.mouse.move(over.x + over.width * part, over.y + over.height / 2)
        await page.locator('[data-testid=readout].pointed').waitFor()
        const barTime = time(await at(page, 'readout').textContent())
        await at(page, 'latency').scrollIntoViewIfNeeded()
        const canvas = await at(page, 'latency').locator('canvas').boundingBox()
        await page.mouse.move(canvas.x + canvas.width * part, canvas.y + canvas.height / 2)
        await panel(page, 'latency').locator('.readout.pointed').waitFor()
        const cellTime = time(await panel(page, 'latency').locator('.readout').textContent())
        assert.equal(cellTime, barTime, `at ${part} of ${width} px`)
      }
    }
    await page.setViewportSize(laptop)
    await page.mouse.move(0, 0)
    assert.match(await at(page, 'scale-latency').textContent(), /1 .*[\d,]+ requests, logarithmic/)
  },

  async 'a single slow request is seen in either theme'(page) {
    const canvas = at(page, 'latency').locator('canvas')
    await canvas.scrollIntoViewIfNeeded()
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      await page.waitForTimeout(300)
      const low = await canvas.evaluate((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
        const colours = new Set()
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3] === 255) colours.add(`${data[i]}, ${data[i + 1]}, ${data[i + 2]}`)
        const probe = document.createElement('i')
        document.body.append(probe)
        probe.style.color = 'var(--heat-0)'
        const colour = getComputedStyle(probe).color
        probe.remove()
        return { has: colours.has(colour.slice(4, -1)), count: colours.size }
      })
      assert.ok(low.has, `the weakest colour is not drawn in ${colorScheme}`)
      assert.ok(low.count > 5, `${low.count} colours in ${colorScheme}`)
    }
    await page.emulateMedia({ colorScheme: 'light' })
  },

  async 'a box on the heatmap is explained, with every column inside and outside'(page) {
    await clearView(page)
    const compared = page.waitForRequest((request) => request.url().endsWith('/compare'))
    await drawBox(page, [0.371, '2 s'], [0.407, '5 s'])
    assert.equal((await compared).postDataJSON().rest, true)
    const { span, min, max, inside, meets } = await boxOf(page)
    assert.deepEqual([min, max], [2, Infinity])
    assert.ok(inside.length > 20, `${inside.length} rows`)
    await boxExplained(page, inside.length)
    const key = await at(page, 'paired').locator('.key').textContent()
    assert.equal(digits(key.split('outside')[1]), lineCount - inside.length)
    assert.match(await page.locator('[data-testid=tool] h2').textContent(), /request time 2 s and more/)
    // The time that chose them is no finding, and what was slow is.
    const findings = await at(page, 'findings').textContent()
    assert.match(findings, /\/checkout|500/)
    assert.doesNotMatch(findings, /request time|request_time/)
    const path = at(page, 'paired').getByRole('table', { name: 'Path' })
    const shares = await path
      .locator('tr', { has: page.getByText('/checkout', { exact: true }) })
      .locator('td')
      .allTextContents()
    const tables = at(page, 'paired').getByRole('table')
    const more = at(page, 'paired').getByRole('button', { name: /^All \d+ columns/ })
    if (await more.count()) await more.click()
    const titles = await tables.evaluateAll((all) => all.map((table) => table.getAttribute('aria-label')))
    assert.ok(titles.includes('Upstream time') && titles.includes('Response size'), titles.join())
    assert.ok(!titles.includes('Request time'), titles.join())
    const isIn = new Set(inside)
    const outside = rows.filter((row) => !isIn.has(row))
    const share = (all) => `${((100 * all.filter(checkout).length) / all.length).toFixed(1)} %`
    assert.deepEqual(
      shares.map((text) => text.trim().replace('100 %', '100.0 %')),
      [share(inside), share(outside)],
    )
    await at(page, 'box').waitFor()
    await accessible(page)
    await shoot(page, 'box', { about: 'panel-latency', large: true, full: true })
    const link = page.url()
    // A press on a value filters, and the box is then of what is left.
    await path.getByRole('button', { name: '/checkout' }).click()
    await expectMatching(page, checkout)
    await boxExplained(page, inside.filter(checkout).length)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
    await boxExplained(page, inside.length)
    // A link shows the same, and so do Back and Forward.
    await page.goto('about:blank')
    await page.goto(link)
    await boxExplained(page, inside.length)
    await at(page, 'box').waitFor()
    await page.getByRole('button', { name: 'Zoom to its time' }).click()
    await expectMatching(page, anyRow, span)
    await boxExplained(page, inside.length)
    const zoomed = digits((await at(page, 'paired').locator('.key').textContent()).split('outside')[1])
    assert.equal(zoomed, matching(anyRow, span) - inside.length)
    await page.goBack()
    await expectMatching(page, anyRow)
    await page.goForward()
    await expectMatching(page, anyRow, span)
    await page.getByRole('button', { name: 'Filter to the box' }).click()
    await expectMatching(page, meets, span)
    assert.deepEqual(await terms(page), ['request_time >= 2'])
    assert.equal(await at(page, 'tool').count(), 0)
    await page.goBack()
    await at(page, 'box').waitFor()
    await at(page, 'latency').focus()
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => !/ofield/.test(location.hash))
    assert.equal(await at(page, 'box').count(), 0)
    await clearView(page)
  },

  async 'a box by keyboard is heard, dropped and explained'(page) {
    const said = () => panel(page, 'latency').locator('[aria-live]').textContent()
    await at(page, 'latency').focus()
    await page.keyboard.press('End')
    for (let i = 0; i < 30; i++) await page.keyboard.press('Shift+ArrowUp')
    for (let i = 0; i < 4; i++) await page.keyboard.press('Shift+PageUp')
    assert.match(await said(), /^\d\d Mar 2025 .* – .*, 0 s and more, [\d,]+ of [\d,]+ requests$/)
    await page.keyboard.press('Escape')
    assert.equal(await said(), 'Box dropped.')
    await page.keyboard.press('Home')
    for (let i = 0; i < 30; i++) await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+End')
    const words = await said()
    const [part, all] = /, ([\d,]+) of ([\d,]+) requests$/.exec(words).slice(1).map(digits)
    assert.equal(all, rows.filter((row) => row.request_time !== null).length)
    await page.keyboard.press('Enter')
    const { inside } = await boxOf(page)
    assert.equal(inside.length, part)
    await boxExplained(page, inside.length)
    await accessible(page)
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => !/tool=/.test(location.hash))
    await clearView(page)
  },

  async 'a box without requests says so'(page) {
    await drawBox(page, [0.6, '5 s'], [0.62, '5 s'])
    assert.equal((await boxOf(page)).inside.length, 0)
    await at(page, 'nothing').waitFor()
    assert.match(await at(page, 'nothing').textContent(), /No request is in this box/)
    assert.equal(await at(page, 'paired').count(), 0)
    await accessible(page)
    await shoot(page, 'box-empty', { about: 'tool' })
    await page.getByRole('button', { name: /^Clear Esc/ }).click()
    await page.waitForFunction(() => !/tool=/.test(location.hash))
  },

  async 'a finger draws a box, and reduced motion changes nothing of it'(page) {
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await at(page, 'latency').scrollIntoViewIfNeeded()
    const [a, b] = [await heatPoint(page, 0.371, '2 s'), await heatPoint(page, 0.407, '5 s')]
    const session = await page.context().newCDPSession(page)
    const touch = (type, points) => session.send('Input.dispatchTouchEvent', { type, touchPoints: points })
    await touch('touchStart', [a])
    for (const part of [0.3, 0.6, 1])
      await touch('touchMove', [
        { x: a.x + (b.x - a.x) * part, y: a.y + (part === 0.3 ? 0 : (b.y - a.y) * part) },
      ])
    await touch('touchEnd', [])
    await session.detach()
    await page.waitForFunction(() => /ofield/.test(location.hash))
    const { inside } = await boxOf(page)
    assert.ok(inside.length > 20)
    await boxExplained(page, inside.length)
    await page.emulateMedia({ reducedMotion: null })
    await clearView(page)
  },

  async 'a box stays while lines arrive, and has all of them in the end'(page) {
    const before = page.url()
    wire.rate = 400_000
    await send(page, file)
    await page.waitForFunction((before) => location.href !== before, before)
    await page.waitForFunction(() =>
      /so far/.test(document.querySelector('[data-testid=filter]')?.textContent ?? ''),
    )
    await at(page, 'latency').waitFor()
    await at(page, 'latency').focus()
    await page.keyboard.press('x')
    for (const key of ['Home', 'Shift+ArrowUp', 'Shift+ArrowUp', 'Shift+PageDown', 'Shift+PageDown', 'Enter'])
      await page.keyboard.press(key)
    await page.waitForFunction(() => /ofield/.test(location.hash))
    await at(page, 'paired').waitFor()
    await accessible(page)
    await shoot(page, 'box-arriving', { about: 'panel-latency' })
    wire.mend()
    await state(page, 'finished')
    const { inside } = await boxOf(page)
    await boxExplained(page, inside.length)
    const id = await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('s'))
    await page.goto(before)
    await settled(page)
    await page.evaluate((id) => fetch(`/api/sessions/${id}`, { method: 'DELETE' }), id)
    await expectMatching(page, anyRow)
  },

  async 'the lines: scrolled to the end, opened, copied, pressed'(page) {
    const grid = at(page, 'grid')
    await grid.scrollIntoViewIfNeeded()
    await page.keyboard.press('v')
    await page.waitForFunction(() => !/·/.test(document.querySelector('[data-testid=grid]').textContent))
    await page.keyboard.press('End')
    const last = rows[rows.length - 1]
    await grid.getByText(last.client, { exact: true }).first().waitFor()
    assert.match(await at(page, 'lines-range').textContent(), /20,000 of 20,000/)
    await page.keyboard.press('Space')
    await at(page, 'line-detail').waitFor()
    assert.ok((await at(page, 'line-detail').textContent()).includes(last.line))
    assert.match(await at(page, 'rebuilt').textContent(), /^Rebuilt from its fields/)
    await accessible(page)
    await shoot(page, 'line', { about: 'line-detail' })
    await grid.focus()
    await page.keyboard.press('c')
    await page.getByText('Line copied.').waitFor({ state: 'attached' })
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), last.line)
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await page.waitForFunction(() => document.querySelector('#cell-0-1'))
    await page.keyboard.press('Enter')
    await expectMatching(page, (row) => row.client === rows[0].client)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
    await page.locator('#cell-1-4').click({ modifiers: ['Alt'] })
    await expectMatching(page, (row) => row.status !== rows[1].status)
    await clearView(page)
    await page.getByRole('button', { name: 'First first' }).click()
    await grid.getByText(last.client, { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Last first' }).click()
    await page.locator('summary', { hasText: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'took' }).check()
    await page.locator('summary', { hasText: 'Columns' }).press('Escape')
    await grid.getByRole('columnheader', { name: 'took' }).waitFor()
  },

  async 'the lines are sorted by any column; the address has it, and Back undoes it'(page) {
    await clearView(page)
    const grid = at(page, 'grid')
    await grid.scrollIntoViewIfNeeded()
    const head = (name) => grid.getByRole('columnheader', { name, exact: true })
    const shown = async (column, most = 12) => {
      await page.waitForFunction(() => !/·/.test(document.querySelector('[data-testid=grid]').textContent))
      const cells = await page.$$eval(`[id^=cell-][id$="-${column}"]`, (all) =>
        all.map((cell) => [Number(cell.id.split('-')[1]), cell.textContent]),
      )
      return cells
        .sort((a, b) => a[0] - b[0])
        .slice(0, most)
        .map(([, text]) => text)
    }
    const column = async (name) => {
      const heads = await grid.getByRole('columnheader').allTextContents()
      return heads.findIndex((text) => text.replace(/[▼▲]/g, '').trim() === name) - 1
    }
    const clients = await column('client')
    // Rejected lines have none, and come last.
    const compare = (a, b) => Number(a.client > b.client) - Number(a.client < b.client)
    const sorted = (direction) =>
      rows
        .map(({ client, rejected }, index) => ({ client, rejected, index }))
        .sort(
          (a, b) => Number(a.rejected) - Number(b.rejected) || direction * compare(a, b) || a.index - b.index,
        )
    await head('client').getByRole('button').click()
    await grid.locator('[aria-sort=descending]', { hasText: 'client' }).waitFor()
    assert.deepEqual(
      await shown(clients),
      sorted(-1)
        .slice(0, 12)
        .map(({ client }) => client),
    )
    assert.match(page.url(), /order=-client/)
    assert.match(
      await at(page, 'lines-range').textContent(),
      /of the first 10,000 of 20,000, by client, Z to A/,
    )
    await accessible(page)
    await shoot(page, 'sorted', { about: 'lines' })
    // Lines of the same client are in the order of the log.
    await grid.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Space')
    assert.equal(await at(page, 'line-detail').locator('.line').textContent(), rows[sorted(-1)[0].index].line)
    await page.keyboard.press('Escape')
    // By keyboard: above the first line are the heads.
    for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowLeft')
    for (let i = 0; i < clients; i++) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await grid.locator('[aria-sort=ascending]', { hasText: 'client' }).waitFor()
    assert.deepEqual(
      await shown(clients),
      sorted(1)
        .slice(0, 12)
        .map(({ client }) => client),
    )
    // The end of the order that is shown.
    await grid.focus()
    await page.keyboard.press('G')
    await page.locator('#cell-9999-0').waitFor()
    await page.waitForFunction(
      (text) => document.getElementById('cell-9999-1')?.textContent === text,
      sorted(1)[9999].client,
    )
    // A link has it, and Back undoes it.
    await page.reload()
    await settled(page)
    await grid.locator('[aria-sort=ascending]', { hasText: 'client' }).waitFor()
    await page.goBack()
    await grid.locator('[aria-sort=descending]', { hasText: 'client' }).waitFor()
    await page.goBack()
    await grid.locator('[aria-sort]').waitFor({ state: 'detached' })
    assert.deepEqual(
      await shown(clients),
      rows.slice(0, 12).map(({ client }) => client),
    )
    // Numbers, in a view: the largest first.
    await type(page, 'status = 404')
    await head('bytes').getByRole('button').click()
    await grid.locator('[aria-sort=descending]', { hasText: 'bytes' }).waitFor()
    const largest = select(rows, (row) => row.status === 404)
      .map((row, index) => ({ row, index }))
      .sort((a, b) => b.row.bytes - a.row.bytes || a.index - b.index)
    await grid.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Space')
    await page.waitForFunction(
      (line) => document.querySelector('[data-testid=line-detail] .line')?.textContent === line,
      largest[0].row.line,
    )
    await grid.focus()
    await page.keyboard.press('Escape')
    await clearView(page)
  },

  async 'around a line: its half minutes, and its client; Back is undo'(page) {
    const grid = at(page, 'grid')
    await grid.scrollIntoViewIfNeeded()
    await at(page, 'grid').focus()
    await page.keyboard.press('Home')
    for (let i = 0; i < 700; i += 100) await page.keyboard.press('PageDown')
    await page.keyboard.press('Space')
    await at(page, 'line-detail').waitFor()
    await page.waitForFunction(() => !/·/.test(document.querySelector('[data-testid=grid]').textContent))
    const line = await at(page, 'line-detail').locator('.line').textContent()
    const row = rows.find((row) => row.line === line)
    const near = (other) => other.time >= Math.floor(row.time) - 30 && other.time < Math.floor(row.time) + 31
    await at(page, 'line-detail').getByRole('button', { name: '± 30 s', exact: true }).click()
    await expectMatching(page, near)
    // The line is there, opened, in its place.
    await page.waitForFunction(
      (line) => document.querySelector('[data-testid=line-detail] .line')?.textContent === line,
      line,
    )
    const place = select(rows, near).findIndex((other) => other.line === line)
    assert.equal(await grid.getAttribute('aria-activedescendant'), `cell-${place}-0`)
    await shoot(page, 'around', { about: 'line-detail' })
    await at(page, 'line-detail').getByRole('button', { name: 'same client' }).click()
    await expectMatching(page, (other) => near(other) && other.client === row.client)
    await page.keyboard.press('u')
    await expectMatching(page, near)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
  },

  async 'lines are marked, found and copied as JSON; the address has the marks; wrapped'(page) {
    await clearView(page)
    const grid = at(page, 'grid')
    await grid.scrollIntoViewIfNeeded()
    await grid.focus()
    const isAt = (row) =>
      page.waitForFunction(
        (row) =>
          document
            .querySelector('[data-testid=grid]')
            .getAttribute('aria-activedescendant')
            .startsWith(`cell-${row}-`),
        row,
      )
    const loaded = () =>
      page.waitForFunction(() => !/·/.test(document.querySelector('[data-testid=grid]').textContent))
    await page.keyboard.press('Home')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await loaded()
    await page.keyboard.press('b')
    await page.getByText('Line marked.').waitFor({ state: 'attached' })
    await page.keyboard.press('End')
    await loaded()
    await page.keyboard.press('b')
    await page.waitForFunction(() => document.querySelector('[data-testid=marks]')?.textContent === '2 marks')
    assert.equal(await grid.locator('.row.marked').count(), 1)
    await page.keyboard.press(',')
    await isAt(2)
    await page.keyboard.press(',')
    await page.getByText('No marked line above.').waitFor({ state: 'attached' })
    // In another order and view they are the same lines.
    await page.keyboard.press('.')
    await isAt(rows.length - 1)
    await page.reload()
    await settled(page)
    await page.waitForFunction(() => document.querySelector('[data-testid=marks]')?.textContent === '2 marks')
    const { client } = rows[2]
    await type(page, `client = ${client}`)
    await grid.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('.')
    const own = select(rows, (row) => row.client === client)
    const second = own.indexOf(rows[2])
    if (second > 0) await isAt(second)
    await page.goBack()
    await settled(page)
    assert.equal(await at(page, 'marks').textContent(), '2 marks')
    await accessible(page)
    await shoot(page, 'marked', { about: 'lines' })
    await page.getByRole('button', { name: 'Remove all marks' }).click()
    await at(page, 'marks').waitFor({ state: 'detached' })

    // A text: forwards and backwards, and it stands out.
    await grid.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('h')
    await at(page, 'find-text').fill('CHECKOUT')
    await page.keyboard.press('Enter')
    const hits = rows
      .flatMap((row, index) => (/checkout/i.test(row.line) ? [index] : []))
      .filter((index) => index > 0)
    await isAt(hits[0])
    await page.keyboard.press('Escape')
    await page.keyboard.press('n')
    await isAt(hits[1])
    await page.keyboard.press('N')
    await isAt(hits[0])
    assert.equal(
      await grid.locator(`#cell-${hits[0]}-0`).locator('xpath=..').locator('mark').first().textContent(),
      'checkout',
    )
    await page.keyboard.press('Space')
    await at(page, 'line-detail').locator('.line mark').first().waitFor()
    await accessible(page)
    await shoot(page, 'found', { about: 'line-detail' })
    await grid.focus()
    await page.keyboard.press('C')
    await page.getByText('Copied as JSON.').waitFor({ state: 'attached' })
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
    assert.equal(copied.line, rows[hits[0]].line)
    assert.equal(copied.client, rows[hits[0]].client)
    assert.equal(copied.status, rows[hits[0]].status)
    await page.keyboard.press('Escape')
    await at(page, 'find-text').fill('')

    // Wrapped lines are whole, and the cursor stays in sight down to the last one.
    await grid.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('w')
    const cut = () =>
      page.$$eval(
        '.row:not(.head) .cell',
        (all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length,
      )
    await loaded()
    assert.equal(await cut(), 0)
    for (const key of ['PageDown', 'ArrowDown', 'PageDown', 'End', 'ArrowUp', 'PageUp', 'k']) {
      await page.keyboard.press(key)
      await loaded()
      await page.waitForFunction(() => {
        const grid = document.querySelector('[data-testid=grid]')
        const row = document.getElementById(grid.getAttribute('aria-activedescendant'))?.parentElement
        if (!row) return false
        const [inner, outer] = [row.getBoundingClientRect(), grid.getBoundingClientRect()]
        return inner.top >= outer.top && inner.bottom <= outer.bottom + 1
      })
    }
    await accessible(page)
    await shoot(page, 'wrapped', { about: 'lines' })
    await page.reload()
    await settled(page)
    assert.equal(await page.getByRole('button', { name: 'Wrap' }).getAttribute('aria-pressed'), 'true')
    await page.getByRole('button', { name: 'Wrap' }).click()
    assert.ok((await cut()) > 0)
  },

  async 'unusual spans are named unasked; a press on one zooms to it and explains it'(page) {
    await clearView(page)
    await page.evaluate(() => scrollTo(0, 0))
    await page.waitForFunction(() => document.querySelectorAll('[data-testid=unusual-span]').length === 3)
    const spans = at(page, 'unusual-span')
    const said = (await spans.allTextContents()).sort((a, b) => a.localeCompare(b))
    // The log is of one year, which need not be said.
    assert.match(said[0], /^08 Mar \d\d:.*\/checkout: errors \(500\), \d+ of \d+$/)
    assert.match(said[1], /^12 Mar \d\d:.*203\.0\.113\.0\/24: \d+ % of requests$/)
    assert.match(said[2], /^15 Mar \d\d:.*198\.51\.100\.7: \d+ % of requests$/)
    const marks = at(page, 'unusual-marks').locator('button')
    assert.equal(await marks.count(), 3)
    await accessible(page)
    await shoot(page, 'unusual', { about: 'unusual', large: true })
    await spans.filter({ hasText: '/checkout' }).click()
    await page.waitForFunction(() => /from=/.test(location.hash))
    await at(page, 'findings').waitFor()
    assert.match(await at(page, 'findings').textContent(), /\/checkout|500/)
    await accessible(page)
    await page.keyboard.press('Escape')
    await clearView(page)
    // A press on its mark along the axis does the same.
    await page.locator('[data-testid=unusual-marks] button[title*="198.51.100.7"]').click()
    await page.waitForFunction(() => /from=/.test(location.hash) && /tool=explain/.test(location.hash))
    // Until then it shows the answer before.
    await page.waitForFunction(() =>
      document.querySelector('[data-testid=findings]')?.textContent.includes('198.51.100.7'),
    )
    await page.keyboard.press('Escape')
    await clearView(page)
  },

  async 'explain: a broken deployment is the first find, and one press away'(page) {
    await page.evaluate(() => scrollTo(0, 0))
    await drag(page, 0.371, 0.407, { shift: true })
    await at(page, 'findings').waitFor()
    await answered(page)
    const first = at(page, 'findings').locator('tbody tr').first()
    assert.match(await at(page, 'findings').textContent(), /\/checkout|500/)
    assert.match(await first.textContent(), /×|only here/)

    // A sentence first, with the counts; how it was tested is a press away.
    const { from, to } = await selectedOf(page)
    const slow = (row) => row.request_time >= 2
    const [few, all] = [matching(slow, { from, to }), matching((row) => !row.rejected, { from, to })]
    const lead = (await at(page, 'lead').textContent()).trim()
    assert.match(
      lead,
      /^Between 08 Mar 2025 \d\d:\d\d and \d\d:\d\d, requests with a request time of at least 2/,
    )
    assert.ok(lead.includes(`only here: ${few} of ${all.toLocaleString('en-US')} (`), lead)
    assert.doesNotMatch(await at(page, 'tool').textContent(), /Ranked by/)
    const q = at(page, 'findings').getByRole('columnheader', { name: 'q', exact: true })
    assert.equal(await q.count(), 0)
    await accessible(page)
    await shoot(page, 'explain', { about: 'tool', large: true })
    await at(page, 'statistics').press('Enter')
    await q.waitFor()
    assert.match(await at(page, 'ranked-by').textContent(), /values and pairs compared in .* Ranked by G/)
    await accessible(page)
    await shoot(page, 'explain-statistics', { about: 'tool' })
    await at(page, 'statistics').press('Enter')
    await first.getByRole('button', { name: 'Only' }).click()
    await page.waitForFunction(() => /f=/.test(location.hash))
    await settled(page)
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
  },

  async 'explain: what goes together with a find is pressed as any value is, by keys too'(page) {
    await clearView(page)
    await page.evaluate(() => scrollTo(0, 0))
    await drag(page, 0.371, 0.407, { shift: true })
    await at(page, 'companions').first().waitFor()
    await answered(page)
    const with_ = at(page, 'companions').first()
    await with_.getByRole('button', { name: '/checkout', exact: true }).click()
    await expectMatching(page, checkout)
    assert.deepEqual(await terms(page), ['path = /checkout'])
    await page.keyboard.press('u')
    await expectMatching(page, anyRow)
    await answered(page)
    // One of them is in the tab order; arrow keys go from one to the next.
    const inOrder = at(page, 'findings').locator('.companion[tabindex="0"]')
    assert.equal(await inOrder.count(), 1)
    await inOrder.focus()
    await page.keyboard.press('Home')
    for (let step = 0; step < 8; step++) {
      if ((await page.locator(':focus').textContent()).trim() === '500') break
      await page.keyboard.press('ArrowDown')
    }
    assert.equal((await page.locator(':focus').textContent()).trim(), '500')
    await page.keyboard.press('-')
    await expectMatching(page, not(error500))
    assert.deepEqual(await terms(page), ['status != 500'])
    await clearView(page)
  },

  async 'explain on a phone: every number is on the screen'(page) {
    await page.evaluate(() => scrollTo(0, 0))
    await drag(page, 0.371, 0.407, { shift: true })
    await at(page, 'companions').first().waitFor()
    await answered(page)
    await at(page, 'statistics').click()
    await page.setViewportSize(telephone)
    for (const width of [telephone.width, 320]) {
      await page.setViewportSize({ width, height: 800 })
      await page.waitForFunction((width) => document.documentElement.scrollWidth <= width, width)
      const cells = await at(page, 'findings')
        .locator('tbody th, tbody td, button')
        .evaluateAll((all) =>
          all.map((cell) => {
            const { left, right } = cell.getBoundingClientRect()
            return { text: cell.textContent.trim(), left, right }
          }),
        )
      assert.ok(cells.length >= 9, `${cells.length} cells`)
      for (const { text, left, right } of cells)
        assert.ok(
          left >= 0 && right <= width && right > left,
          `${text} is from ${left} to ${right} of ${width}`,
        )
      const isWider = await page
        .getByRole('region', { name: 'Findings' })
        .evaluate((region) => region.scrollWidth > region.clientWidth)
      assert.ok(!isWider, `at ${width} px it scrolls sideways`)
    }
    await page.setViewportSize(telephone)
    await accessible(page)
    if (args.shots) {
      await at(page, 'tool').evaluate((node) => node.scrollIntoView({ block: 'start' }))
      await page.screenshot({ path: picture(args.shots, 'phone-explain') })
    }
    await page.setViewportSize(laptop)
    await clearView(page)
  },

  async 'explain: nothing stands out is said; by keyboard'(page) {
    await clearView(page)
    await page.keyboard.press('e')
    await at(page, 'ask-span').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('Home')
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+ArrowRight')
    await page.keyboard.press('x')
    await at(page, 'nothing').waitFor()
    await accessible(page)
    await shoot(page, 'nothing-stands-out', { about: 'tool' })
    await clearView(page)
  },

  async 'compare: this span beside the one before'(page) {
    await drag(page, 0.66, 0.7)
    await page.waitForFunction(() => /from=/.test(location.hash))
    await settled(page)
    await page.keyboard.press('c')
    await at(page, 'comparison').waitFor()
    assert.match(await at(page, 'comparison').textContent(), /203\.0\.113/)

    // B lies over the bars, by shares; the words and the table have its counts.
    await ghosted(page)
    const [a, other] = [await spanOf(page), await selectedOf(page)]
    const seconds = Number(await at(page, 'histogram').getAttribute('data-bucket-seconds'))
    const ofB = []
    for (let from = other.from; from < other.to; from += seconds)
      ofB.push(matching((row) => !row.rejected, { from, to: Math.min(from + seconds, other.to) }))
    const [all, allB] = [a, other].map((span) => matching((row) => !row.rejected, span))
    const said = await at(page, 'ghost-note').textContent()
    assert.ok(said.includes(`as if it had as many requests (× ${(all / allB).toPrecision(2)})`), said)
    await at(page, 'histogram').focus()
    await page.keyboard.press('t')
    const column = (name) =>
      at(page, 'buckets')
        .locator('table')
        .evaluate((table, name) => {
          const index = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === name)
          return [...table.tBodies[0].rows].map((row) => row.cells[index].textContent)
        }, name)
    assert.deepEqual(
      (await column('B')).map(digits).filter((hits) => hits > 0),
      ofB.filter((hits) => hits > 0),
    )
    const most = Math.max(...ofB)
    assert.ok((await column('share of B')).includes(`${((100 * most) / allB).toFixed(1)} %`))
    await page.keyboard.press('t')
    await page.keyboard.press('Home')
    const words = `B ${ofB[0].toLocaleString('en-US')}, ${((100 * ofB[0]) / allB).toFixed(1)} % of B`
    await page.locator('[aria-live=polite]', { hasText: words }).first().waitFor({ state: 'attached' })
    const svg = (await taken(page, page.getByRole('button', { name: 'SVG', exact: true }))).toString()
    assert.match(svg, />B, \d\d Mar 2025[^<]*over this view/)
    await accessible(page)
    await shoot(page, 'compare', { about: 'histogram', large: true })
    await shoot(page, 'compare-table', { about: 'tool' })
    const b = await at(page, 'compare-b').textContent()
    await page.getByRole('button', { name: 'a day before' }).click()
    await page.waitForFunction((b) => document.querySelector('[data-testid=compare-b]').textContent !== b, b)
    await ghosted(page)
    await page.getByRole('button', { name: 'swap' }).click()
    await settled(page)
    await ghosted(page)
    await at(page, 'histogram').focus()
    await page.keyboard.press('y')
    await page.locator('[data-testid=log-scale][aria-pressed=true]').waitFor()
    await ghosted(page)
    await fitsPhone(page)
    await clearView(page)
    await at(page, 'ghost-note').waitFor({ state: 'detached' })
  },

  async 'rates: what a limit would have refused'(page) {
    await page.keyboard.press('l')
    await at(page, 'rates').waitFor()
    await at(page, 'limit').fill('3')
    await page.keyboard.press('Enter')
    await at(page, 'blocked').waitFor()
    assert.match(await at(page, 'blocked').textContent(), /would have refused/)
    const minutes = new Map()
    for (const { client, time } of rows.filter((row) => !row.rejected)) {
      const key = `${client} ${Math.floor(time / 60)}`
      minutes.set(key, (minutes.get(key) ?? 0) + 1)
    }
    const peak = Math.max(...minutes.values())
    const highest = [...minutes].filter(([, count]) => count === peak).map(([key]) => key.split(' ')[0])
    const first = await at(page, 'rates').locator('tbody tr').first().textContent()
    assert.ok(
      highest.some((client) => first.includes(client)),
      `${first} is none of ${highest.join(', ')}`,
    )
    const refused = [...minutes.values()].reduce((sum, count) => sum + Math.max(0, count - 3), 0)
    assert.equal(digits(/refused ([\d,]+)/.exec(await at(page, 'blocked').textContent())[1]), refused)
    assert.match(page.url(), /limit=3/)
    await accessible(page)
    await shoot(page, 'rates', { about: 'tool' })
    await clearView(page)
  },

  async 'metrics: opened from a panel, sorted by errors; a value is a filter'(page) {
    await panel(page, 'path').getByRole('button', { name: 'Metrics of Path' }).click()
    await at(page, 'metrics').waitFor()
    const { y, height } = await at(page, 'metrics-field').boundingBox()
    assert.ok(y > 0 && y + height < laptop.height, `the tool is at ${y}`)
    await at(page, 'metrics').getByRole('button', { name: 'errors', exact: true }).click()
    await sortedBy(page, 'errors')

    const error = (row) => row.status >= 500
    const sound = rows.filter((row) => !row.rejected)
    const of = (path, meets = anyRow) => sound.filter((row) => row.path === path && meets(row))
    const paths = [...new Set(sound.map(({ path }) => path))]
    const worst = paths.sort((a, b) => of(b, error).length - of(a, error).length)[0]
    const first = await firstMetrics(page)
    assert.equal(first.Path, worst)
    assert.equal(digits(first.hits), of(worst).length)
    assert.equal(digits(first.errors), of(worst, error).length)
    const rate = (100 * of(worst, error).length) / of(worst).length
    assert.equal(first['error rate'], `${rate.toFixed(1)} %`)
    const took = quantiles(of(worst).map(({ request_time }) => request_time))
    const [number, unit] = first['p95 of request_time'].split(' ')
    const p95 = Number(number) / (unit === 'ms' ? 1000 : 1)
    assert.ok(Math.abs(p95 - took.p95) <= 0.03 * took.p95, `${p95} s, counted here ${took.p95} s`)
    const trends = at(page, 'metrics').getByRole('img', { name: /^most \d+ at 08 Mar 2025/ })
    assert.ok((await trends.count()) > 0)
    await accessible(page)
    await shoot(page, 'metrics', { about: 'tool', large: true })

    const value = (name) => at(page, 'metrics').getByRole('button', { name, exact: true })
    await value(worst).click()
    await expectMatching(page, (row) => row.path === worst)
    assert.deepEqual(await terms(page), [`path = ${worst}`])
    await page.waitForFunction(
      () => document.querySelector('[data-testid=metrics]').tBodies[0].rows.length === 1,
    )
    assert.equal(await value(worst).getAttribute('aria-pressed'), 'true')
    await page.goBack()
    await expectMatching(page, anyRow)
    await value('/index.html').click({ modifiers: ['Alt'] })
    await expectMatching(page, (row) => row.path !== '/index.html')
    await clearView(page)
  },

  async 'metrics: only the columns that are shown are asked for; the address has them; by keyboard'(page) {
    await page.keyboard.press('m')
    await at(page, 'metrics').waitFor()
    await at(page, 'metrics').getByRole('button', { name: 'p95 of request_time' }).press('Enter')
    await sortedBy(page, 'p95')
    const columns = at(page, 'tool').locator('summary', { hasText: 'Columns' })
    await columns.press('Enter')
    await page.getByRole('checkbox', { name: /^p99/ }).check()
    const [request] = await Promise.all([
      page.waitForRequest(
        (asked) => asked.url().endsWith('/breakdown') && !asked.postDataJSON().show.includes('clients'),
      ),
      page.getByRole('checkbox', { name: /^clients/ }).uncheck(),
    ])
    assert.ok(request.postDataJSON().show.includes('p99'))
    await answered(page)
    await accessible(page)
    await shoot(page, 'metrics-columns', { about: 'tool' })
    await columns.press('Escape')
    await at(page, 'metrics').getByRole('columnheader', { name: /^p99/ }).waitFor()
    await at(page, 'metrics-field').selectOption('client')
    await at(page, 'metrics').getByRole('columnheader', { name: 'Client', exact: true }).waitFor()
    await at(page, 'metrics-measure').selectOption('bytes')
    await at(page, 'metrics').getByRole('columnheader', { name: 'p99 of bytes' }).waitFor()
    assert.match(page.url(), /tool=metrics.*field=client&sort=p95&.*show=p99&.*measure=bytes/)
    assert.match(await at(page, 'metrics-others').textContent(), /none of these values/)
    const before = await firstMetrics(page)
    await page.reload()
    await at(page, 'metrics').waitFor()
    await sortedBy(page, 'p95')
    assert.deepEqual(await firstMetrics(page), before)

    await fitsPhone(page)
    await page.goBack()
    await at(page, 'metrics').getByRole('columnheader', { name: 'Path', exact: true }).waitFor()
    await page.keyboard.press('m')
    await at(page, 'tool').waitFor({ state: 'detached' })
    await clearView(page)
  },

  async 'a line over the bars: each has its error rate, quantile, bytes and clients, in any view'(page) {
    await at(page, 'lens').selectOption('error_rate')
    await lined(page, 'error rate')
    const line = await lineOf(page)
    assert.deepEqual(line.head, ['time', 'seconds', 'hits', 'error rate', 'error', 'exact'])
    expectLine(line, anyRow, {}, errorRate)
    assert.match(page.url(), /lens=error_rate/)
    await accessible(page)
    await shoot(page, 'lens-errors', { large: true })

    // By keyboard: the words of a bar, and the table, have the value.
    const worst = line.bars.reduce((a, b) => ((b.value ?? 0) > (a.value ?? 0) ? b : a))
    await at(page, 'histogram').focus()
    await page.keyboard.press('Home')
    for (let bar = line.bars.indexOf(worst); bar > 0; bar--) await page.keyboard.press('ArrowRight')
    const said = `error rate ${(100 * worst.value).toFixed(1)} %`
    await page.locator('[aria-live=polite]', { hasText: said }).first().waitFor({ state: 'attached' })
    await page.keyboard.press('t')
    await at(page, 'buckets').getByRole('columnheader', { name: 'error rate' }).waitFor()
    const cells = at(page, 'buckets').locator('tbody tr', { hasText: `${(100 * worst.value).toFixed(1)} %` })
    assert.ok((await cells.count()) > 0)
    await page.keyboard.press('t')

    await at(page, 'lens').selectOption('p95')
    await lined(page, 'p95 of request_time')
    const p95 = (inside) => quantiles(inside.map(({ request_time }) => request_time)).p95
    const quantile = await lineOf(page)
    assert.ok(quantile.bars[0].error > 0 && quantile.bars[0].error < 0.05)
    assert.match(await at(page, 'lens-note').textContent(), /right axis, ± 1\.6 %/)
    expectLine(quantile, anyRow, {}, p95)
    await drag(page, 0.3, 0.5)
    await settled(page)
    await lined(page, 'p95')
    const span = await spanOf(page)
    expectLine(await lineOf(page), anyRow, span, p95)
    await type(page, 'path = /checkout')
    await lined(page, 'p95')
    expectLine(await lineOf(page), checkout, {}, p95)
    await at(page, 'lens-measure').selectOption('bytes')
    await lined(page, 'p95 of bytes')
    assert.match(page.url(), /lens=p95&lensof=bytes/)
    await page.reload()
    await lined(page, 'p95 of bytes')
    await shoot(page, 'lens-bytes')

    await clearView(page)
    await page.keyboard.press('Escape')
    await settled(page)
    await at(page, 'lens').selectOption('clients')
    await lined(page, 'clients')
    expectLine(await lineOf(page), anyRow, {}, (inside) => new Set(inside.map(({ client }) => client)).size)
    await at(page, 'lens').selectOption('bytes')
    await lined(page, 'bytes')
    const sizes = (inside) => inside.map(({ bytes }) => bytes).filter((bytes) => bytes !== null)
    const sum = (inside) => (sizes(inside).length ? sizes(inside).reduce((a, b) => a + b, 0) : null)
    expectLine(await lineOf(page), anyRow, {}, sum)
    const svg = (await taken(page, page.getByRole('button', { name: 'SVG', exact: true }))).toString()
    assert.match(svg, /— bytes, right axis/)
    await fitsPhone(page)
    await at(page, 'lens').selectOption('')
    await at(page, 'lens-note').waitFor({ state: 'detached' })
    assert.doesNotMatch(page.url(), /lens=/)
    await clearView(page)
  },

  async 'bars by the logarithm of what they count: the words have the true numbers'(page) {
    await at(page, 'histogram').focus()
    await page.keyboard.press('Home')
    const words = () => page.locator('.readout .pointed').textContent()
    const before = await words()
    await page.keyboard.press('y')
    await page.locator('[data-testid=log-scale][aria-pressed=true]').waitFor()
    assert.equal(await words(), before)
    assert.match(page.url(), /scale=log/)
    assert.match(await page.locator('#histogram-title').textContent(), /log scale/)
    await accessible(page)
    await shoot(page, 'log-scale', { large: true })
    const svg = (await taken(page, page.getByRole('button', { name: 'SVG', exact: true }))).toString()
    assert.match(svg, />log<\/text>/)
    await page.reload()
    await page.locator('[data-testid=log-scale][aria-pressed=true]').click()
    await page.locator('[data-testid=log-scale][aria-pressed=false]').waitFor()
    assert.doesNotMatch(page.url(), /scale=log/)
    await clearView(page)
  },

  async 'the table of metrics can be taken away'(page) {
    await page.keyboard.press('m')
    await answered(page)
    const shown = await firstMetrics(page)
    const [head, first] = (await taken(page, at(page, 'metrics-csv'))).toString().split('\r\n')
    const names = head.split(',')
    const cell = (name) => first.split(',')[names.indexOf(name)]
    assert.equal(cell('path'), shown.Path)
    assert.equal(Number(cell('hits')), digits(shown.hits))
    assert.ok(
      ['measure', 'measure_error', 'clients_error', 'exact'].every((name) => names.includes(name)),
      head,
    )
    assert.equal(cell('exact'), 'true')
    const json = JSON.parse(await taken(page, at(page, 'metrics-json')))
    assert.equal(json.values[0].value, shown.Path)
    assert.ok(json.exact && json.measure_error > 0 && json.values[0].trend.length > 0)
    await page.locator('summary', { hasText: 'Export' }).click()
    await shoot(page, 'export-metrics')
    await page.locator('summary', { hasText: 'Export' }).press('Escape')
    await page.keyboard.press('m')
    await clearView(page)
  },

  async 'everything can be taken away'(page) {
    await type(page, 'status = 500')
    await expectMatching(page, error500)
    const take = (role, name) => taken(page, page.getByRole(role, { name, exact: true }))
    const wanted = matching(error500)
    assert.equal((await take('link', 'NDJSON')).toString().trimEnd().split('\n').length, wanted)
    assert.ok((await take('link', 'CSV')).toString().split(/\r?\n/).length > wanted)
    assert.equal((await take('link', 'Parquet')).subarray(0, 4).toString(), 'PAR1')
    assert.match((await take('link', 'One HTML file')).toString(), /<html|<!doctype html>/i)
    assert.equal((await take('button', 'PNG')).subarray(1, 4).toString(), 'PNG')
    const svg = (await take('button', 'SVG')).toString()
    assert.match(svg, /^<svg [^]*status = 500[^]*<\/svg>\s*$/)
    await page.locator('summary', { hasText: 'Export' }).click()
    await accessible(page)
    await shoot(page, 'export')
    const copied = async (name) => {
      await at(page, 'filter').getByRole('button', { name, exact: true }).click()
      await page.getByText(`${name} copied.`).waitFor()
      return page.evaluate(() => navigator.clipboard.readText())
    }
    if (server) {
      // The command says the same of the file as the page does.
      const command = (await copied('Command')).replace(/^rorqual logs /, '"$PROGRAM" logs --json ')
      const env = { ...process.env, PROGRAM: path.resolve(args.program) }
      const report = JSON.parse(
        execFileSync('sh', ['-c', command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] }),
      )
      assert.equal(report.lines.parsed, wanted)
      const query = (await copied('SQL')).replace(/^rorqual query /, '"$PROGRAM" query --to csv ')
      const csv = execFileSync('sh', ['-c', query], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
      assert.equal(csv.toString().trimEnd().split('\n').length, 1 + wanted)
    }
    const markdown = await copied('Markdown')
    assert.ok(
      markdown.includes(`${wanted.toLocaleString('en-US')} of 20,000`) && markdown.includes('`status = 500`'),
      markdown,
    )
    assert.match(await copied('curl'), /^curl -H "Authorization: Bearer \$RORQUAL_TOKEN" '.*export\?.*where=/)
    await page.locator('summary', { hasText: 'Export' }).press('Escape')
    await clearView(page)
  },

  async 'a view is saved under a name, and opened again'(page) {
    const sheet = at(page, 'saved-views')
    const menu = page.locator('summary', { hasText: 'Views' })
    const said = (words) => sheet.getByRole('status').filter({ hasText: words }).waitFor()
    await type(page, 'status = 500')
    await expectMatching(page, error500)
    await menu.focus()
    await page.keyboard.press('Enter')
    await sheet.getByText('None yet').waitFor()
    await accessible(page)
    await at(page, 'view-name').fill('Errors <500> & "ü"')
    await page.keyboard.press('Enter')
    await said('“Errors <500> & "ü"” is saved.')
    await sheet.getByText('status = 500').waitFor()
    // The same name takes its place.
    await sheet.getByRole('button', { name: 'Replace' }).click()
    await said('is saved.')
    assert.equal(await sheet.getByRole('listitem').count(), 1)
    await accessible(page)
    await shoot(page, 'saved-views')
    await page.keyboard.press('Escape')
    await clearView(page)
    await page.reload()
    await menu.click()
    await sheet.getByRole('button', { name: 'Errors <500> & "ü"', exact: false }).first().click()
    await expectMatching(page, error500)
    await menu.click()
    await sheet.getByRole('button', { name: 'Remove Errors' }).click()
    await said('is removed.')
    await sheet.getByText('None yet').waitFor()
    await sheet.getByRole('button', { name: 'Put it back' }).click()
    await said('is back.')
    await sheet.getByRole('button', { name: 'Remove Errors' }).click()
    await sheet.getByText('None yet').waitFor()
    // The sheet still has the focus, and the place of what was removed.
    await page.keyboard.press('Escape')
    await page.locator('summary:focus', { hasText: 'Views' }).waitFor()
    await clearView(page)
  },

  async 'the clock is that of the log or UTC'(page) {
    await page.getByRole('button', { name: 'UTC', exact: true }).click()
    await page.getByRole('button', { name: 'UTC+02:00' }).waitFor()
    assert.match(page.url(), /zone=log/)
    await page.keyboard.press('z')
    await page.getByRole('button', { name: 'UTC', exact: true }).waitFor()
  },

  async 'the keys are listed'(page) {
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await accessible(page)
    await shoot(page, 'keys')
    await page.keyboard.press('Escape')
  },

  async 'filters in a row: the newest wins, quickly'(page) {
    const times = []
    for (let i = 0; i < 12; i++) {
      await value(page, 'path', '/').click()
      await page.waitForFunction(
        (on) =>
          document.querySelector('[data-testid=filter]').dataset.settled === 'true' &&
          /f=/.test(location.hash) === on,
        i % 2 === 0,
      )
      times.push(Number(await at(page, 'filter').getAttribute('data-took-ms')))
    }
    times.sort((a, b) => a - b)
    console.log(`      from a press to the answer: median ${times[6]} ms, most ${times[11]} ms`)
    for (let i = 0; i < 9; i++) await value(page, 'path', '/').click({ delay: 0 })
    await expectMatching(page, (row) => row.path === '/')
    await clearView(page)
  },

  async 'a hundred million lines: the first, the last, and only what is visible is asked for'(page) {
    const total = 100_000_000
    let asked = 0
    await page.route('**/view', async (route) => {
      const response = await route.fetch()
      const view = await response.json()
      await route.fulfill({ response, json: { ...view, lines: { ...view.lines, matching: total } } })
    })
    await page.route('**/rows', async (route) => {
      asked++
      const { offset, limit } = route.request().postDataJSON()
      const made = Array.from({ length: Math.min(limit, total - offset) }, (_, index) => ({
        ...rows[0],
        row: offset + index,
        client: `line ${offset + index}`,
      }))
      const lines = { format: 'combined', unkept: [] }
      await route.fulfill({ json: { matching: total, offset, lines, sort: null, rows: made } })
    })
    await type(page, 'status >= 100')
    const grid = at(page, 'grid')
    await page.waitForFunction(() =>
      /of 100,000,000/.test(document.querySelector('[data-testid=lines-range]').textContent),
    )
    await page.keyboard.press('v')
    await grid.getByText('line 0', { exact: true }).waitFor()
    await page.keyboard.press('End')
    await grid.getByText(`line ${total - 1}`, { exact: true }).waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('PageUp')
    const first = async () => digits(/^\s*([\d,]+) to/.exec(await at(page, 'lines-range').textContent())[1])
    const before = await first()
    await grid.hover()
    await page.mouse.wheel(0, -280)
    await page.waitForTimeout(200)
    assert.equal(before - (await first()), 10)
    const asking = asked
    await grid.evaluate(async (element) => {
      for (let i = 0; i < 200; i++) {
        element.scrollTop = (element.scrollHeight * i) / 200
        await new Promise(requestAnimationFrame)
      }
    })
    await page.waitForTimeout(500)
    assert.ok(asked - asking < 20, `${asked - asking} requests for a thumb drawn over everything`)
    await page.unroute('**/view')
    await page.unroute('**/rows')
    await page.reload()
    await at(page, 'filter').waitFor()
    await clearView(page)
  },

  async 'nothing moves while filters come and go'(page) {
    const tops = () =>
      page.evaluate(() =>
        ['histogram', 'legend', 'panel-latency', 'panel-path', 'panel-status', 'panel-week', 'lines'].map(
          (id) =>
            Math.round(document.querySelector(`[data-testid=${id}]`).getBoundingClientRect().top + scrollY),
        ),
      )
    const before = await tops()
    for (const filter of ['status = 500', 'bot and not bot']) {
      await type(page, filter)
      await settled(page)
      await page.waitForTimeout(300)
      assert.deepEqual(await tops(), before, filter)
    }
    await clearView(page)
  },

  async 'nothing moves sideways on a phone'(page) {
    await page.setViewportSize({ width: 380, height: 800 })
    await page.waitForTimeout(300)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(wide <= 380, `the page is ${wide} px wide`)
    await accessible(page)
    await at(page, 'lines').scrollIntoViewIfNeeded()
    const heads = await at(page, 'lines').locator('[role=columnheader]').allTextContents()
    assert.deepEqual(heads.map((head) => head.trim()).slice(1, 4), ['time', 'status', 'path'])
    if (args.shots) {
      await drawAll(page, 'visible')
      await at(page, 'lines').locator('.row:not(.head) [role=gridcell]').nth(1).waitFor()
      await page.screenshot({ path: picture(args.shots, 'phone-lines') })
      await drawAll(page, '')
    }
    await page.evaluate(() => scrollTo(0, 0))
    await page.keyboard.press('/')
    if (args.shots) await page.screenshot({ path: picture(args.shots, 'phone-filter') })
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1280, height: 800 })
  },
}

const page = await open()
// The first but one sends the log that the others look at.
const chosen = Object.entries(steps).filter(
  ([name]) => name.includes(args.only) || name.startsWith('filters work'),
)
const failed = await run(
  chosen.map(([name, step]) => [name, () => step(page)]),
  {
    before: () => wire.mend(),
    failed: async (number) => {
      await tell(page, args.shots, number)
      await page.reload().catch(() => {})
      await clearView(page).catch(() => {})
    },
  },
)
await browser.close()
wire.close()
await server?.stop()
rmSync(folder, { recursive: true })
end('explore', chosen.length, failed, broken)
