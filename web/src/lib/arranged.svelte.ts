/**
 * The columns of the table that is shown, as they are arranged on the page: facts of all rows, which no filter changes,
 * and what the reader chose.
 */

import { arrange, factsOf, hide, pin, setRole, unfold, type Facts } from './arrange'
import { guess, type Role } from './roles'
import { store } from './state.svelte'
import { views } from './views.svelte'
import type { View } from './viewapi'

class Arranged {
  /** Letters that are sought in the names. */
  sought = $state('')
  private session: string | null = null
  private whole: View | null = null

  /** The newest view of all rows; the one that is shown where there was none yet. */
  private ofAll = $derived.by(() => {
    const { view, shown } = views
    if (store.place.session !== this.session) {
      this.session = store.place.session
      this.whole = null
    }
    const isWhole = shown.span === null && shown.terms.length === 0
    if (isWhole && view) this.whole = view
    return this.whole ?? view
  })
  private values = $derived(
    new Map((this.ofAll?.panels ?? []).map(({ field, rows }) => [field, rows.map(({ value }) => value)])),
  )
  guesses = $derived(
    Object.fromEntries(
      (store.table ?? []).map((column) => [column.name, guess(column, this.values.get(column.name) ?? [])]),
    ),
  )
  facts = $derived.by<Record<string, Facts>>(() => {
    const view = this.ofAll
    if (!view || !store.table) return {}
    const roleOf = (name: string) => this.roleOf(name)
    return factsOf(store.table, view.panels, view.numbers ?? [], view.lines.parsed, roleOf)
  })
  columns = $derived(arrange(Object.keys(this.facts), this.facts, store.place.columns, this.sought))

  roleOf(name: string): Role {
    return store.place.columns.roles[name] ?? this.guesses[name] ?? 'none'
  }

  isPinned = (name: string) => store.place.columns.pinned.includes(name)
  isHidden = (name: string) => store.place.columns.hidden.includes(name)
  isOpened = (name: string) =>
    store.place.columns.opened.includes(name) && (this.facts[name]?.folded ?? null) !== null

  pin = (name: string) => store.arrange(pin(store.place.columns, name))
  hide = (name: string) => store.arrange(hide(store.place.columns, name))
  unfold = (name: string) => store.arrange(unfold(store.place.columns, name))
  setRole = (name: string, role: Role) =>
    store.arrange(setRole(store.place.columns, name, role, this.guesses[name] ?? 'none'))
}

export const arranged = new Arranged()
