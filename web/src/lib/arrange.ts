/** Which columns of a table stand on the page, in which order, and which are folded away into a line each. */

import type { Panel } from './api'
import type { TableColumn } from './fields'
import { plural, visible } from './format'
import { rankOf, type Role } from './roles'
import type { NumberSummary } from './viewapi'

/** What the reader chose, as the address has it: names of columns. */
export interface Arrangement {
  pinned: string[]
  hidden: string[]
  /** Folded columns that were opened. */
  opened: string[]
  /** Roles that are other than the guessed ones. */
  roles: Record<string, Role>
}

export const unarranged: Arrangement = { pinned: [], hidden: [], opened: [], roles: {} }

/** What is known of a column in all rows. */
export interface Facts {
  /** Why it is folded away: it tells nothing, or another thing of each row. */
  folded: string | null
  rank: number
}

/** A column of texts; `rows` are all rows. */
export function textFacts({ distinct, hits, rows: top }: Panel, rows: number, role: Role): Facts {
  const rank = rankOf(role)
  const value = top[0]?.value ?? ''
  if (distinct.count === 1 && hits === rows && rows > 1) {
    const shown = value.length > 60 ? `${value.slice(0, 60)}…` : value
    return { folded: `${visible(shown)} in all rows`, rank }
  }
  if (distinct.count > 100 && 2 * distinct.count > hits) {
    const some = `${distinct.exact ? '' : '≈ '}${plural(distinct.count, 'value')} in ${plural(hits, 'row')}`
    return { folded: some, rank }
  }
  return { folded: null, rank }
}

/** A column of numbers. */
export function numberFacts({ min, max, hits, unit }: NumberSummary, rows: number, role: Role): Facts {
  const isConstant = min !== null && min === max && hits === rows && rows > 1 && unit !== 'time'
  return { folded: isConstant ? `${String(min)} in all rows` : null, rank: rankOf(role) }
}

/** The facts of each column of a table, by its name. */
export function factsOf(
  table: TableColumn[],
  panels: Panel[],
  numbers: NumberSummary[],
  rows: number,
  roleOf: (name: string) => Role,
): Record<string, Facts> {
  const texts = new Map(panels.map((panel) => [panel.field, panel]))
  const spreads = new Map(numbers.map((number) => [number.field, number]))
  const facts: Record<string, Facts> = {}
  for (const { name } of table) {
    const [panel, spread] = [texts.get(name), spreads.get(name)]
    const isEmpty = rows > 0 && (panel?.hits ?? spread?.hits ?? 0) === 0
    // Values that have no column are said where there are any.
    if (isEmpty && name === '_rest') continue
    if (isEmpty) facts[name] = { folded: 'no value in any row', rank: 0 }
    else if (panel) facts[name] = textFacts(panel, rows, roleOf(name))
    else if (spread) facts[name] = numberFacts(spread, rows, roleOf(name))
  }
  return facts
}

export interface Arranged {
  /** Pinned ones first, in the order in which they were pinned. */
  shown: string[]
  folded: { name: string; why: string }[]
  hidden: string[]
}

/** Letters that are sought in a name, in any case. */
const has = (name: string, sought: string) => name.toLowerCase().includes(sought.trim().toLowerCase())

/**
 * Columns as they stand on the page. Where letters are sought, all that have them in their names are shown, also
 * folded and hidden ones.
 */
export function arrange(
  names: string[],
  facts: Record<string, Facts>,
  { pinned, hidden, opened }: Arrangement,
  sought: string,
): Arranged {
  const isHidden = (name: string) => hidden.includes(name) && !pinned.includes(name)
  const foldOf = (name: string) =>
    pinned.includes(name) || opened.includes(name) ? null : (facts[name]?.folded ?? null)
  const rank = (name: string) => {
    const at = pinned.indexOf(name)
    return at >= 0 ? at - pinned.length - 10 : (facts[name]?.rank ?? 0)
  }
  const byRank = (all: string[]) => [...all].sort((a, b) => rank(a) - rank(b))
  if (sought.trim() !== '')
    return { shown: byRank(names.filter((name) => has(name, sought))), folded: [], hidden: [] }
  const visible = names.filter((name) => !isHidden(name))
  return {
    shown: byRank(visible.filter((name) => foldOf(name) === null)),
    folded: visible.flatMap((name) => {
      const why = foldOf(name)
      return why === null ? [] : [{ name, why }]
    }),
    hidden: names.filter(isHidden),
  }
}

const without = (list: string[], name: string) => list.filter((one) => one !== name)
const turned = (list: string[], name: string) => (list.includes(name) ? without(list, name) : [...list, name])

/** Pinned, or no more; a pinned column is not hidden. */
export const pin = (all: Arrangement, name: string): Arrangement => ({
  ...all,
  pinned: turned(all.pinned, name),
  hidden: without(all.hidden, name),
})

/** Hidden, or shown again. */
export const hide = (all: Arrangement, name: string): Arrangement => ({
  ...all,
  hidden: turned(all.hidden, name),
  pinned: without(all.pinned, name),
})

/** A folded column opened, or folded again. */
export const unfold = (all: Arrangement, name: string): Arrangement => ({
  ...all,
  opened: turned(all.opened, name),
})

/** A role that the reader gives; the guessed one is none of it. */
export function setRole(all: Arrangement, name: string, role: Role, guessed: Role): Arrangement {
  const others = Object.entries(all.roles).filter(([one]) => one !== name)
  return { ...all, roles: Object.fromEntries(role === guessed ? others : [...others, [name, role]]) }
}
