// The core path in a real Firefox: a file is chosen, bars, a filter, a zoom, Explain, the lines; both ways of uploads, and a file that is cut.
//   node --experimental-websocket test/firefox.mjs [--program PROGRAM] [--firefox PROGRAM] [--shots DIR]
// PROGRAM is a rorqual to start, target/debug/rorqual by default. What is expected is counted here, from the lines that are sent.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { options } from './args.mjs'
import { Firefox, needWebSocket } from './bidi.mjs'
import { timedText } from './log.mjs'
import { anyRow, rowsOf, select } from './rows.mjs'
import { serve } from './serve.mjs'
import { end, picture, run } from './steps.mjs'

const args = options('program', 'firefox', 'shots')
needWebSocket()
const folder = mkdtempSync(path.join(os.tmpdir(), 'rorqual-firefox-test-'))
const file = path.join(folder, 'access.log')
const text = timedText(20_000)
writeFileSync(file, text)
const rows = rowsOf(text)

// Slow enough that a file can be cut while it is sent.
const server = await serve(args.program, '--limit-rate', '20M')
const firefox = await Firefox.launch(args.firefox)

const digits = (id) => firefox.read(`Number(${element(id)}.textContent.replace(/\\D/g, ''))`)
const element = (id) => `document.querySelector('[data-testid=${id}]')`
const settled = () => firefox.until(`${element('filter')}?.dataset.settled === 'true'`)
const span = () =>
  firefox.read(
    `Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([name]) => /^(from|to)$/.test(name)).map(([name, value]) => [name, Number(value)]))`,
  )

async function expectMatching(meets, span) {
  const wanted = select(rows, meets, span).length
  await firefox
    .until(
      `${element('filter')}.dataset.settled === 'true' && ${element('matching')}.textContent.replace(/\\D/g, '') === '${wanted}'`,
    )
    .catch(() => {})
  assert.equal(await digits('matching'), wanted, String(meets))
}

/** A file on an empty page, with no other session in the way. */
async function begin(file) {
  await firefox.read(`(async () => {
    const { sessions } = await (await fetch('/api/sessions')).json()
    for (const { id } of sessions) await fetch('/api/sessions/' + id, { method: 'DELETE' })
    location.hash = 'new'
  })()`)
  await firefox.until(`${element('sample')}`)
  await firefox.choose('#file', [file])
}

const steps = {
  async 'a file is chosen, and its bars show'() {
    await firefox.size(1280, 800)
    await firefox.open(server.base)
    await firefox.until(`document.querySelector('h1')`)
    await firefox.choose('#file', [file])
    await firefox.until(`${element('state')}?.dataset.state === 'finished'`)
    await settled()
    await firefox.until(`${element('filter')}.dataset.complete === 'true'`)
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
    await expectMatching((row) => row.path === '/checkout')
    await firefox.press('u')
    await expectMatching(anyRow)
  },

  async 'what is typed is offered with its lines, and Enter takes the best'() {
    await firefox.press('/')
    await firefox.press(...'post checkout')
    await firefox.until(`${element('search')}.dataset.answered === 'true'`)
    const wanted = (row) => row.method === 'POST' && row.path.includes('checkout')
    const best = `${element('suggestion')}.querySelector('.hits').dataset.hits`
    assert.equal(Number(await firefox.read(best)), select(rows, wanted).length)
    await firefox.press('\uE007')
    await expectMatching(wanted)
    await firefox.press('u')
    await expectMatching(anyRow)
  },

  async 'a drag over the bars zooms'() {
    await firefox.read('scrollTo(0, 0)')
    await firefox.drag('#histogram .u-over', 0.36, 0.44)
    await firefox.until(`/from=/.test(location.hash)`)
    await expectMatching(anyRow, await span())
    await firefox.press('Escape')
    await expectMatching(anyRow)
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

  async 'each way brings the same'() {
    for (const way of ['put', 'socket']) {
      await firefox.read(`(location.hash = 'way=${way}', 1)`)
      await firefox.until(`!location.hash.includes('way=')`)
      await begin(file)
      await firefox.until(`${element('state')}?.dataset.state === 'finished'`)
      await settled()
      await firefox.until(`${element('filter')}.dataset.complete === 'true'`)
      assert.equal(await digits('lines-total'), rows.length, way)
    }
  },

  async 'the connection is tested by each way'() {
    await firefox.read(`(location.hash = 'way=auto', 1)`)
    await firefox.read(`(location.hash = 'connection', 1)`)
    await firefox.until(`document.querySelector('#connection-start')`)
    await firefox.choose('#connection-file', [file])
    await firefox.click('#connection-start')
    for (const way of ['put', 'socket']) {
      await firefox.until(`document.querySelector('[data-way=${way}]').dataset.bytesPerSecond > 0`)
      assert.equal(
        await firefox.read(`Number(document.querySelector('[data-way=${way}]').dataset.bytes)`),
        text.length,
      )
    }
    assert.ok(
      await firefox.read(`/used by this page/.test(document.querySelector('[data-way=put]').textContent)`),
    )
  },

  // Firefox itself raises nothing when a file is cut under an upload.
  async 'a file that is cut while it is sent ends the upload'() {
    const cut = path.join(folder, 'cut.log')
    for (const way of ['put', 'socket']) {
      writeFileSync(cut, text.repeat(40))
      await firefox.read(`(location.hash = 'way=${way}', 1)`)
      await begin(cut)
      await firefox.until(`${element('state')}?.dataset.state === 'receiving'`)
      truncateSync(cut, 1000)
      await firefox.until(`/changed while it was uploaded/.test(${element('error')}?.textContent)`)
    }
  },
}

const all = Object.entries(steps)
const failed = await run(all, {
  after: async (name) => {
    if (!args.shots) return
    writeFileSync(picture(args.shots, `firefox-${name.replace(/\W+/g, '-')}`), await firefox.screenshot())
  },
})
await firefox.close()
await server.stop()
rmSync(folder, { recursive: true })
// A socket that is given up says so, however much in order that is.
const own = (text) => !/\/socket\?offset=\d+ was interrupted/.test(text)
const said = firefox.errors.filter(own).map((text) => `the page says: ${text}`)
end(`Firefox ${firefox.version}`, all.length, failed, said)
