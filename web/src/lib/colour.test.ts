// The promises app.css makes about its tokens, checked: text is readable, classes are told apart by every eye.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { heatTokens, rampColour, shade, type Rgb as Channels } from './heat'

type Rgb = [number, number, number]

const css = readFileSync(new URL('../app.css', import.meta.url), 'utf8')
const channels = (name: string, theme: number): Channels => {
  const hex = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css)?.[theme + 1] ?? ''
  const value = Number.parseInt(hex.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}
const seen = (colour: Channels) => colour.map((c) => linear(c / 255)) as Rgb
const token = (name: string, theme: number): Rgb => seen(channels(name, theme))
const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
const light = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b
const contrast = (a: Rgb, b: Rgb) => {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

// Machado, Oliveira and Fernandes 2009, full severity.
const eyes: Record<string, number[]> = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
}
const see = (m: number[], [r, g, b]: Rgb): Rgb =>
  [0, 3, 6].map((i) =>
    Math.min(1, Math.max(0, (m[i] ?? 0) * r + (m[i + 1] ?? 0) * g + (m[i + 2] ?? 0) * b)),
  ) as Rgb

/** OKLab, where equal distances look about equal. */
function lab([r, g, b]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ]
}
const distance = (a: Rgb, b: Rgb) => Math.hypot(...lab(a).map((v, i) => v - (lab(b)[i] ?? 0)))

describe.each([
  ['light', 0],
  ['dark', 1],
])('%s', (_, theme) => {
  test.each([
    ['ink', 'ground'],
    ['ink-2', 'ground'],
    ['ink-3', 'ground'],
    ['ink-3', 'wash'],
    ['ink-2', 'raised'],
    ['warn', 'warn-wash'],
    ['bad', 'bad-wash'],
    ['bad', 'ground'],
    ['accent', 'ground'],
  ])('%s can be read on %s', (ink, ground) => {
    expect(contrast(token(ink, theme), token(ground, theme))).toBeGreaterThanOrEqual(4.5)
  })

  test('a cell of one request is seen on the ground of the heatmap, and more are ever stronger', () => {
    const ramp = heatTokens.map((name) => channels(name.slice(2), theme))
    const ground = token('wash', theme)
    const counts = [1, 2, 5, 10, 50, 100, 1000, 10_000]
    const contrasts = counts.map((hits) =>
      contrast(seen(rampColour(ramp, shade(hits, { least: 1, most: 10_000 }) ?? 0)), ground),
    )
    expect(contrasts[0]).toBeGreaterThanOrEqual(3)
    contrasts.slice(1).forEach((value, index) => {
      expect(value, `${counts[index + 1]} requests`).toBeGreaterThan(contrasts[index] ?? 0)
    })
  })

  // In the order they stand on each other: only neighbours must differ, the rest is told by the order.
  const stack = ['5xx', '4xx', 'other', '3xx', '2xx']
  test.each(Object.keys(eyes))('the classes that touch are told apart with %s', (eye) => {
    const looks = stack.map((name) => see(eyes[eye] ?? [], token(`c-${name}`, theme)))
    const touching = [
      [0, 1],
      [1, 2],
      [1, 3],
      [3, 4],
      [0, 4],
      [0, 3],
      [1, 4],
    ] as const
    for (const [a, b] of touching) {
      const far = distance(looks[a] as Rgb, looks[b] as Rgb)
      expect(far, `${stack[a]} and ${stack[b]} are ${far.toFixed(3)} apart`).toBeGreaterThan(0.07)
    }
  })
})
