/** Who asked: people, bots, and agents that there was no room to know. Together they are all that is parsed. */

import type { Total, View } from './viewapi'

export interface Kind {
  word: 'people' | 'bots' | 'unknown'
  /** The filter that leaves only these; there is none for those nobody knows. */
  term: string | null
  of: Total
  /** Hits of all kinds. */
  all: number
}

/** Those nobody knows are left out where there are none. */
export function kinds({ humans, bots, unknown }: Pick<View, 'humans' | 'bots' | 'unknown'>): Kind[] {
  if (humans === null || bots === null) return []
  const all = humans.hits + bots.hits + (unknown?.hits ?? 0)
  const known: Kind[] = [
    { word: 'people', term: 'not bot', of: humans, all },
    { word: 'bots', term: 'bot', of: bots, all },
  ]
  if (!unknown || unknown.hits === 0) return known
  return [...known, { word: 'unknown', term: null, of: unknown, all }]
}
