/**
 * What tells the parts of a stack apart where colours do not: on paper, for an eye without them, in forced colours.
 * Lines of the ground's colour over that of the part; the swatches of the legend are made by the same hand.
 */

export type Texture = 'plain' | 'hatch' | 'cross' | 'lines'

const stepPx = 6

/** A fill for bars: the colour, with the texture drawn in `line`. `scale` is the device's pixels per pixel. */
export function textured(
  context: CanvasRenderingContext2D,
  texture: Texture,
  colour: string,
  line: string,
  scale: number,
): string | CanvasPattern {
  if (texture === 'plain') return colour
  const step = Math.round(stepPx * scale)
  const tile = document.createElement('canvas')
  tile.width = tile.height = step
  const on = tile.getContext('2d')
  if (!on) return colour
  on.fillStyle = colour
  on.fillRect(0, 0, step, step)
  on.strokeStyle = line
  on.lineWidth = scale
  on.beginPath()
  for (const [x, y, toX, toY] of strokes(texture, step)) {
    on.moveTo(x, y)
    on.lineTo(toX, toY)
  }
  on.stroke()
  return context.createPattern(tile, 'repeat') ?? colour
}

/** Diagonals go over the corners, so that tiles join without gaps. */
export function strokes(texture: Texture, step: number): [number, number, number, number][] {
  const rising = [-step, 0, step].map((x) => [x, step, x + step, 0] as [number, number, number, number])
  const falling = [-step, 0, step].map((x) => [x, 0, x + step, step] as [number, number, number, number])
  switch (texture) {
    case 'plain':
      return []
    case 'hatch':
      return rising
    case 'cross':
      return [...rising, ...falling]
    case 'lines':
      return [[0, step / 2, step, step / 2]]
  }
}
