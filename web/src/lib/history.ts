/** The last minutes of a number that is looked at again and again, and the line that shows them. */

export interface Point {
  /** In seconds, by any clock that does not jump. */
  at: number
  value: number
}

/** So far back a plot shows. */
export const historySeconds = 120

/** With a new point, and without those that nobody sees any longer; one before the edge stays, where the line begins. */
export function withPoint(points: readonly Point[], point: Point): Point[] {
  const edge = point.at - historySeconds
  const first = points.findLastIndex(({ at }) => at <= edge)
  return [...points.slice(Math.max(0, first)), point]
}

/** The end of the scale: one, two or five times a power of `base`, so that it jumps seldom. */
export function scaleEnd(values: number[], limit: number | null, base = 10): number {
  if (limit !== null) return Math.max(1, limit, ...values)
  const most = Math.max(1, ...values)
  const power = base ** Math.floor(Math.log(most) / Math.log(base) + 1e-9)
  const steps = base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
  return power * (steps.find((step) => power * step >= most * 0.999) ?? base)
}

/** As the points of an SVG line in a box, the newest at its right edge. */
export function lineOf(
  points: readonly Point[],
  end: number,
  width: number,
  height: number,
): [number, number][] {
  const now = points[points.length - 1]?.at ?? 0
  return points.map(({ at, value }) => [
    width * (1 - (now - at) / historySeconds),
    height * (1 - Math.min(1, value / end)),
  ])
}

/** The point nearest to a part of the width. */
export function nearest(points: readonly Point[], part: number): number {
  const now = points[points.length - 1]?.at ?? 0
  const wanted = now - historySeconds * (1 - part)
  let best = 0
  points.forEach(({ at }, index) => {
    if (Math.abs(at - wanted) < Math.abs((points[best]?.at ?? 0) - wanted)) best = index
  })
  return best
}
