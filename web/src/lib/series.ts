/** How the parts of a stack look: colour by meaning where there is one, and a texture for eyes without colours. */

import { gradeOf } from './roles'
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

/** A look for each name of a stack; severities look like the classes that are as bad. */
export function looks(stack: string, names: (string | null)[], isSeverity = false): Look[] {
  if (isSeverity) return severityLooks(names)
  if (stack === 'class') return names.map(classLook)
  return names.map((name, index) =>
    name === null || name === ''
      ? { colour: 'c-other', texture: name === null ? 'cross' : 'plain' }
      : { colour: `s-${index % coloursMax}`, texture: cycle[index % cycle.length] ?? 'plain' },
  )
}

/** Those of one colour are told apart by their textures. */
function severityLooks(names: (string | null)[]): Look[] {
  const seen: Record<string, number> = {}
  return names.map((name) => {
    const grade = gradeOf(name ?? '')
    const before = (seen[grade] = (seen[grade] ?? 0) + 1) - 1
    const own = classLook(grade)
    return before === 0 ? own : { ...own, texture: cycle[before % cycle.length] ?? 'plain' }
  })
}

function classLook(name: string | null): Look {
  return { colour: `c-${name ?? 'other'}`, texture: classTextures[name ?? 'other'] ?? 'cross' }
}
