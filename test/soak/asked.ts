import { setTimeout as pause } from 'node:timers/promises'
import { count } from './load.js'

/** A request that is sent until it is answered, always with the same key. */
export interface Asked {
  readonly key: string
  readonly path: string
  readonly body: string
  /** The first answer that is no refusal, as it came. */
  answer?: { readonly status: number; readonly text: string }
}

/** What was heard from all nodes besides answers. */
export interface Heard {
  /** Statuses with their codes or texts, and how often each came. */
  readonly refusals: Map<string, number>
  /** Answers that no client may see. */
  readonly wrong: string[]
  /** How long it took from the first try to the answer, in ms. */
  readonly waits: number[]
}

const timeoutMs = 90_000
const againMs = 150
/** Longer than all leases, and all that is done to the nodes. */
const giveUpMs = 240_000

/** Words of statements, of the driver or of a stack, which nobody who asks gets to see. */
const internal =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|SQLSTATE|pg_\w+|advisory|relation|constraint|duplicate key|deadlock|serializ\w+|soak)\b|\bat \S+:\d+:\d+|node_modules/

/** Statuses that say: ask again. */
const isRefusal = (status: number, text: string): boolean =>
  status === 503 || status === 429 || (status === 409 && text.includes('still running'))

/** What a refusal says; a load balancer that has no server to ask has a page of its own. */
const kindOf = (status: number, text: string): string =>
  text.startsWith('<')
    ? `${status} of the load balancer`
    : `${status} ${(JSON.parse(text) as { error: string }).error.split(':')[0]}`

export const nothingHeard = (): Heard => ({ refusals: new Map(), wrong: [], waits: [] })

/** Sends a request to one node after the other until one answers it. */
export async function ask(
  asked: Asked,
  nodes: readonly string[],
  apiKey: string,
  heard: Heard,
): Promise<boolean> {
  const began = performance.now()
  const tries: string[] = []
  for (let at = Math.floor(Math.random() * nodes.length); ; at++) {
    const base = nodes[at % nodes.length] ?? ''
    const seconds = (performance.now() - began) / 1_000
    if (seconds > giveUpMs / 1_000)
      throw new Error(`nobody answered ${asked.key}:\n${tries.slice(-40).join('\n')}`)
    const reply = await once(asked, base, apiKey)
    const said = reply ? `${reply.status} ${reply.text}` : 'no answer'
    tries.push(`after ${seconds.toFixed(1)} s of ${base}: ${said}`)
    if (!reply) {
      await pause(againMs)
      continue
    }
    const { status, text, isReplay } = reply
    if (internal.test(text)) heard.wrong.push(`${status}: ${text}`)
    if (isRefusal(status, text)) {
      count(heard.refusals, kindOf(status, text))
      await pause(againMs)
      continue
    }
    if (status > 299) heard.wrong.push(`${status}: ${text}`)
    if (asked.answer && asked.answer.text !== text)
      heard.wrong.push(`another answer to ${asked.key}: ${text}`)
    asked.answer ??= { status, text }
    heard.waits.push(performance.now() - began)
    return isReplay
  }
}

async function once({ key, path, body }: Asked, base: string, apiKey: string) {
  try {
    const response = await fetch(base + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey, 'idempotency-key': key },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
    const isReplay = response.headers.get('idempotent-replayed') === 'true'
    return { status: response.status, text: await response.text(), isReplay }
  } catch {
    // The node is not there, or was killed over it.
    return undefined
  }
}
