// Drives the built page in Chromium against any server of docs/api.md and takes pictures of what it sees.
//   node test/smoke.mjs [--program PROGRAM | --base URL] [--only WORDS] [--shots DIR]
// PROGRAM is a rorqual to start, target/debug/rorqual by default; URL may be the one that `rorqual serve` prints, token and all.
// The browser reaches the server through a wire (wire.mjs) that can be slow or cut.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, clear, digits, send, state } from './browser.mjs'
import { text } from './log.mjs'
import { serve } from './serve.mjs'
import { end, run, tell } from './steps.mjs'
import { Wire } from './wire.mjs'

const args = options('base', 'program', 'only', 'shots', 'chromium')
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-smoke-'))
const lineCount = 60_000
const file = path.join(folder, 'access.log')
writeFileSync(file, text(lineCount))
// More than the kernel's socket buffers hold: a browser that leaves must not have sent it all.
const bigLineCount = 4 * lineCount
const big = path.join(folder, 'big.log')
writeFileSync(big, text(bigLineCount))
const other = path.join(folder, 'other.log')
writeFileSync(other, text(1000))
const odd = path.join(folder, 'odd.log')
writeFileSync(odd, 'one thing\nand another <b>thing</b>\n'.repeat(300))

const server = args.base ? null : await serve(args.program)
const base = args.base ?? server.base
const wire = await Wire.start()
const browser = await chromium.launch(args.chromium, wire)
const broken = []

const open = (options) => chromium.open(browser, base, broken, options)
const number = async (page, id) => digits(await at(page, id).first().textContent())

const shoot = (page, name) => chromium.shoot(page, args.shots, name)

/** So many lines are in the log: those that are counted, or where not all are kept what is said beside them. */
const inLog = (page, lines) =>
  page.waitForFunction((lines) => {
    const said = (id) => document.querySelector(`[data-testid=${id}]`)
    const text = (said('lines-log') ?? said('lines-total'))?.textContent ?? ''
    return Number(text.replace(/\D/g, '')) === lines
  }, lines)

const steps = {
  async 'an empty page says what happens'(page) {
    await clear(page)
    await page.goto('about:blank')
    await page.goto(base)
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.match(await page.textContent('main'), /wait, compressed, in a temporary file/)
    await accessible(page)
    await shoot(page, 'empty')
  },

  async 'the file that --open hands to the browser leads to the page'(page) {
    const lead = path.join(folder, 'lead.html')
    writeFileSync(lead, `<!doctype html><meta http-equiv="refresh" content="0;url=${base}">`)
    await page.context().clearCookies()
    await page.goto(`file://${lead}`)
    await page.waitForURL((url) => url.protocol === 'http:' && !url.search)
    await page.getByRole('heading', { level: 1 }).waitFor()
  },

  async 'a file arrives, live, to the end'(page) {
    wire.rate = 2_000_000
    await send(page, file)
    await state(page, 'receiving')
    await at(page, 'histogram').locator('canvas').waitFor()
    await page.waitForFunction(() => /so far/.test(document.querySelector('dl')?.textContent ?? ''))
    const early = await number(page, 'lines-total')
    await shoot(page, 'arriving')
    wire.mend()
    await state(page, 'finished')
    await page.waitForFunction(() => !/so far/.test(document.querySelector('dl')?.textContent ?? ''))
    await inLog(page, lineCount)
    assert.ok(early < lineCount)
    await accessible(page)
    await shoot(page, 'done')
  },

  async 'rejected lines show themselves as text'(page) {
    await at(page, 'rejected')
      .getByRole('button', { name: /why|hide/ })
      .click()
    await at(page, 'samples').waitFor()
    assert.ok((await at(page, 'samples').locator('tbody tr').count()) > 0)
    await accessible(page)
    await shoot(page, 'rejected')
    await at(page, 'rejected')
      .getByRole('button', { name: /why|hide/ })
      .click()
    await at(page, 'panel-path').getByRole('button', { name: /more/ }).click()
    assert.match(await at(page, 'panel-path').textContent(), /<script>alert\(1\)<\/script>/)
  },

  async 'drag zooms, Back and Escape come out'(page) {
    await page.evaluate(() => scrollTo(0, 0))
    const wide = Number(await at(page, 'histogram').getAttribute('data-bucket-seconds'))
    const box = await at(page, 'histogram').boundingBox()
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.65, box.y + 60, { steps: 4 })
    await page.mouse.up()
    await page.waitForFunction(
      (w) => Number(document.getElementById('histogram').dataset.bucketSeconds) < w,
      wide,
    )
    assert.match(page.url(), /from=\d+&to=\d+/)
    await shoot(page, 'zoomed')
    await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 60)
    await page.waitForFunction(
      (w) => Number(document.getElementById('histogram').dataset.bucketSeconds) === w,
      wide,
    )
    await page.goBack()
    await page.waitForFunction(
      (w) => Number(document.getElementById('histogram').dataset.bucketSeconds) < w,
      wide,
    )
    await page.goBack()
    await page.waitForFunction(
      (w) => Number(document.getElementById('histogram').dataset.bucketSeconds) === w,
      wide,
    )
    await page.goForward()
    assert.match(page.url(), /from=/)
    await page.reload()
    await at(page, 'histogram').locator('canvas').waitFor()
    assert.match(page.url(), /from=/)
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => !/from=/.test(location.hash))
  },

  async 'all of it by keyboard'(page) {
    await page.keyboard.press('g')
    await page.keyboard.press('Home')
    for (let i = 0; i < 5; i++) await page.keyboard.press('Shift+ArrowRight')
    const said = await page.locator('#histogram ~ [aria-live=polite]').textContent()
    assert.match(said, /requests/)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Shift+ArrowRight')
    await shoot(page, 'keyboard')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => /from=/.test(location.hash))
    await page.keyboard.press('t')
    await at(page, 'buckets').waitFor()
    await accessible(page)
    await shoot(page, 'table')
    await page.keyboard.press('t')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await accessible(page)
    await shoot(page, 'keys')
    await page.keyboard.press('Escape')
  },

  async 'zoomed in as far as it goes says so'(page) {
    await page.keyboard.press('g')
    for (let i = 0; i < 60 && !/finest/.test(await page.textContent('#histogram-title')); i++) {
      await page.keyboard.press('+')
      await page.waitForTimeout(50)
    }
    assert.match(await page.textContent('#histogram-title'), /the finest this session holds/)
    await shoot(page, 'finest')
    await page.keyboard.press('Escape')
  },

  async 'several files, one after another, each its own session'(page) {
    const first = page.url()
    await page.locator('#file').setInputFiles([file, other])
    await at(page, 'separate-logs').click()
    await page.waitForFunction((was) => location.href !== was, first)
    await state(page, 'finished')
    const second = page.url()
    await page.locator('header summary').first().click()
    await page.waitForFunction(() => document.querySelectorAll('[data-testid=sessions] li').length === 3)
    assert.equal(page.url(), second)
    await page.waitForFunction(() =>
      [...document.querySelectorAll('[data-testid=sessions] li')].every((li) =>
        /Finished/.test(li.textContent),
      ),
    )
    await shoot(page, 'sessions')
    await page.locator('[data-testid=sessions] .open', { hasText: 'other.log' }).click()
    await page.waitForFunction(() => document.title.startsWith('other.log'))
    await at(page, 'histogram').locator('canvas').waitFor()
    await inLog(page, 1000)
    await page.goBack()
    await page.waitForFunction(() => document.title.startsWith('access.log'))
    await at(page, 'histogram').locator('canvas').waitFor()
  },

  async 'a class can be left out, a panel opened'(page) {
    await at(page, 'legend').getByRole('button', { name: 'Without 2xx' }).click()
    await page.waitForFunction(() => /class/.test(location.hash))
    await shoot(page, 'hidden-2xx')
    await page.keyboard.press('u')
    await page.waitForFunction(() => !/class/.test(location.hash))
    await at(page, 'panel-client').getByRole('button', { name: /more/ }).click()
    await page.waitForFunction(
      () => document.querySelectorAll('[data-testid=panel-client] tbody tr').length > 10,
    )
  },

  async 'a reload in the middle is taken up by dropping the file again'(page) {
    await clear(page)
    await page.goto('about:blank')
    await page.goto(base)
    wire.rate = 1_000_000
    await send(page, big)
    await state(page, 'receiving')
    await at(page, 'lines-total').waitFor()
    await page.waitForTimeout(700)
    await page.reload()
    await state(page, 'interrupted')
    await accessible(page)
    await shoot(page, 'interrupted')
    assert.match(await at(page, 'notice').textContent(), /Connection lost at .* Drop the same file again/)
    wire.mend()
    const before = page.url()
    await send(page, big)
    await state(page, 'finished')
    assert.equal(page.url(), before)
    await inLog(page, bigLineCount)
  },

  async 'a lost connection goes on by itself'(page) {
    await clear(page)
    await page.goto('about:blank')
    await page.goto(base)
    wire.rate = 1_000_000
    await send(page, file)
    await state(page, 'receiving')
    await page.waitForTimeout(700)
    wire.cut()
    await state(page, 'interrupted')
    await shoot(page, 'lost')
    wire.mend()
    await state(page, 'finished')
    await inLog(page, lineCount)
  },

  async 'cancel keeps what was read'(page) {
    await clear(page)
    await page.goto('about:blank')
    await page.goto(base)
    wire.rate = 1_000_000
    await send(page, file)
    await state(page, 'receiving')
    await at(page, 'lines-total').waitFor()
    await at(page, 'cancel').click()
    await state(page, 'cancelled')
    assert.match(await at(page, 'notice').textContent(), /^Cancelled at .* of .*stays below/)
    assert.ok((await number(page, 'lines-total')) > 0)
    await shoot(page, 'cancelled')
  },

  async 'an unknown format shows its lines and takes a format'(page) {
    await send(page, odd)
    await at(page, 'error').waitFor()
    assert.match(await page.textContent('ol'), /<b>thing<\/b>/)
    await accessible(page)
    await shoot(page, 'failed')
    await page.fill('#format', '%h')
    await at(page, 'preview').waitFor()
    await accessible(page)
    await shoot(page, 'format')
    await page.getByRole('button', { name: 'Read it as this' }).click()
    await page.waitForFunction(
      () => !document.querySelector('[data-testid=error]') || !document.querySelector('#format')?.value,
    )
  },

  async 'a log is read again as another format, which is tried first'(page) {
    await clear(page)
    await page.goto('about:blank')
    await page.goto(base)
    await send(page, other)
    await state(page, 'finished')
    const format = at(page, 'format')
    assert.match(await format.textContent(), /combined/)
    await format.click()
    const dialog = at(page, 'read-as')
    await dialog.getByText('It was read as combined').waitFor()
    assert.equal(await dialog.getByRole('list', { name: 'First lines of the log' }).locator('li').count(), 10)
    // Escape leaves all as it was.
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await format.focus()
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Format', { exact: true }).fill('%h %l %u %t "%r" %>s %b "%{Referer}i"')
    await dialog.getByTestId('preview').getByText('referrer').first().waitFor()
    await accessible(page)
    await shoot(page, 'read-as')
    const before = page.url()
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    await page.waitForFunction((before) => location.href !== before, before)
    await state(page, 'finished')
    await page.waitForFunction(
      () => document.querySelector('[data-testid=format]')?.textContent.trim() === 'custom',
    )
    // It took the place of the first.
    const { sessions } = await page.evaluate(async () => (await fetch('/api/sessions')).json())
    assert.deepEqual(
      sessions.map(({ name }) => name),
      ['other.log'],
    )
    const size = page.viewportSize()
    await page.setViewportSize({ width: 380, height: 700 })
    await page.locator('summary').first().click()
    await page.getByRole('button', { name: 'Read it as another format' }).click()
    await dialog.getByText('It was read as custom').waitFor()
    await accessible(page)
    await shoot(page, 'read-as-phone')
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.setViewportSize(size)
  },

  async 'full is said, and told how to go on'(page) {
    await clear(page)
    const { sessions_max: max } = await page.evaluate(async () => (await fetch('/api/server')).json())
    for (let i = 0; i < max; i++)
      await page.evaluate(
        (i) =>
          fetch('/api/sessions', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ name: `other-${i}.log`, size: 5 }),
          }),
        i,
      )
    await page.goto('about:blank')
    await page.goto(base)
    await send(page, file)
    await page.locator('[data-testid=error][data-code=sessions_full]').waitFor()
    await shoot(page, 'full')
    await page.getByRole('button', { name: 'Close other-0.log' }).first().click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await state(page, 'finished')
    await clear(page)
  },

  async 'the sample'(page) {
    await page.goto('about:blank')
    await page.goto(Object.assign(new URL(base), { hash: 'new' }).href)
    await at(page, 'sample').click()
    await at(page, 'lines-total').waitFor()
    await shoot(page, 'sample')
    await clear(page)
  },
}

const page = await open()
const chosen = Object.entries(steps).filter(([name]) => name.includes(args.only))
const failed = await run(
  chosen.map(([name, step]) => [name, () => step(page)]),
  {
    before: () => wire.mend(),
    failed: async (number) => {
      await tell(page, args.shots, number)
      const said = await page.evaluate(async () => (await fetch('/api/sessions')).text()).catch(String)
      console.log(`      the server says: ${said}`)
    },
  },
)
await browser.close()
wire.close()
const code = server ? await server.stop() : 0
// A server that does not end well by Ctrl-C is a failure.
if (code !== 0) broken.push(`the server ended with ${code}`)
rmSync(folder, { recursive: true })
end('smoke', chosen.length, failed, broken)
