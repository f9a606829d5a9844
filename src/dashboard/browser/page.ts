const base = '/dashboard'
const tokenKey = 'prospect-token'
const themeKey = 'prospect-theme'

/** The answer to a form: a sentence, maybe with a text to copy or a question. */
interface Answer {
  readonly message?: string
  readonly detail?: string
  readonly confirm?: {
    readonly action: string
    readonly fields: Record<string, string>
    readonly label: string
  }
  readonly error?: string
  readonly hint?: string
}

const element = <T extends HTMLElement = HTMLElement>(id: string): T => {
  const found = document.getElementById(id)
  if (!found) throw new Error(`There is no #${id}`)
  return found as T
}

const main = element('main')
let reading: AbortController | undefined
let isStale = false

/** Longest pause between two readings of a view, in milliseconds. */
const maxGapMs = 5_000

function send(path: string, fields: Record<string, string> = {}, signal: AbortSignal | null = null) {
  const token = localStorage.getItem(tokenKey) ?? ''
  return fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-dashboard-token': token },
    body: JSON.stringify(fields),
    signal,
  })
}

/** Exchanges the token of the link, which is taken out of the address and the history. */
async function signIn(): Promise<void> {
  const link = location.hash.slice(1)
  if (link === '' || link === 'main') return
  history.replaceState(null, '', location.pathname + location.search)
  const response = await send('/session', { link })
  if (!response.ok) return
  const { token } = (await response.json()) as { token: string }
  localStorage.setItem(tokenKey, token)
}

/** Reads the view of the address again, and shows what has changed. One reading is under way; another address ends it. */
async function load(isOther = false): Promise<void> {
  if (reading && !isOther) {
    isStale = true
    return
  }
  reading?.abort()
  const own = new AbortController()
  reading = own
  isStale = false
  const began = performance.now()
  try {
    const name = location.pathname.slice(base.length + 1)
    const response = await send(`/data/${name}${location.search}`, {}, own.signal)
    const text = await response.text()
    if (own.signal.aborted) return
    if (response.ok) show(text)
    else refuse(text)
  } catch {
    if (!own.signal.aborted) element('connection').textContent = 'Not connected. Is prospect still running?'
  } finally {
    if (reading === own) {
      reading = undefined
      main.removeAttribute('aria-busy')
      // A view that takes long must not keep the server busy while much changes.
      if (isStale) setTimeout(() => void load(), Math.min(maxGapMs, 4 * (performance.now() - began)))
    }
  }
}

function show(html: string): void {
  // A document that is parsed like this runs no script; the policy of the page permits none in it either.
  const next = new DOMParser().parseFromString(html, 'text/html').body
  morphChildren(main, next)
  const title = main.querySelector('h1')?.textContent ?? ''
  document.title = `${title} · Prospect`
  for (const time of main.querySelectorAll('time')) time.title = ago(time.dateTime)
}

function refuse(text: string): void {
  const { error = 'The page cannot be shown.', hint = '' } = JSON.parse(text) as Answer
  const heading = Object.assign(document.createElement('h1'), { textContent: error, tabIndex: -1 })
  const advice = Object.assign(document.createElement('p'), { textContent: hint, className: 'empty' })
  main.replaceChildren(heading, advice)
  document.title = 'Prospect'
}

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]

function ago(iso: string): string {
  const seconds = Math.round((Date.parse(iso) - Date.now()) / 1_000)
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.round(seconds / size), unit)
}

function markCurrent(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.top nav a')) {
    if (link.pathname === location.pathname) {
      link.setAttribute('aria-current', 'page')
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    } else link.removeAttribute('aria-current')
  }
}

async function go(url: string): Promise<void> {
  history.pushState(null, '', url)
  await arrive()
}

async function arrive(): Promise<void> {
  markCurrent()
  main.setAttribute('aria-busy', 'true')
  await load(true)
  main.querySelector<HTMLElement>('h1')?.focus()
  scrollTo(0, 0)
}

/** Shows a message until it is closed, or until the next one replaces it; its detail in `place` if that is still there. */
function tell({ message, detail, error, hint }: Answer, place?: HTMLElement | null): void {
  const box = document.createElement('div')
  box.className = error === undefined ? 'message' : 'message bad'
  const text = document.createElement('p')
  text.textContent = error === undefined ? (message ?? '') : `${error} ${hint ?? ''}`
  const close = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Close' })
  close.addEventListener('click', () => box.remove())
  box.append(text, close)
  if (detail !== undefined && place?.isConnected) {
    place.textContent = detail
    place.dataset.kept = ''
    place.scrollIntoView({ block: 'nearest' })
  } else if (detail !== undefined) {
    const shown = Object.assign(document.createElement('pre'), { textContent: detail, tabIndex: 0 })
    box.append(shown)
  }
  element('messages').replaceChildren(box)
}

function ask(text: string, label: string): Promise<boolean> {
  const dialog = element<HTMLDialogElement>('question')
  element('question-text').textContent = text
  element('question-yes').textContent = label
  dialog.returnValue = 'no'
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

async function act(action: string, fields: Record<string, string>): Promise<void> {
  const place = main.querySelector<HTMLElement>('[data-reply]')
  const response = await send(`/action/${action}`, fields).catch(() => undefined)
  if (!response) return tell({ error: 'There was no answer.', hint: 'Is prospect still running?' })
  const file = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  if (file !== undefined) return save(file, await response.blob())
  const answer = (await response.json()) as Answer
  const { confirm } = answer
  if (confirm) {
    if (!(await ask(answer.message ?? '', confirm.label))) return
    return act(`${action.split('/')[0]}/${confirm.action}`, confirm.fields)
  }
  tell(answer, place)
  await load()
}

function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
  tell({ message: `${name} is saved.` })
}

/** Returns the filled fields of a form; several values under one name are the lines of one text. */
function fieldsOf(form: HTMLFormElement, button: HTMLElement | null): Record<string, string> {
  const data = new FormData(form, button)
  return Object.fromEntries(
    [...new Set(data.keys())].flatMap((name) => {
      const values = data.getAll(name).filter((value) => typeof value === 'string' && value !== '')
      return values.length === 0 ? [] : [[name, values.join('\n')]]
    }),
  )
}

document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement
  if (form.method === 'dialog') return
  event.preventDefault()
  const fields = fieldsOf(form, event.submitter)
  const { action } = form.dataset
  // Without an action a form filters: its fields are the query of the address.
  if (action === undefined) void go(`${location.pathname}?${new URLSearchParams(fields)}`)
  else void sendOnce(form, () => act(action, fields))
})

async function sendOnce(form: HTMLFormElement, work: () => Promise<void>): Promise<void> {
  if (form.ariaBusy === 'true') return
  form.ariaBusy = 'true'
  await work().finally(() => {
    form.ariaBusy = null
  })
}

document.addEventListener('click', (event) => {
  const link = (event.target as Element).closest('a')
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.origin !== location.origin || !link.pathname.startsWith(base) || link.hash !== '') return
  event.preventDefault()
  void go(link.href)
})

addEventListener('popstate', () => void arrive())

const themes = ['auto', 'light', 'dark']

function applyTheme(theme: string): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  const button = element('theme')
  button.textContent = `Theme: ${theme}`
}

element('theme').addEventListener('click', () => {
  const next =
    themes[(themes.indexOf(localStorage.getItem(themeKey) ?? 'auto') + 1) % themes.length] ?? 'auto'
  localStorage.setItem(themeKey, next)
  applyTheme(next)
})

let stream: AbortController | undefined

/** Reads the stream of changes. A hidden page has none: a browser opens few connections to one server. */
async function follow(): Promise<void> {
  if (stream || document.hidden) return
  const own = new AbortController()
  stream = own
  while (!own.signal.aborted) {
    try {
      await readStream(own.signal)
    } catch {
      // The next attempt shows what is the matter.
    }
    if (own.signal.aborted) return
    element('connection').textContent = 'Not connected'
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

async function readStream(signal: AbortSignal): Promise<void> {
  const token = localStorage.getItem(tokenKey) ?? ''
  const response = await fetch(`${base}/live`, {
    method: 'POST',
    headers: { 'x-dashboard-token': token },
    signal,
  })
  if (!response.ok || !response.body) return
  element('connection').textContent = 'Live'
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    // After a pause something may have changed, too.
    if (value.includes('event:')) void load()
  }
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    stream?.abort()
    stream = undefined
  } else void follow()
})

/** Changes the children of an element into another's. Focus, open details, scroll positions and what was typed stay. */
function morphChildren(from: Element, to: Element): void {
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

applyTheme(localStorage.getItem(themeKey) ?? 'auto')
await signIn()
await arrive()
void follow()
