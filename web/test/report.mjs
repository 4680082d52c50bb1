// Opens the page of `rorqual logs --html` from a file in Chromium, as those do who were sent one.
//   node test/report.mjs --program PROGRAM [--shots DIR] [--chromium PATH]

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { options } from './args.mjs'
import { accessible, laptop, launch } from './browser.mjs'
import { text } from './log.mjs'
import { end, picture, run } from './steps.mjs'

const args = options('program', 'shots', 'chromium')
const lineCount = 20_000
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-report-'))
const log = path.join(folder, 'access.log')
writeFileSync(log, text(lineCount))
const file = path.join(folder, 'report.html')
execFileSync(args.program, ['logs', '--html', file, '--top', '20', log])

const browser = await launch(args.chromium)
const broken = []

async function open(options = {}) {
  const context = await browser.newContext({ viewport: laptop, ...options })
  const page = await context.newPage()
  page.on('pageerror', (error) => broken.push(`page error: ${error.message}`))
  page.on('console', (message) => broken.push(`console: ${message.text()}`))
  page.on('request', (request) => {
    if (!/^(file|data):/.test(request.url())) broken.push(`asked for ${request.url()}`)
  })
  await page.goto(pathToFileURL(file).href)
  return page
}

const panel = (page, field) => page.locator(`[data-field=${field}]`)
const column = (page, field, index) =>
  panel(page, field).evaluate(
    (section, index) => [...section.querySelector('tbody').rows].map((row) => row.cells[index].textContent),
    index,
  )
const numbers = async (page, field, index) =>
  (await column(page, field, index)).map((text) => Number(text.replaceAll(',', '')))
const heading = (page, field, name) => panel(page, field).getByRole('columnheader', { name })
const sorted = (list, sign) => [...list].sort((a, b) => sign * (a < b ? -1 : a > b ? 1 : 0))

const steps = {
  async 'the numbers are there, and log text is text'(page) {
    assert.match(await page.locator('.main dd').textContent(), /^20,000$/)
    assert.ok((await column(page, 'path', 0)).includes('/<script>alert(1)</script>'))
    assert.equal(await page.locator('script').count(), 1)
    const hits = await numbers(page, 'status', 2)
    const rejected = Number((await page.locator('dd.rejected').textContent()).replaceAll(',', ''))
    assert.equal(hits.reduce((sum, hit) => sum + hit, 0) + rejected, lineCount)
    assert.ok((await page.locator('.bars rect').count()) > 100)
  },

  async 'tables are sorted by mouse'(page) {
    const before = await numbers(page, 'path', 2)
    assert.deepEqual(before, sorted(before, -1))
    await heading(page, 'path', 'hits').getByRole('button').click()
    assert.deepEqual(await numbers(page, 'path', 2), sorted(before, 1))
    assert.equal(await heading(page, 'path', 'hits').getAttribute('aria-sort'), 'ascending')
    await heading(page, 'path', 'value').getByRole('button').click()
    const values = await column(page, 'path', 0)
    assert.deepEqual(values, sorted(values, 1))
    assert.equal(await heading(page, 'path', 'hits').getAttribute('aria-sort'), null)
  },

  async 'and by keyboard'(page) {
    const button = heading(page, 'client', 'bytes').getByRole('button')
    await button.focus()
    await page.keyboard.press('Enter')
    assert.equal(await heading(page, 'client', 'bytes').getAttribute('aria-sort'), 'descending')
    const bytes = await panel(page, 'client').evaluate((section) =>
      [...section.querySelector('tbody').rows].map((row) => Number(row.cells[3].dataset.n)),
    )
    assert.deepEqual(bytes, sorted(bytes, -1))
    await page.keyboard.press('Space')
    assert.equal(await heading(page, 'client', 'bytes').getAttribute('aria-sort'), 'ascending')
    assert.ok(await button.evaluate((button) => button === document.activeElement))
  },

  async 'a table is behind each plot'(page) {
    await page.locator('summary').first().focus()
    await page.keyboard.press('Enter')
    const table = page.getByRole('region', { name: 'Requests by time, as a table' })
    const rows = await table.locator('tbody tr').count()
    assert.equal(rows, await page.locator('.bars > g').count())
    await table.getByRole('button', { name: 'all' }).click()
    const all = await table.evaluate((region) =>
      [...region.querySelector('tbody').rows].map((row) => Number(row.cells[1].dataset.n)),
    )
    assert.deepEqual(all, sorted(all, -1))
    await page.locator('summary').nth(1).click()
    assert.equal(await page.locator('table.numbers tbody').nth(1).locator('td').count(), 7 * 24)
  },

  'axe finds nothing': accessible,

  async 'any width will do, in both themes'(page) {
    for (const width of [320, 380, 720, 1280, 3840])
      for (const colorScheme of ['light', 'dark']) {
        await page.setViewportSize({ width, height: width > 2000 ? 2000 : 800 })
        await page.emulateMedia({ colorScheme })
        const wide = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.ok(wide <= width, `${wide} px of ${width}`)
        const [ground] = await page.evaluate(() =>
          getComputedStyle(document.body).backgroundColor.match(/\d+/g),
        )
        assert.equal(Number(ground) < 128, colorScheme === 'dark')
        await shoot(page, `${width}-${colorScheme}`)
      }
  },

  async 'paper is light, and has the tables whole'() {
    const fresh = await open()
    await fresh.emulateMedia({ media: 'print', colorScheme: 'dark' })
    await fresh.setViewportSize({ width: 700, height: 1000 })
    assert.match(await fresh.evaluate(() => getComputedStyle(document.body).backgroundColor), /255, 255, 255/)
    const cut = await fresh.evaluate(() =>
      [...document.querySelectorAll('tr')].filter((row) => {
        const scroll = row.closest('.scroll')
        const whole = !scroll || getComputedStyle(scroll).overflow === 'visible'
        return !whole || !row.checkVisibility() || row.getBoundingClientRect().height < 8
      }),
    )
    assert.equal(cut.length, 0)
    await shoot(fresh, 'print')
    if (args.shots)
      await fresh.pdf({
        path: path.join(path.dirname(picture(args.shots, 'report')), 'report.pdf'),
        format: 'A4',
      })
    await fresh.context().close()
  },

  async 'it is all there without its script'() {
    const page = await open({ javaScriptEnabled: false })
    assert.equal(await page.getByRole('button').count(), 0)
    assert.equal(await page.locator('[data-field=path] tbody tr').count(), 17)
    await page.locator('summary').first().click()
    assert.ok(await page.locator('table.numbers').first().isVisible())
    await page.context().close()
  },
}

async function shoot(page, name) {
  if (!args.shots) return
  await page.screenshot({ path: picture(args.shots, `report-${name}`), fullPage: true })
}

const page = await open()
const all = Object.entries(steps)
const failed = await run(all.map(([name, step]) => [name, () => step(page)]))
await browser.close()
rmSync(folder, { recursive: true })
end('report', all.length, failed, broken)
