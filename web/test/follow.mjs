// A log that somebody still writes, in Chromium: it is live, and its bars move on. And answers that are not exact.
//   node test/follow.mjs [--only WORDS] [--shots DIR] [--chromium PROGRAM]      against mock/server.mjs --follow

import assert from 'node:assert/strict'
import { options } from './args.mjs'
import * as chromium from './browser.mjs'
import { accessible, at, digits, settled, state } from './browser.mjs'
import { serve } from './serve.mjs'
import { end, picture, run, tell } from './steps.mjs'

const args = options('only', 'shots', 'chromium')
const server = await serve(undefined, '--follow')
const browser = await chromium.launch(args.chromium)
const broken = []
const page = await chromium.open(browser, server.base, broken)
page.setDefaultTimeout(10_000)

const matching = async () => digits(await at(page, 'matching').textContent())
const readout = () => at(page, 'readout').textContent()
const shoot = async (name) => args.shots && page.screenshot({ path: picture(args.shots, name) })

const steps = {
  async 'it is live: no share of a whole, no time left, nothing said to be missing'() {
    await state(page, 'following')
    await settled(page)
    const header = await page.locator('header').first().innerText()
    assert.match(header, /Live/)
    assert.doesNotMatch(header, /left|%/)
    assert.equal(await page.getByRole('progressbar').count(), 0)
    assert.match(await page.title(), /^live – access\.log/)
    await shoot('follow-1280-light')
    await accessible(page)
  },

  async 'its numbers grow, and the end of its bars moves on'() {
    const [lines, bars] = [await matching(), await readout()]
    await page.waitForFunction(
      ([lines, bars]) =>
        Number(document.querySelector('[data-testid=matching]').textContent.replace(/\D/g, '')) > lines &&
        document.querySelector('[data-testid=readout]').textContent !== bars,
      [lines, bars],
    )
  },

  async 'what is not exact says so, and why'() {
    const hint = 'clients beyond the first 65,536 are …; --memory 2GiB has room for them'
    for (const verb of ['view', 'compare'])
      await page.route(`**/${verb}`, async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, json: { ...(await response.json()), exact: false, hint } })
      })
    await at(page, 'hint').waitFor()
    assert.match(await at(page, 'hint').textContent(), /--memory 2GiB/)
    assert.match(await at(page, 'filter').textContent(), /≈/)
    await page.keyboard.press('c')
    await page.getByRole('button', { name: 'Select span' }).waitFor()
    const box = await at(page, 'histogram').locator('.u-over').boundingBox()
    await page.keyboard.down('Shift')
    await page.mouse.move(box.x + 100, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + 300, box.y + 40, { steps: 3 })
    await page.mouse.up()
    await page.keyboard.up('Shift')
    await at(page, 'inexact').waitFor()
    assert.match(await at(page, 'inexact').textContent(), /≈ .*--memory 2GiB/)
    await accessible(page)
    await shoot('inexact-1280-light')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.keyboard.press('c')
  },

  async 'it is followed until somebody says stop'() {
    await page.getByRole('button', { name: 'Stop' }).click()
    await state(page, 'cancelled')
    const total = async () => digits(await at(page, 'lines-total').textContent())
    const all = await total()
    // The last lines are counted once more; none come after them.
    await page.waitForFunction(
      (all) =>
        document.querySelector('[data-testid=matching]').textContent.replace(/\D/g, '') === String(all),
      all,
    )
    await page.waitForTimeout(600)
    assert.deepEqual([await matching(), await total()], [all, all])
  },
}

const chosen = Object.entries(steps).filter(([name]) => name.includes(args.only))
const failed = await run(chosen, { failed: (number) => tell(page, args.shots, number) })
await browser.close()
await server.stop()
end('follow', chosen.length, failed, broken)
