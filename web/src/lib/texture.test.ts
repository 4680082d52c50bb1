import { expect, test } from 'vitest'
import { classes } from './histogram'
import { looks } from './series'
import { strokes } from './texture'

test('classes that touch differ without their colours', () => {
  // Where there are no lines of the odd class, and it is rare, 4xx and 3xx touch; 2xx stands on any of them.
  const stack = looks('class', classes).map(({ texture }) => texture)
  for (const [a, b] of [
    [0, 1],
    [1, 2],
    [2, 3],
    [1, 3],
    [3, 4],
    [1, 4],
  ] as const)
    expect(stack[a]).not.toBe(stack[b])
})

test('textures are drawn differently', () => {
  const drawn = (['plain', 'hatch', 'cross', 'lines'] as const).map((name) =>
    JSON.stringify(strokes(name, 6)),
  )
  expect(new Set(drawn).size).toBe(4)
})

test('values without a meaning differ from their neighbours in colour and texture', () => {
  const all = looks('method', ['GET', 'POST', 'PUT', 'HEAD', 'x', 'y', 'z', '', null])
  all.slice(1).forEach((look, index) => {
    expect(look.colour === all[index]?.colour && look.texture === all[index]?.texture).toBe(false)
  })
  expect(new Set(all.slice(0, 7).map(({ colour }) => colour)).size).toBe(7)
})
