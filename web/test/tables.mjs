// Drives the explorer of tables in Chromium: panels of columns, numbers, filters by odd names, rows, tools, keys.
//   node test/tables.mjs [--program PROGRAM] [--only WORDS] [--shots DIR]
// What is expected is counted here, from the rows that are written.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, digits, settled, shoot, state } from './browser.mjs'
import { serve } from './serve.mjs'
import { end, run, tell } from './steps.mjs'

const args = options('program', 'only', 'shots', 'chromium')
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-tables-'))
const first = Date.UTC(2026, 0, 27)
const levels = ['info', 'info', 'warn', 'error']
const rows = Array.from({ length: 6000 }, (_, n) => ({
  ts: new Date(first + n * 1000).toISOString(),
  level: levels[n % 4],
  took: (n % 1000) / 8,
  'full name': `user ${n % 7}`,
  id: `id-${n}`,
  where: { city: n % 10 === 0 ? null : `city ${n % 3}` },
  env: 'prod',
  ok: n % 3 === 0,
  tags: n % 5 === 0 ? ['slow', 'retry'] : ['plain'],
  msg: n % 4 === 3 ? `timeout of 10.0.0.${n % 250} after ${n} ms` : `served ${n} bytes`,
}))
/** No number of JavaScript's. */
const large = '9007199254740993'
const text = rows.map((row) => `${JSON.stringify(row).slice(0, -1)},"large":${large}}\n`).join('')
const json = path.join(folder, 'app.ndjson')
const parquet = path.join(folder, 'app.parquet')
const csv = path.join(folder, 'plain.csv')
writeFileSync(json, `${text}{"broken": \n`)
writeFileSync(path.join(folder, 'good.ndjson'), text)
execFileSync(args.program, ['convert', path.join(folder, 'good.ndjson'), '-o', parquet], { stdio: 'inherit' })
// Without a time.
writeFileSync(csv, `name,amount\n${rows.map((_, n) => `n${n % 5},${n}`).join('\n')}\n`)

// A log with a number that no field of the page is.
const lengths = Array.from({ length: 900 }, (_, n) => 100 + (n % 300))
const own = path.join(folder, 'own.log')
const request = (n) => ({
  time: new Date(first + n * 1000).toISOString(),
  remote_addr: `192.0.2.${n % 9}`,
  request: `GET /p${n % 4} HTTP/1.1`,
  status: 200,
  request_length: lengths[n],
})
writeFileSync(own, lengths.map((_, n) => `${JSON.stringify(request(n))}\n`).join(''))
// The rows inside one document.
const dump = path.join(folder, 'dump.json')
writeFileSync(dump, JSON.stringify({ page: 1, data: { items: rows.slice(0, 500) } }))

writeFileSync(path.join(folder, 'words.txt'), 'some words\nof a text\n'.repeat(50))

const server = await serve(args.program, json, parquet, csv, own, dump)
const browser = await chromium.launch(args.chromium)
const broken = []
let page

const count = (meets) => rows.filter(meets).length
const panel = (field) => at(page, `panel-${field}`)
const value = (field, name) => panel(field).getByRole('button', { name, exact: true })
const terms = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).getAll('f'))

const expectMatching = async (wanted) => {
  await settled(page)
  await chromium.expectMatching(page, wanted)
}

/** The session of a file, without a filter. */
async function show(name) {
  await page.evaluate(async (name) => {
    const { sessions } = await (await fetch('/api/sessions')).json()
    location.hash = `#s=${sessions.find((session) => session.name.endsWith(name)).id}`
  }, name)
  await state(page, 'finished')
  await settled(page)
}

async function filter(text) {
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await at(page, 'search').fill(text)
  await page.keyboard.press('Enter')
  // Taken once the server has said what it means.
  await page.waitForFunction(() => document.querySelector('[data-testid=search]').value === '')
}

const steps = [
  [
    'a table has panels of its columns, the telling ones first',
    async () => {
      await show('app.ndjson')
      await panel('level').waitFor()
      assert.equal(digits(await at(page, 'lines-total').textContent()), 6001)
      assert.equal(digits(await at(page, 'rejected').locator('dd').textContent()), 1)
      const fields = await page.$$eval('.panels section', (all) => all.map((one) => one.dataset.testid))
      assert.deepEqual(fields.slice(0, 4), ['panel-level', 'panel-pattern', 'number-ts', 'number-took'])
      // Another text in each row, and the same in all, are a line each.
      for (const folded of ['panel-id', 'panel-msg', 'panel-env', 'panel-_rest', 'number-large'])
        assert.ok(!fields.includes(folded), folded)
      const lines = await at(page, 'folded').getByRole('button').allTextContents()
      assert.equal(lines.length, 4, String(lines))
      assert.ok(
        lines.some((line) => /env\s+prod in all rows/.test(line)),
        String(lines),
      )
      assert.ok(
        lines.some((line) => /id\s+6,000 values in 6,000 rows/.test(line)),
        String(lines),
      )
      await at(page, 'folded').scrollIntoViewIfNeeded()
      await shoot(page, args.shots, 'table-folded')
      await page.evaluate(() => scrollTo(0, 0))
      await shoot(page, args.shots, 'table')
    },
  ],
  [
    'a press on a value, and on a number, leaves the rows that have it',
    async () => {
      await show('app.ndjson')
      await value('full name', 'user 3').click()
      await expectMatching(count((row) => row['full name'] === 'user 3'))
      assert.deepEqual(await terms(), ['"full name" = "user 3"'])
      const max = at(page, 'number-took').getByRole('button').last()
      assert.equal(await max.textContent(), '124.875')
      await max.click()
      await expectMatching(count((row) => row['full name'] === 'user 3' && row.took >= 124.875))
    },
  ],
  [
    'the other values of a chosen column stay, counted under the other filters',
    async () => {
      await show('app.ndjson')
      await filter('took < 10')
      await value('level', 'error').click()
      await value('level', 'warn').click()
      const meant = ({ level, took }) => took < 10 && ['error', 'warn'].includes(level)
      await expectMatching(count(meant))
      const hits = await panel('level')
        .locator('tbody tr')
        .evaluateAll((all) => all.map((row) => row.innerText.split(/\s+/).filter(Boolean)))
      const found = Object.fromEntries(hits.map((cells) => [cells[0], digits(cells[cells.length - 1])]))
      const of = (level) => count((row) => row.took < 10 && row.level === level)
      assert.deepEqual(found, { info: of('info'), error: of('error'), warn: of('warn') })
      await value('level', 'warn').click({ modifiers: ['Shift'] })
      await expectMatching(count((row) => row.took < 10 && row.level === 'warn'))
      assert.deepEqual(await terms(), ['took < 10', 'level = warn'])
    },
  ],
  [
    'a filter is typed with the names of the columns, which are completed; a wrong one is told',
    async () => {
      await show('app.ndjson')
      await filter('where.city = "city 1" and took < 10')
      await expectMatching(count((row) => row.where.city === 'city 1' && row.took < 10))
      await show('app.ndjson')
      await page.keyboard.press('/')
      await at(page, 'search').pressSequentially('fu')
      await at(page, 'completion').first().waitFor()
      assert.match(await at(page, 'completion').first().textContent(), /^"full name"/)
      await page.keyboard.press('Escape')
      await filter('nosuch = 1')
      await page
        .getByText(/expected a column/)
        .first()
        .waitFor()
      await show('app.ndjson')
    },
  ],
  [
    'the bars are rows over time, and are stacked by any column of texts',
    async () => {
      await show('app.ndjson')
      assert.match(await page.locator('#histogram-title').textContent(), /^\s*rows per/)
      assert.equal(await at(page, 'tool-rates').count(), 0)
      await at(page, 'stack').selectOption('level')
      await at(page, 'legend')
        .getByRole('button', { name: /^error/ })
        .waitFor()
      await at(page, 'legend')
        .getByRole('button', { name: /^error/ })
        .first()
        .click()
      await expectMatching(count((row) => row.level === 'error'))
      await shoot(page, args.shots, 'table-stacked')
    },
  ],
  [
    'rows are a table by mouse and by keyboard, and open as JSON',
    async () => {
      await show('app.ndjson')
      const grid = at(page, 'grid')
      await grid.scrollIntoViewIfNeeded()
      await grid.focus()
      await page.locator('#cell-0-1').filter({ hasText: 'info' }).waitFor()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      // The third row is a warning.
      await expectMatching(count((row) => row.level === 'warn'))
      await grid.focus()
      await page.keyboard.press(' ')
      const detail = at(page, 'line-detail')
      await detail.waitFor()
      assert.match(await detail.locator('.line').textContent(), /"full name":"user 2"/)
      await shoot(page, args.shots, 'table-row')
      await detail.getByRole('button', { name: 'user 2', exact: true }).click()
      const meant = count((row) => row.level === 'warn' && row['full name'] === 'user 2')
      await expectMatching(meant)
      await grid.focus()
      await page.keyboard.press(' ')
      await detail.getByRole('button', { name: large, exact: true }).click()
      await settled(page)
      assert.equal((await terms()).at(-1), `large = ${large}`)
      await expectMatching(meant)
    },
  ],
  [
    'rows are sorted by columns of numbers, times and texts, found and marked, on a phone too',
    async () => {
      await show('app.ndjson')
      const grid = at(page, 'grid')
      await grid.scrollIntoViewIfNeeded()
      const messages = async () => {
        const heads = await grid.getByRole('columnheader').allTextContents()
        const id = heads.findIndex((text) => text.replace(/[▼▲]/g, '').trim() === 'id') - 1
        await page.waitForFunction(() => !/·/.test(document.querySelector('[data-testid=grid]').textContent))
        const cells = await page.$$eval(`[id^=cell-][id$="-${id}"]`, (all) =>
          all.map((cell) => [Number(cell.id.split('-')[1]), cell.textContent]),
        )
        return cells
          .sort((a, b) => a[0] - b[0])
          .slice(0, 8)
          .map(([, text]) => text)
      }
      const sorted = (compare) =>
        rows.map((row, n) => ({ ...row, n })).toSorted((a, b) => compare(a, b) || a.n - b.n)
      const ids = (compare) =>
        sorted(compare)
          .slice(0, 8)
          .map(({ id }) => id)
      const press = async (name, order) => {
        await grid.getByRole('columnheader', { name, exact: true }).getByRole('button').click()
        await grid.locator(`[aria-sort=${order}]`, { hasText: name }).waitFor()
      }
      await press('took', 'descending')
      assert.deepEqual(
        await messages(),
        ids((a, b) => b.took - a.took),
      )
      assert.match(await at(page, 'lines-range').textContent(), /of 6,001, by took, largest first/)
      await press('took', 'ascending')
      assert.deepEqual(
        await messages(),
        ids((a, b) => a.took - b.took),
      )
      await press('full name', 'descending')
      const text = (a, b) => Number(a > b) - Number(a < b)
      assert.deepEqual(
        await messages(),
        ids((a, b) => text(b['full name'], a['full name'])),
      )
      await press('ts', 'descending')
      assert.deepEqual(
        await messages(),
        ids((a, b) => text(b.ts, a.ts)),
      )
      await shoot(page, args.shots, 'table-sorted')
      // In the order by time the next one with this text is the one before it.
      await grid.focus()
      await page.keyboard.press('Home')
      await page.keyboard.press('b')
      await page.keyboard.press('h')
      await page.keyboard.type('after 3987 MS')
      await page.keyboard.press('Enter')
      const place = sorted((a, b) => text(b.ts, a.ts)).findIndex(({ n }) => n === 3987)
      await page.waitForFunction(
        (place) =>
          document
            .querySelector('[data-testid=grid]')
            .getAttribute('aria-activedescendant')
            ?.startsWith(`cell-${place}-`),
        place,
      )
      await page.keyboard.press('Escape')
      await page.keyboard.press(' ')
      await at(page, 'line-detail').locator('mark').first().waitFor()
      await page.setViewportSize({ width: 360, height: 800 })
      await accessible(page)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= 360, `${wide} px`)
      await shoot(page, args.shots, 'table-sorted-phone')
      await page.setViewportSize(chromium.laptop)
      // Around it are its half minutes, in the order of the table.
      await at(page, 'line-detail').getByRole('button', { name: '± 30 s', exact: true }).click()
      await expectMatching(61)
      await grid.locator('[aria-sort]').waitFor({ state: 'detached' })
      await at(page, 'find-text').fill('')
    },
  ],
  [
    'a folded column is opened and folded again; columns are pinned, hidden and found; the address has it',
    async () => {
      await show('app.ndjson')
      await at(page, 'folded').getByRole('button', { name: /^id / }).click()
      await panel('id').waitFor()
      assert.match(page.url(), /open=id/)
      await panel('id').getByRole('button', { name: 'Fold id' }).click()
      await panel('id').waitFor({ state: 'detached' })
      await panel('full name').getByRole('button', { name: 'Pin full name' }).click()
      const first = () => page.$eval('.panels section', (one) => one.dataset.testid)
      await page.waitForFunction(
        () => document.querySelector('.panels section').dataset.testid === 'panel-full name',
      )
      await panel('level').getByRole('button', { name: 'Hide level' }).click()
      await panel('level').waitFor({ state: 'detached' })
      await shoot(page, args.shots, 'table-arranged')
      // Another page with this address shows the same.
      await page.reload()
      await settled(page)
      await panel('full name').waitFor()
      assert.equal(await first(), 'panel-full name')
      assert.equal(await panel('level').count(), 0)
      await page.keyboard.press('f')
      await page.keyboard.type('LEV')
      await panel('level').waitFor()
      assert.equal(await page.locator('.panels section').count(), 1)
      await shoot(page, args.shots, 'table-found')
      await accessible(page)
      await page.keyboard.press('Escape')
      await at(page, 'hidden').getByRole('button', { name: 'level', exact: true }).click()
      await panel('level').waitFor()
      await page.goBack()
      await panel('level').waitFor({ state: 'detached' })
    },
  ],
  [
    'a role is shown and changed; severities have their colours',
    async () => {
      await show('app.ndjson')
      await at(page, 'column-bar').getByText('All columns').click()
      const role = page.getByLabel('Role of level')
      assert.equal(await role.inputValue(), 'severity')
      assert.equal(await page.getByLabel('Role of took').inputValue(), 'duration')
      assert.equal(await page.getByLabel('Role of pattern').inputValue(), 'pattern')
      await shoot(page, args.shots, 'table-roles')
      await accessible(page)
      assert.match(await value('level', 'error').locator('xpath=..').getAttribute('class'), /c5/)
      await role.selectOption('none')
      await page.waitForFunction(() => location.hash.includes('role=level%3Anone'))
      assert.doesNotMatch(await value('level', 'error').locator('xpath=..').getAttribute('class'), /c5/)
      await page.keyboard.press('Escape')
    },
  ],
  [
    'a range of numbers is chosen over their bars, by dragging and by keys',
    async () => {
      await show('app.ndjson')
      const bars = at(page, 'bars-took')
      await bars.scrollIntoViewIfNeeded()
      const { x, y, width } = await bars.boundingBox()
      await page.mouse.move(x + width * 0.55, y + 30)
      await page.mouse.down()
      await page.mouse.move(x + width * 0.75, y + 30, { steps: 5 })
      await page.mouse.up()
      await settled(page)
      const bound = async () => {
        const numbers = (await terms()).map((term) => /^took (>=|<) ([\d.]+)$/.exec(term))
        assert.ok(numbers.every(Boolean), String(await terms()))
        const of = (mark) => Number(numbers.find(([, found]) => found === mark)?.[2] ?? NaN)
        return { from: of('>='), to: of('<') }
      }
      const { from, to } = await bound()
      assert.ok(from < to, `${from} ${to}`)
      await expectMatching(count(({ took }) => took >= from && took < to))
      // The rows beside the range stay, paler; and all of the bars are no range.
      const shown = await bars
        .locator('.bar')
        .evaluateAll((all) => all.map((bar) => bar.classList.contains('beside')))
      assert.ok(shown.includes(true) && shown.includes(false), String(shown))
      await shoot(page, args.shots, 'table-beside')
      const box = await bars.boundingBox()
      await page.mouse.move(box.x + 1, box.y + 30)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width - 1, box.y + 30, { steps: 5 })
      await page.mouse.up()
      await expectMatching(rows.length + 1)
      assert.deepEqual(await terms(), [])

      await show('app.ndjson')
      await bars.focus()
      await page.keyboard.press('Home')
      await page.keyboard.press('Shift+ArrowRight')
      await page.keyboard.press('Enter')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      const said = await at(page, 'said-took').textContent()
      await shoot(page, args.shots, 'table-range')
      await page.keyboard.press('Enter')
      await settled(page)
      const keyed = await bound()
      const meant = count(({ took }) => took >= keyed.from && took < keyed.to)
      await expectMatching(meant)
      // The bars said so before.
      assert.equal(digits(said.split(':')[1]), meant, said)
    },
  ],
  [
    "numbers of a log's own columns have bars and filters",
    async () => {
      await show('own.log')
      const number = at(page, 'number-request_length')
      await number.scrollIntoViewIfNeeded()
      assert.ok((await at(page, 'bars-request_length').locator('.bar').count()) > 3)
      const max = number.getByRole('button').last()
      assert.equal(await max.textContent(), '399 B')
      await max.click()
      await expectMatching(lengths.filter((length) => length >= 399).length)
      await accessible(page)
      await shoot(page, args.shots, 'own-number')
      // It stays where a filter leaves no line.
      await filter('status = 500')
      await expectMatching(0)
      await number.waitFor()
    },
  ],
  [
    'the rows inside a JSON document are shown, and the header names them',
    async () => {
      await show('dump.json')
      await panel('level').waitFor()
      await expectMatching(500)
      assert.match(await page.locator('header').first().textContent(), /JSON, rows of \$\.data\.items/)
      await shoot(page, args.shots, 'document')
    },
  ],
  [
    'patterns of messages are values; lists have elements; what is there is asked for',
    async () => {
      await show('app.ndjson')
      await value('pattern', 'timeout of <ip> after <num> ms').click()
      await expectMatching(count((row) => row.msg.startsWith('timeout')))
      await filter('tags has slow and where.city exists')
      await expectMatching(
        count((row) => row.msg.startsWith('timeout') && row.tags.includes('slow') && row.where.city !== null),
      )
    },
  ],
  [
    'the rows of the view are exported, and its page',
    async () => {
      await show('app.ndjson')
      await value('level', 'error').click()
      await expectMatching(count((row) => row.level === 'error'))
      await page.locator('summary', { hasText: 'Export' }).click()
      await shoot(page, args.shots, 'table-export')
      const href = (name) => page.getByRole('link', { name, exact: true }).first().getAttribute('href')
      const text = async (address) => (await page.request.get(new URL(address, page.url()).href)).text()
      const got = (await text(await href('NDJSON')))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const wanted = rows.filter((row) => row.level === 'error')
      assert.equal(got.length, wanted.length)
      assert.deepEqual(got[7].tags, wanted[7].tags)
      assert.equal(got[7].ok, wanted[7].ok)
      assert.match(await text(await href('One HTML file')), /rows that meet <code>level = error<\/code>/)
      await page.keyboard.press('Escape')
    },
  ],
  [
    'explain names what a filter has',
    async () => {
      await show('app.ndjson')
      await value('level', 'error').click()
      await expectMatching(count((row) => row.level === 'error'))
      await at(page, 'tool-explain').click()
      await at(page, 'findings').getByRole('row').nth(1).waitFor()
      assert.match(await at(page, 'findings').getByRole('row').nth(1).textContent(), /level\s+error/)
      await at(page, 'tool-explain').click()
    },
  ],
  [
    'metrics are of the numbers that are chosen',
    async () => {
      await show('app.ndjson')
      await panel('level').getByRole('button', { name: 'Metrics of level' }).click()
      const heads = () => at(page, 'metrics').getByRole('columnheader').allTextContents()
      await at(page, 'metrics').waitFor()
      assert.deepEqual(
        (await heads()).map((head) => head.replace(/[\s▼]+/g, ' ').trim()),
        ['level', 'hits', 'share', 'trend'],
      )
      await at(page, 'metrics-measure').selectOption('took')
      await at(page, 'metrics').getByRole('button', { name: 'max of took' }).click()
      await at(page, 'metrics').locator('th[aria-sort=descending]', { hasText: 'max' }).waitFor()
      // The rows that took longest.
      const most = Math.max(...rows.map(({ took }) => took))
      const first = at(page, 'metrics').locator('tbody tr').first()
      const { level } = rows.find(({ took }) => took === most)
      assert.equal(await first.getByRole('button').textContent(), level)
      assert.match(await first.textContent(), new RegExp(String(most)))
      await accessible(page)
      await shoot(page, args.shots, 'table-metrics')
      await first.getByRole('button').click()
      await expectMatching(count((row) => row.level === level))
    },
  ],
  [
    'Parquet is the same table',
    async () => {
      await show('app.parquet')
      await panel('level').waitFor()
      assert.equal(digits(await at(page, 'lines-total').textContent()), 6000)
      await value('level', 'warn').click()
      await expectMatching(count((row) => row.level === 'warn'))
    },
  ],
  [
    'a table without a time has no bars, and all the rest',
    async () => {
      await show('plain.csv')
      await panel('name').waitFor()
      await value('name', 'n2').click()
      await expectMatching(rows.filter((_, n) => n % 5 === 2).length)
      assert.equal(await at(page, 'number-amount').getByRole('button').last().textContent(), '5,997')
      assert.ok(await at(page, 'timeless').isVisible())
      assert.equal(await at(page, 'histogram').isVisible(), false)
      assert.equal(await at(page, 'panel-week').count(), 0)
      await shoot(page, args.shots, 'table-no-time')
    },
  ],
  [
    'a table is dropped, in any format, and is the same as the one that was opened',
    async () => {
      for (const [name, lines] of [
        ['good.ndjson', 6000],
        ['plain.csv', 6000],
        ['app.parquet', 6000],
      ]) {
        const before = page.url()
        await page.locator('#file').setInputFiles(path.join(folder, name))
        await page.waitForFunction((was) => location.href !== was, before)
        await state(page, 'finished')
        await settled(page)
        assert.equal(digits(await at(page, 'lines-total').textContent()), lines, name)
        if (name === 'plain.csv') {
          await value('name', 'n2').click()
          await expectMatching(1200)
        } else {
          await value('level', 'warn').click()
          await expectMatching(count((row) => row.level === 'warn'))
        }
      }
      await shoot(page, args.shots, 'table-dropped')
      const before = page.url()
      await page.locator('#file').setInputFiles(path.join(folder, 'words.txt'))
      await page.waitForFunction((was) => location.href !== was, before)
      await page.getByRole('heading', { name: 'Its first lines' }).waitFor()
      await shoot(page, args.shots, 'table-unknown')
    },
  ],
  [
    'axe finds nothing, wide and narrow',
    async () => {
      await show('app.ndjson')
      await accessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      await accessible(page)
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize({ width: 380, height: 800 })
      await accessible(page)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= 380, `${wide} px`)
      await page.setViewportSize(chromium.laptop)
    },
  ],
]

page = await chromium.open(browser, server.base, broken)
const failed = await run(
  steps.filter(([name]) => name.includes(args.only)),
  { failed: (number) => tell(page, args.shots, number) },
)
await browser.close()
await server.stop()
rmSync(folder, { recursive: true })
end('tables', steps.length, failed, broken)
