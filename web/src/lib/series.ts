/** How the parts of a stack look: colour by meaning where there is one, and a texture for eyes without colours. */

import type { Texture } from './texture'

export interface Look {
  /** A token of app.css. */
  colour: string
  texture: Texture
}

const classTextures: Record<string, Texture> = {
  '5xx': 'plain',
  '4xx': 'hatch',
  other: 'cross',
  '3xx': 'lines',
  '2xx': 'plain',
}

const cycle: Texture[] = ['plain', 'hatch', 'lines', 'cross']

/** Colours without a meaning: `--s-0` to `--s-7`. */
const coloursMax = 8

/** A look for each name of a stack. */
export function looks(stack: string, names: (string | null)[]): Look[] {
  if (stack === 'class') return names.map(classLook)
  return names.map((name, index) =>
    name === null || name === ''
      ? { colour: 'c-other', texture: name === null ? 'cross' : 'plain' }
      : { colour: `s-${index % coloursMax}`, texture: cycle[index % cycle.length] ?? 'plain' },
  )
}

function classLook(name: string | null): Look {
  return { colour: `c-${name ?? 'other'}`, texture: classTextures[name ?? 'other'] ?? 'cross' }
}
