/**
 * A view made from the report, which comes by itself with every live event: what is shown until the first answer to a
 * view is there. It is that of all lines, with the panels that the report has.
 */

import type { ClassHistogram, Panel, Report } from './api'
import { tableColumns } from './fields'
import { missingText, type Fleet } from './fleet'
import type { Histogram, View } from './viewapi'

function byClass(histogram: ClassHistogram): Histogram {
  if (tableColumns()) {
    const sum = (at: number) => histogram.series.reduce((sum, { hits }) => sum + (hits[at] ?? 0), 0)
    return {
      ...histogram,
      stack: '',
      series: [{ value: 'rows', hits: histogram.at.map((_, at) => sum(at)) }],
    }
  }
  const series = histogram.series.map(({ class: value, hits }) => ({ value, hits }))
  return { ...histogram, stack: 'class', series }
}

/** The view, of the peers that the report or else its session names, where there are any. */
export function reported(report: Report, ofSession?: Fleet): View {
  const { lines, percentiles } = report
  const fleet = report.fleet ?? ofSession
  const isWhole = fleet?.complete ?? true
  return {
    complete: report.complete && isWhole,
    ...(fleet && { fleet, exact: isWhole }),
    kept: { rows: lines.total, all: isWhole, reason: fleet ? missingText(fleet) : null },
    lines: { ...lines, matching: lines.parsed + lines.rejected },
    seconds: 0,
    bytes_sent: report.bytes_sent,
    time: report.time,
    histogram: report.histogram && byClass(report.histogram),
    panels:
      report.status.length > 0 && !tableColumns()
        ? [...report.panels, statusPanel(report, fleet)]
        : report.panels,
    humans: null,
    bots: null,
    unknown: null,
    week: null,
    percentiles,
    latency: null,
  }
}

/** Status codes come outside of the report's panels: they are few, and exact where all rows are there. */
function statusPanel({ status }: Report, fleet: Fleet | undefined): Panel {
  const exact = fleet?.complete ?? true
  return {
    field: 'status',
    title: 'Status',
    distinct: { count: status.length, exact, error: 0 },
    hits: status.reduce((sum, row) => sum + row.hits, 0),
    exact,
    error_max: exact ? 0 : (fleet?.rows_missing ?? 0),
    rows: status,
  }
}
