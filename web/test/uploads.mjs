// Uploads and what is about the server, in Chromium against a real rorqual: each transport, pause, a reload, a network that drops, a file that
// is cut, a proxy that keeps what it is sent, the server's vitals, the test of the connection.
//   node test/uploads.mjs --program PROGRAM [--only WORDS] [--shots DIR] [--nginx PROGRAM]

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, clear, digits, send, state } from './browser.mjs'
import { text } from './log.mjs'
import { proxy } from './nginx.mjs'
import { serve } from './serve.mjs'
import { end, run, tell } from './steps.mjs'
import { Wire } from './wire.mjs'

const args = options('program', 'only', 'shots', 'chromium', 'nginx')
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-uploads-'))
const lineCount = 60_000
const bigLineCount = 4 * lineCount
const file = path.join(folder, 'access.log')
writeFileSync(file, text(lineCount))
const big = path.join(folder, 'big.log')
const bigText = text(bigLineCount)
writeFileSync(big, bigText)
// Of the same name and size, and it begins with other bytes.
mkdirSync(path.join(folder, 'wrong'))
const wrong = path.join(folder, 'wrong', 'big.log')
writeFileSync(
  wrong,
  bigText.replace(/^\S+/, (client) => 'x'.repeat(client.length)),
)

// The same in three, as they are rotated; one is cut off in the middle.
const pieces = [0, 1, 2].map((number) => {
  const lines = bigText.split('\n').slice(0, -1)
  const [from, to] = [number * lineCount, number === 2 ? lines.length : (number + 1) * lineCount]
  return lines.slice(from, to).join('\n') + '\n'
})
const rotated = ['access.log', 'access.log.1', 'access.log.2.gz'].map((name) =>
  path.join(folder, 'wrong', name),
)
writeFileSync(rotated[0], pieces[2])
writeFileSync(rotated[1], pieces[1])
writeFileSync(rotated[2], gzipSync(pieces[0]))
for (const [age, name] of rotated.entries()) utimesSync(name, 2_000_000 - age, 2_000_000 - age)
const damaged = path.join(folder, 'damaged.log.gz')
writeFileSync(damaged, gzipSync(pieces[0]).subarray(0, 200_000))

const server = await serve(args.program)
const wire = await Wire.start()
const browser = await chromium.launch(args.chromium, wire)
const broken = []
const shoot = (page, name) => chromium.shoot(page, args.shots, name)
const number = async (page, id) => digits(await at(page, id).first().textContent())

/** An empty page of a server without sessions, which sends by one way or by the best. */
async function fresh(page, way = 'auto', base = server.base) {
  await page.goto('about:blank')
  await page.goto(base)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await clear(page)
  await page.goto('about:blank')
  await page.goto(Object.assign(new URL(base), { hash: `way=${way}` }).href)
  await page.getByRole('heading', { level: 1 }).waitFor()
  assert.ok(!page.url().includes('way='), 'a setting is no place')
}

/** Requests to an address of the server so far, as it counts itself. */
async function asked(page, end) {
  const metrics = await page.evaluate(async () => (await fetch('/metrics')).text())
  const lines = metrics.split('\n').filter((line) => line.startsWith('rorqual_http_requests_total'))
  const counts = lines.filter((line) => line.includes(`${end}"`)).map((line) => Number(line.split(' ').pop()))
  return counts.reduce((sum, count) => sum + count, 0)
}

const session = (page) => page.evaluate(async () => (await (await fetch('/api/sessions')).json()).sessions[0])

/** Asks the server until it says so. */
async function until(look) {
  const begun = Date.now()
  while (!(await look())) {
    if (Date.now() - begun > chromium.patienceMs) throw new Error(`never: ${look}`)
    await new Promise((go) => setTimeout(go, 50))
  }
}

/** Sends the big log slowly, until the server has begun to take it. */
async function begin(page, rate = 2_000_000, path = big) {
  wire.rate = rate
  await send(page, path)
  await state(page, 'receiving')
  await at(page, 'lines-total').waitFor()
}

async function whole(page, lines = bigLineCount) {
  await state(page, 'finished')
  await page.waitForFunction(
    (lines) =>
      Number(document.querySelector('[data-testid=lines-total]')?.textContent.replace(/\D/g, '')) === lines,
    lines,
  )
}

const steps = {
  async 'each way brings the same, and only that way'(page) {
    for (const [way, own, other] of [
      ['put', '/data', '/socket'],
      ['socket', '/socket', '/data'],
      ['auto', '/socket', '/data'], // Chromium's best
    ]) {
      await fresh(page, way)
      const before = [await asked(page, own), await asked(page, other)]
      await send(page, file)
      await whole(page, lineCount)
      assert.equal(await number(page, 'rejected'), 60, way)
      const after = [await asked(page, own), await asked(page, other)]
      assert.deepEqual([after[0] - before[0], after[1] - before[1]], [1, 0], way)
    }
  },

  async 'paused, nothing moves; resumed, nothing is missing'(page) {
    for (const way of ['socket', 'put']) {
      await fresh(page, way)
      await begin(page)
      await at(page, 'pause').click()
      await state(page, 'paused')
      assert.match(await at(page, 'notice').textContent(), /^Paused at .* goes on from there; .* 30 min/)
      // What was on its way may still be taken; then the session waits, and its offset stays.
      wire.rate = Infinity
      await until(async () => ['waiting', 'interrupted'].includes((await session(page)).state))
      const { offset } = await session(page)
      assert.ok(offset > 0 && offset < bigText.length, `${offset}`)
      if (way === 'socket') {
        await accessible(page)
        await shoot(page, 'paused')
      }
      assert.equal((await session(page)).offset, offset)
      await at(page, 'resume').click()
      await whole(page)
    }
  },

  async 'after a reload only the same file goes on, where it was'(page) {
    await fresh(page)
    await begin(page)
    await page.reload()
    await state(page, 'interrupted')
    wire.mend()
    const { id, offset } = await session(page)
    assert.ok(offset > 0)
    const choose = async (button, path) => {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button.click()])
      await chooser.setFiles(path)
    }
    await choose(at(page, 'resume'), wrong)
    const refusal = page.locator('[data-testid=error][data-code=other_file]')
    await refusal.waitFor()
    assert.match(
      await refusal.textContent(),
      /not the file that big\.log was begun with: it begins with other bytes/,
    )
    await accessible(page)
    await shoot(page, 'other-file')
    await choose(refusal.getByRole('button', { name: 'Choose another' }), file)
    await page.waitForFunction(() =>
      /its name is access\.log, not big\.log, and it has/.test(document.body.innerText),
    )
    assert.equal((await session(page)).offset, offset, 'nothing of a wrong file is sent')
    await choose(refusal.getByRole('button', { name: 'Choose another' }), big)
    await whole(page)
    assert.equal((await session(page)).id, id)
  },

  async 'a network that drops is waited for, and tried at once when asked'(page) {
    for (const way of ['socket', 'put']) {
      await fresh(page, way)
      await begin(page)
      wire.cut()
      await state(page, 'interrupted')
      await page.waitForFunction(() => /Trying again in \d+ s/.test(document.body.innerText))
      if (way === 'socket') await shoot(page, 'dropped')
      wire.mend()
      await at(page, 'resume').click()
      await whole(page)
    }
  },

  async 'a file that is cut while it is sent ends the upload with what it was and is'(page) {
    for (const way of ['socket', 'put']) {
      const cut = path.join(folder, 'cut.log')
      writeFileSync(cut, bigText)
      await fresh(page, way)
      await begin(page, 2_000_000, cut)
      truncateSync(cut, 1000)
      await at(page, 'error').waitFor()
      assert.match(
        await at(page, 'error').textContent(),
        /cut\.log changed while it was uploaded: was .* of \d{4}-.*, (is 1000 B|and can no longer be read)/,
      )
      if (way === 'socket') {
        await accessible(page)
        await shoot(page, 'changed')
      }
      wire.mend()
    }
  },

  async 'several files are one log, and after a reload the same files go on'(page) {
    await fresh(page)
    wire.rate = 2_000_000
    await send(page, rotated)
    const dialog = at(page, 'together')
    await dialog.waitFor()
    assert.match(await dialog.textContent(), /3 files, .*access\.log\.2\.gz/s)
    await accessible(page)
    await shoot(page, 'together')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    assert.equal(await session(page), undefined, 'nothing is sent')
    await send(page, rotated)
    // The button has the focus.
    await page.keyboard.press('Enter')
    await state(page, 'receiving')
    await at(page, 'lines-total').waitFor()
    await page.waitForFunction(() => /file \d of 3: access/.test(document.body.innerText))
    await page.reload()
    await state(page, 'interrupted')
    const { id, offset } = await session(page)
    assert.ok(offset > 0)
    wire.mend()
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), at(page, 'resume').click()])
    await chooser.setFiles(rotated)
    await whole(page, bigLineCount)
    const now = await session(page)
    assert.equal(now.id, id)
    assert.deepEqual(now.files, { count: 3, read: 3, failed: 0, current: null })
    assert.equal(now.name, 'access.log and 2 more')
    const panel = at(page, 'panel-file')
    await panel.waitFor()
    const rows = await panel.locator('tbody tr').allTextContents()
    assert.equal(rows.length, 3)
    await page.locator('[role=columnheader]', { hasText: 'file' }).waitFor()
    await shoot(page, 'one-log')
    // One press shows one file.
    await panel
      .getByRole('button', { name: /access\.log\.1/ })
      .first()
      .click()
    await page.waitForFunction(() => /file/.test(decodeURIComponent(location.hash)))
    // Those that can't be read are of a file, too.
    await page.waitForFunction(
      (lines) =>
        Number(document.querySelector('[data-testid=matching]')?.textContent.replace(/\D/g, '')) === lines,
      lineCount,
    )
    await accessible(page)
  },

  async 'a folder is one log, and its files are told apart by their paths'(page) {
    await fresh(page)
    // As the browser has it of a folder that was dropped.
    await page.evaluate(
      (texts) => {
        const file = ([name, text]) => ({
          name,
          isDirectory: false,
          fullPath: `/logs/${name}`,
          file: (take) => take(new File([text], name, { lastModified: 1 })),
        })
        let given = false
        const folder = (name, content) => ({
          name,
          isDirectory: true,
          fullPath: `/${name}`,
          createReader: () => ({
            readEntries: (take) => {
              take(given ? [] : content)
              given = true
            },
          }),
        })
        const entry = folder('logs', texts.map(file))
        const item = { kind: 'file', webkitGetAsEntry: () => entry, getAsFileSystemHandle: async () => null }
        const event = new Event('drop', { bubbles: true, cancelable: true })
        Object.defineProperty(event, 'dataTransfer', {
          value: { types: ['Files'], items: [item], files: [] },
        })
        document.body.dispatchEvent(event)
      },
      Object.entries({ 'one.log': text(500), 'two.log': text(700), '.hidden': 'no log' }),
    )
    await at(page, 'together').waitFor()
    assert.match(await at(page, 'together').textContent(), /2 files, .*logs\/one\.log.*logs\/two\.log/s)
    await at(page, 'one-log').click()
    await whole(page, 1200)
    assert.equal((await session(page)).name, 'logs/two.log and 1 more')
    await at(page, 'panel-file').getByText('logs/one.log').first().waitFor()
  },

  async 'a file of several that is damaged is named, and the others are shown'(page) {
    await fresh(page)
    await send(page, [rotated[0], damaged])
    await at(page, 'one-log').click()
    await state(page, 'failed')
    assert.match(
      await at(page, 'error').first().textContent(),
      /1 of 2 files could not be read to the end.*damaged/s,
    )
    await at(page, 'panel-file').waitFor()
    await accessible(page)
    await shoot(page, 'one-damaged')
  },

  async 'a proxy that keeps uploads is noticed, and told how not to'(page) {
    const through = async (lines, way, look) => {
      const nginx = await proxy(args.nginx, server.base, lines)
      try {
        await fresh(page, way, nginx.base)
        wire.rate = 6_000_000
        await send(page, big)
        await look()
      } finally {
        wire.mend()
        await page.goto('about:blank')
        await nginx.stop()
      }
    }
    await through('', 'put', async () => {
      await at(page, 'proxy').waitFor()
      assert.match(await at(page, 'notice').textContent(), /nothing has reached the server yet/)
      assert.match(await at(page, 'proxy').textContent(), /proxy_request_buffering off;/)
      assert.equal((await session(page)).offset, 0)
      await accessible(page)
      await shoot(page, 'held-back')
      wire.mend()
      await whole(page)
    })
    const open = 'proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off;'
    let shown = false
    await through(open, 'put', async () => {
      await state(page, 'receiving')
      // As long as it would have taken to notice.
      await until(async () => (await session(page)).offset > 18_000_000)
      shown = await at(page, 'proxy').isVisible()
      wire.mend()
      await whole(page)
      shown ||= await at(page, 'proxy').isVisible()
    })
    assert.equal(shown, false)
    // It passes no upgrade on: the page takes the other way by itself.
    await through(open, 'auto', async () => {
      wire.mend()
      await whole(page)
      assert.equal(await at(page, 'proxy').isVisible(), false)
    })
    const upgrades = `${open} proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;`
    await through(upgrades, 'socket', async () => {
      wire.mend()
      await whole(page)
    })
  },

  async "the server's vitals are shown as they are"(page) {
    await fresh(page)
    await send(page, file)
    await whole(page, lineCount)
    await page.keyboard.press('s')
    await at(page, 'vitals').waitFor()
    assert.match(page.url(), /#vitals$/)
    await at(page, 'sessions-finished').getByText('1', { exact: true }).waitFor()
    const lines = page.locator('dt', { hasText: 'Lines parsed' }).locator('+ dd')
    const { lines_parsed: parsed } = await page.evaluate(async () => (await fetch('/api/vitals')).json())
    assert.equal(digits(await lines.textContent()), parsed)
    // A line needs a few looks.
    await page.waitForFunction(
      () => document.querySelector('.plots polyline')?.getAttribute('points').split(' ').length > 4,
    )
    await page.locator('.plots figure').first().focus()
    await page.keyboard.press('ArrowLeft')
    await page.waitForFunction(() =>
      /1 s ago: .*iB/.test(document.querySelector('.plots [aria-live]').textContent),
    )
    await page.keyboard.press('t')
    await page.getByRole('region', { name: 'Memory' }).locator('tbody tr').nth(3).waitFor()
    await accessible(page)
    await page.getByRole('button', { name: 'Line of Memory' }).click()
    await accessible(page)
    await shoot(page, 'vitals')
    await page.getByRole('button', { name: 'Back' }).click()
    await state(page, 'finished')
  },

  async 'the connection is tested by each way, and the way can be chosen'(page) {
    await fresh(page)
    await at(page, 'server').click()
    await page.getByRole('link', { name: 'Connection' }).click()
    await page.setInputFiles('#connection-file', big)
    await shoot(page, 'connection')
    await page.click('#connection-start')
    for (const way of ['put', 'socket']) {
      const row = page.locator(`[data-way=${way}][data-bytes-per-second]`)
      await row.waitFor()
      assert.equal(Number(await row.getAttribute('data-bytes')), bigText.length)
      assert.ok(Number(await row.getAttribute('data-bytes-per-second')) > 0)
    }
    assert.match(await page.locator('[data-way=socket]').textContent(), /used by this page/)
    await accessible(page)
    await shoot(page, 'connection-done')
    assert.deepEqual(
      await page.evaluate(async () => (await (await fetch('/api/sessions')).json()).sessions),
      [],
    )
    await page.getByRole('radio', { name: 'PUT' }).check()
    await page.reload()
    await page.getByRole('radio', { name: 'PUT', checked: true }).waitFor()
    assert.match(await page.locator('[data-way=put]').textContent(), /used by this page/)
    // Generated bytes, as far as the first figure.
    await page.click('#connection-start')
    const put = page.locator('[data-way=put][data-bytes-per-second]')
    await put.waitFor()
    assert.equal(Number(await put.getAttribute('data-bytes')), 256 << 20)
    // By keyboard: a click waits for frames, which a busy machine may not draw before the test is over. Where it is over
    // all the same, it begins once more.
    const stop = page.getByRole('button', { name: 'Stop' })
    const stopped = () =>
      stop.press('Enter', { timeout: 3000 }).then(
        () => true,
        () => false,
      )
    for (let tries = 0; !(await stopped()); tries++) {
      assert.ok(tries < 10, 'it was never stopped')
      await page.click('#connection-start')
    }
    await page.locator('#connection-start').waitFor()
    await page.getByRole('radio', { name: 'automatic' }).check()
  },

  async 'a server that is gone is said on its page'(page) {
    await page.goto(Object.assign(new URL(server.base), { hash: 'vitals' }).href)
    await at(page, 'vitals').waitFor()
    await page.locator('.plots polyline').first().waitFor({ state: 'attached' })
    wire.cut()
    await at(page, 'vitals-trouble').waitFor()
    assert.match(await at(page, 'vitals-trouble').textContent(), /does not answer.*last numbers/)
    wire.mend()
    await at(page, 'vitals-trouble').waitFor({ state: 'detached' })
  },
}

const page = await chromium.open(browser, server.base, broken)
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
const code = await server.stop()
if (code !== 0) broken.push(`the server ended with ${code}`)
rmSync(folder, { recursive: true })
end('uploads', chosen.length, failed, broken)
