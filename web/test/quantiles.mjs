/** Of numbers: how many, their median, 95th percentile and largest. */
export function quantiles(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)]
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), max: sorted.at(-1) }
}
