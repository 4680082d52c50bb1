// A log that somebody still writes, in Chromium: it is live, and its bars move on. And answers that are not exact.
//   node test/follow.mjs [--program PROGRAM] [--only WORDS] [--shots DIR] [--chromium PROGRAM]
// PROGRAM is a rorqual (target/debug/rorqual by default) that follows a file written here, of which everything is
// counted here too.

import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, digits, settled, state } from './browser.mjs'
import { timedLines } from './log.mjs'
import { anyRow, rowsOf, select } from './rows.mjs'
import { serve } from './serve.mjs'
import { end, picture, run, tell } from './steps.mjs'

const args = options('program', 'only', 'shots', 'chromium')
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-follow-'))
const file = path.join(folder, 'access.log')
const made = timedLines(20_000, { days: 1 })
const rows = []

/** So many lines more, written to the file. */
function write(count, put = appendFileSync) {
  const text = Array.from({ length: count }, () => `${made.next().value}\n`).join('')
  put(file, text)
  rows.push(...rowsOf(text, rows.length))
}

write(1000, writeFileSync)
const server = await serve(args.program, '--follow', file)
const browser = await chromium.launch(args.chromium)
const broken = []
const page = await chromium.open(browser, server.base, broken)

const number = async (id) => digits(await at(page, id).textContent())
const readout = () => at(page, 'readout').textContent()
const shoot = async (name) => args.shots && page.screenshot({ path: picture(args.shots, name) })

/** People, bots and those nobody knows are together what the bars have: all that is parsed. */
const expectKinds = () =>
  page.waitForFunction(() => {
    const digits = (text) => Number(text.replace(/\D/g, ''))
    const bars = /([\d,]+) requests?$/.exec(document.querySelector('[data-testid=readout]').textContent)
    const kinds = ['people', 'bots', 'unknown'].map((kind) =>
      document.querySelector(`[data-testid=${kind}] dd`),
    )
    return kinds.reduce((sum, kind) => sum + digits(kind.textContent), 0) === digits(bars[1])
  })

/** Bars out of sight are not drawn. */
const toBars = () => page.evaluate(() => scrollTo(0, 0))

/** The counts and the bars are those of all lines that were written, and that a filter means. */
async function expectWritten(meets = anyRow) {
  await toBars()
  const matching = select(rows, meets)
  const wanted = [matching.length, matching.length, matching.filter((row) => !row.rejected).length]
  const seen = () =>
    page.evaluate(() => {
      const digits = (id) =>
        document.querySelector(`[data-testid=${id}]`).textContent.replace(/,(?=\d{3})/g, '')
      const bars = /(\d+) requests?$/.exec(digits('readout'))?.[1]
      return [digits('lines-total'), digits('matching'), bars].map(Number)
    })
  const begun = Date.now()
  while (String(await seen()) !== String(wanted) && Date.now() - begun < chromium.patienceMs)
    await page.waitForTimeout(50)
  assert.deepEqual(await seen(), wanted, String(meets))
}

/** More lines are written, and there are more in the view, up to a later end of its bars. */
async function grows(meets) {
  await toBars()
  const before = [await number('matching'), await readout()]
  write(500)
  await page.waitForFunction(
    ([lines, bars]) =>
      Number(document.querySelector('[data-testid=matching]').textContent.replace(/\D/g, '')) > lines &&
      document.querySelector('[data-testid=readout]').textContent !== bars,
    before,
  )
  await expectWritten(meets)
}

/** Answers as they would be of another log, from the next line on. */
async function answers(change) {
  for (const verb of ['view', 'compare'])
    await page.route(`**/${verb}`, async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      await route.fulfill({ response, json: response.ok() ? { ...answer, ...change(answer) } : answer })
    })
  write(20)
}

/** The table of the bars has the clients of each as they are counted here. */
async function expectClients() {
  const seconds = Number(await at(page, 'histogram').getAttribute('data-bucket-seconds'))
  const clients = new Map()
  for (const { time, client } of select(rows, (row) => !row.rejected)) {
    const bucket = Math.floor(time / seconds)
    clients.set(bucket, (clients.get(bucket) ?? new Set()).add(client))
  }
  const counted = [...clients].sort(([a], [b]) => a - b).map(([, all]) => String(all.size))
  await page.waitForFunction(
    (counted) => {
      const rows = [...document.querySelectorAll('[data-testid=buckets] tbody tr')]
      return rows.map((row) => row.cells[2].textContent.replace(/\D/g, '')).join() === counted
    },
    counted.join(),
    { timeout: chromium.patienceMs },
  )
}

async function selectSpan() {
  await page.getByRole('button', { name: 'Select span' }).waitFor()
  const box = await at(page, 'histogram').locator('.u-over').boundingBox()
  await page.keyboard.down('Shift')
  await page.mouse.move(box.x + 100, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + 300, box.y + 40, { steps: 3 })
  await page.mouse.up()
  await page.keyboard.up('Shift')
  await page.mouse.move(5, 5)
}

const steps = {
  async 'it is live: no share of a whole, no time left, nothing said to be missing'() {
    await state(page, 'following')
    await settled(page)
    const header = await page.locator('header').first().innerText()
    assert.match(header, /Live/)
    assert.doesNotMatch(header, /left|%/)
    assert.equal(await page.getByRole('progressbar').count(), 0)
    assert.match(await page.title(), /^live – (.*\/)?access\.log/)
    assert.equal(await at(page, 'followed').count(), 0)
    await expectWritten()
    await shoot('follow-1280-light')
    await accessible(page)
  },

  async 'its numbers grow, and the end of its bars moves on'() {
    await grows(anyRow)
  },

  async 'under a filter too'() {
    await at(page, 'panel-method').getByRole('button', { name: 'GET', exact: true }).click()
    await page.waitForFunction(() => /f=/.test(location.hash))
    await settled(page)
    await grows((row) => row.method === 'GET')
    await page.keyboard.press('u')
    await settled(page)
    await expectWritten()
  },

  async 'the line over its bars moves on with them'() {
    await toBars()
    await at(page, 'lens').selectOption('clients')
    await at(page, 'histogram').press('t')
    await expectClients()
    write(500)
    await expectWritten()
    await expectClients()
    await shoot('line-1280-light')
    await at(page, 'histogram').press('t')
    await at(page, 'lens').selectOption('')
  },

  async 'what is not exact says so, and why; people, bots and those nobody knows add up'() {
    const hint = 'agents beyond the first 4 are …; --memory 2GiB has room for them'
    const none = { hits: 0, bytes: 0 }
    // The server has room for this log.
    await answers(({ bots }) => ({ exact: false, hint, ...(bots && { bots: none, unknown: bots }) }))
    await at(page, 'unknown').waitFor()
    assert.match(await at(page, 'hint').textContent(), /--memory 2GiB/)
    assert.match(await at(page, 'filter').textContent(), /≈/)
    await expectKinds()
    await page.keyboard.press('c')
    await selectSpan()
    await at(page, 'inexact').waitFor()
    assert.match(await at(page, 'inexact').textContent(), /≈ .*--memory 2GiB/)
    await accessible(page)
    await shoot('inexact-1280-light')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  },

  async 'what is exact and took longer says that alone'() {
    const hint = 'some rows are read back from a temporary file'
    await answers(() => ({ exact: true, hint }))
    await at(page, 'tool-hint').waitFor()
    await at(page, 'hint').getByText(hint, { exact: true }).waitFor()
    assert.equal(await at(page, 'tool-hint').textContent(), hint)
    assert.equal(await at(page, 'inexact').count(), 0)
    assert.doesNotMatch(await at(page, 'filter').textContent(), /≈/)
    await accessible(page)
    await shoot('slower-1280-light')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.keyboard.press('c')
  },

  async 'a file that is cut is read from its new start, and it is said'() {
    write(50, writeFileSync)
    await at(page, 'followed').waitFor()
    assert.match(await at(page, 'followed').textContent(), /was cut once .* what was counted before stays/)
    await expectWritten()
    await grows(anyRow)
    await accessible(page)
    await shoot('truncated-1280-light')
  },

  async 'it is followed until somebody says stop'() {
    await page.getByRole('button', { name: 'Stop' }).click()
    await state(page, 'cancelled')
    // The last lines are counted once more; none come after them.
    await expectWritten()
    await settled(page)
    const all = await number('lines-total')
    assert.equal(await number('matching'), all)
    write(50)
    await page.waitForTimeout(600)
    assert.deepEqual([await number('matching'), await number('lines-total')], [all, all])
  },
}

const chosen = Object.entries(steps).filter(([name]) => name.includes(args.only))
const failed = await run(chosen, { failed: (number) => tell(page, args.shots, number) })
await browser.close()
const code = await server.stop()
// A server that does not end well by Ctrl-C is a failure.
if (code !== 0) broken.push(`the server ended with ${code}`)
rmSync(folder, { recursive: true })
end('follow', chosen.length, failed, broken)
