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

writeFileSync(path.join(folder, 'words.txt'), 'some words\nof a text\n'.repeat(50))

const server = await serve(args.program, json, parquet, csv)
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
  await at(page, 'filter-input').fill(text)
  await page.keyboard.press('Escape')
  if ((await at(page, 'filter-input').count()) === 0) {
    await page.keyboard.press('/')
    await at(page, 'filter-input').fill(text)
  }
  await page.keyboard.press('Enter')
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
      assert.deepEqual(fields.slice(0, 3), ['panel-level', 'panel-full name', 'panel-where.city'])
      // Another text in each row tells least, before the flaws.
      assert.ok(fields.indexOf('panel-id') > fields.indexOf('number-took'), String(fields))
      assert.ok(!fields.includes('panel-_rest'), 'no row has one')
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
    'a filter is typed with the names of the columns, which are completed; a wrong one is told',
    async () => {
      await show('app.ndjson')
      await filter('where.city = "city 1" and took < 10')
      await expectMatching(count((row) => row.where.city === 'city 1' && row.took < 10))
      await show('app.ndjson')
      await page.keyboard.press('/')
      await at(page, 'filter-input').pressSequentially('fu')
      await page.getByRole('option').first().waitFor()
      assert.match(await page.getByRole('option').first().textContent(), /^"full name"/)
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
