/**
 * Changes the children of an element into those of another, and keeps what a person has done meanwhile: the focus, open
 * details, scroll positions and what was typed.
 */
export function morphChildren(from: Element, to: Element): void {
  const kept = new Set<ChildNode>(from.childNodes)
  const byKey = new Map([...kept].flatMap((node) => (keyOf(node) ? [[keyOf(node), node] as const] : [])))
  let at = from.firstChild
  for (const next of [...to.childNodes]) {
    const key = keyOf(next)
    const match = key ? byKey.get(key) : at && !keyOf(at) && isSame(at, next) ? at : undefined
    if (!match) {
      from.insertBefore(next, at)
      continue
    }
    kept.delete(match)
    if (match === at) at = at.nextSibling
    // What is moved loses the focus, so that nothing is moved without need.
    else from.insertBefore(match, at)
    morphNode(match, next)
  }
  for (const node of kept) node.remove()
}

/** Returns what identifies an element among its siblings: its id, or the key of a row. */
const keyOf = (node: Node): string =>
  node instanceof Element ? node.id || (node.getAttribute('data-key') ?? '') : ''

const isSame = (one: Node, other: Node): boolean =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName

function morphNode(node: Node, next: Node): void {
  if (!(node instanceof Element) || !(next instanceof Element)) {
    if (node.nodeValue !== next.nodeValue) node.nodeValue = next.nodeValue
    return
  }
  // What was typed stays, and a reply; where nothing was, the new value comes with the attributes.
  if (isChanged(node)) return
  for (const { name } of [...node.attributes])
    if (!next.hasAttribute(name) && !(name === 'open' && node.nodeName === 'DETAILS'))
      node.removeAttribute(name)
  for (const { name, value } of next.attributes)
    if (node.getAttribute(name) !== value) node.setAttribute(name, value)
  morphChildren(node, next)
}

function isChanged(node: Element): boolean {
  if (node.hasAttribute('data-kept')) return true
  if (node instanceof HTMLInputElement)
    return node.value !== node.defaultValue || node.checked !== node.defaultChecked
  if (node instanceof HTMLTextAreaElement) return node.value !== node.defaultValue
  return (
    node instanceof HTMLSelectElement && [...node.options].some((one) => one.selected !== one.defaultSelected)
  )
}
