/** Which parts of the page are in sight, or nearly. */

const onSight = new WeakMap<Element, (near: boolean) => void>()

const watch = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) onSight.get(target)?.(isIntersecting)
  },
  { rootMargin: '200px' },
)

/** An action: tells when the node comes near to what is seen, and when it leaves. */
export function sight(node: HTMLElement, tell: (near: boolean) => void) {
  onSight.set(node, tell)
  watch.observe(node)
  return { destroy: () => watch.unobserve(node) }
}
