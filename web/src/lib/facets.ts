/** Values that a filter names, among the values of their panel. */

import type { Panel, Row } from './api'
import { namedValues } from './filter'
import { topRows, type Facet, type View } from './viewapi'

/** The panels of a view, those of fields whose values the filter chooses under its other conditions. */
export function faceted({ panels, facets }: View): (Panel | Facet)[] {
  const byField = new Map(facets?.map((facet) => [facet.field, facet]))
  return panels.map((panel) => byField.get(panel.field) ?? panel)
}

/**
 * The rows with those after them that the filter names and that are not among them, most hits first; of a search only
 * what it finds. A value that the server did not tell has no rows, or as many as one that is not listed may have; where
 * it told as many as it does, nobody knows.
 */
export function withNamed(rows: Row[], panel: Panel | Facet, terms: string[], search: string): Row[] {
  if (!('chosen' in panel)) return rows
  const { chosen, excluded } = namedValues(terms, panel.field)
  const isFull = [panel.chosen, panel.excluded].some((rows) => rows.length >= topRows)
  const told = new Map([...panel.chosen, ...panel.excluded].map((row) => [row.value, row]))
  const listed = new Set(rows.map(({ value }) => value))
  const wanted = search.toLowerCase()
  const missing = [...new Set([...chosen, ...excluded])].filter(
    (value) => !listed.has(value) && (told.has(value) || !isFull) && value.toLowerCase().includes(wanted),
  )
  const added = missing.map(
    (value) => told.get(value) ?? { value, hits: 0, bytes: 0, hits_min: 0, hits_max: panel.error_max },
  )
  return [...rows, ...added.sort((a, b) => b.hits - a.hits)]
}
