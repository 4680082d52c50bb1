'use strict'
// All of the page is there without this: it makes tables sortable, long values whole, and printed details open.

const number = (row, column) => {
  const text = row.cells[column].dataset.n
  return text === undefined ? null : BigInt(text)
}
const text = (row, column) => row.cells[column].textContent

function compare(a, b, column) {
  const [x, y] = [number(a, column) ?? text(a, column), number(b, column) ?? text(b, column)]
  return x < y ? -1 : x > y ? 1 : 0
}

function sort(table, heading) {
  const column = heading.cellIndex
  const body = table.tBodies[0]
  const rows = [...body.rows]
  const isNumber = rows.length > 0 && number(rows[0], column) !== null
  const first = heading.dataset.first ?? (isNumber ? 'descending' : 'ascending')
  const other = first === 'ascending' ? 'descending' : 'ascending'
  const order = heading.ariaSort === first ? other : first
  const sign = order === 'ascending' ? 1 : -1
  rows.sort((a, b) => sign * compare(a, b, column))
  body.append(...rows)
  for (const each of heading.parentNode.cells) each.removeAttribute('aria-sort')
  heading.setAttribute('aria-sort', order)
}

for (const table of document.querySelectorAll('table.sortable')) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'sort'
    button.append(...heading.childNodes)
    button.addEventListener('click', () => sort(table, heading))
    heading.append(button)
  }
}

const wrap = document.createElement('button')
wrap.type = 'button'
wrap.className = 'tool'
wrap.textContent = 'Wrap long values'
wrap.ariaPressed = 'false'
wrap.addEventListener('click', () => {
  wrap.ariaPressed = String(document.body.classList.toggle('wrapped'))
})
document.querySelector('.masthead')?.append(wrap)

let opened = []
addEventListener('beforeprint', () => {
  opened = [...document.querySelectorAll('details:not([open])')]
  for (const details of opened) details.open = true
})
addEventListener('afterprint', () => {
  for (const details of opened) details.open = false
})
