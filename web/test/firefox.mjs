// The core path in a real Firefox: a file is chosen, bars, a filter, a zoom, Explain, the lines.
//   node --experimental-websocket test/firefox.mjs [--program PROGRAM] [--firefox PROGRAM] [--shots DIR]
// Without a program: against mock/server.mjs. What is expected is counted here, from the lines that are sent.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { rowOf } from '../mock/rows.mjs'
import { select } from '../mock/views.mjs'
import { Firefox } from './bidi.mjs'
import { timedText } from './log.mjs'
import { serve } from './serve.mjs'

const { values: args } = parseArgs({
  options: {
    program: { type: 'string' },
    firefox: { type: 'string', default: '/usr/bin/firefox-esr' },
    shots: { type: 'string' },
  },
})
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-firefox-test-'))
const file = path.join(folder, 'access.log')
const text = timedText(20_000)
writeFileSync(file, text)
const rows = text
  .trimEnd()
  .split('\n')
  .map((line, index) => rowOf(line, index + 1))

const server = await serve(args.program)
const firefox = await Firefox.launch(args.firefox)

const digits = (id) => firefox.read(`Number(${element(id)}.textContent.replace(/\\D/g, ''))`)
const element = (id) => `document.querySelector('[data-testid=${id}]')`
const settled = () => firefox.until(`${element('filter')}?.dataset.settled === 'true'`)
const span = () =>
  firefox.read(
    `Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([name]) => /^(from|to)$/.test(name)).map(([name, value]) => [name, Number(value)]))`,
  )

async function expectMatching(where, span = {}) {
  const wanted = select(rows, { ...span, where }).length
  await firefox
    .until(
      `${element('filter')}.dataset.settled === 'true' && ${element('matching')}.textContent.replace(/\\D/g, '') === '${wanted}'`,
    )
    .catch(() => {})
  assert.equal(await digits('matching'), wanted, where)
}

const steps = {
  async 'a file is chosen, and its bars show'() {
    await firefox.size(1280, 800)
    await firefox.open(server.base)
    await firefox.until(`document.querySelector('h1')`)
    await firefox.choose('#file', [file])
    await firefox.until(`${element('state')}?.dataset.state === 'finished'`)
    await settled()
    assert.equal(await digits('lines-total'), rows.length)
    const drawn = await firefox.read(`(() => {
      const canvas = document.querySelector('#histogram canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      return data.some((value, index) => index % 4 === 3 && value > 0)
    })()`)
    assert.ok(drawn, 'nothing is drawn')
  },

  async 'a press on a value is a filter, and goes again'() {
    const value = `[data-testid=panel-path] button.value[title^="/checkout\\a"]`
    await firefox.click(value)
    await expectMatching('path = /checkout')
    await firefox.press('u')
    await expectMatching('')
  },

  async 'a drag over the bars zooms'() {
    await firefox.read('scrollTo(0, 0)')
    await firefox.drag('#histogram .u-over', 0.36, 0.44)
    await firefox.until(`/from=/.test(location.hash)`)
    await expectMatching('', await span())
    await firefox.press('Escape')
    await expectMatching('')
  },

  async 'with Shift it explains'() {
    await firefox.drag('#histogram .u-over', 0.371, 0.407, 'Shift')
    await firefox.until(element('findings'))
    assert.match(await firefox.read(`${element('findings')}.textContent`), /\/checkout|500/)
  },

  async 'the lines are there to the last'() {
    await firefox.press('v', '\uE010')
    const last = rows[rows.length - 1]
    await firefox.until(`${element('grid')}.textContent.includes('${last.client}')`)
    await firefox.press(' ')
    await firefox.until(element('line-detail'))
    assert.ok((await firefox.read(`${element('line-detail')}.textContent`)).includes(last.line))
  },
}

let failed = 0
for (const [name, step] of Object.entries(steps)) {
  const begun = Date.now()
  try {
    await step()
    console.log(`ok    ${name} (${Date.now() - begun} ms)`)
  } catch (error) {
    failed++
    console.log(`FAIL  ${name}\n${error.stack}`)
  }
  if (!args.shots) continue
  mkdirSync(args.shots, { recursive: true })
  const picture = `firefox-${name.replace(/\W+/g, '-')}.png`
  writeFileSync(path.join(args.shots, picture), await firefox.screenshot())
}
for (const text of firefox.errors) console.log(`FAIL  the page says: ${text}`)
failed += firefox.errors.length
console.log(`Firefox ${firefox.version}: ${failed} failed`)
await firefox.close()
await server.stop()
rmSync(folder, { recursive: true })
process.exit(failed > 0 ? 1 : 0)
