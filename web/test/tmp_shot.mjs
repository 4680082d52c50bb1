import { serve } from './serve.mjs'
import { launch, open, state, settled, at, accessible } from './browser.mjs'
const [program, chromium, out, ...files] = process.argv.slice(2)
const server = await serve(program, ...files)
const browser = await launch(chromium)
const broken = []
const page = await open(browser, server.base, broken)
await state(page, 'finished')
await page.waitForTimeout(1500)
await page.screenshot({ path: `${out}-1.png`, fullPage: true })
console.log('broken', broken)
await accessible(page).then(() => console.log('axe clean'), (e) => console.log(String(e).slice(0, 800)))
const value = page.locator('[data-testid=panel-type] button.value').first()
if (await value.count()) { await value.click(); await settled(page); await page.waitForTimeout(800); await page.screenshot({ path: `${out}-2.png` }) }
await page.locator('[data-testid=grid] button.open').first().click().catch(() => {})
await page.waitForTimeout(500)
await page.screenshot({ path: `${out}-3.png` })
await page.setViewportSize({width:380,height:800}); await page.waitForTimeout(800); await page.evaluate(() => scrollTo(0, 0)); await page.screenshot({ path: `${out}-4.png` })
await browser.close(); await server.stop()
