import type { IncomingMessage, ServerResponse } from 'node:http'
import { answering, received } from '../../client/listeners.js'

/** What a fake CRM answers. */
export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A request to a fake CRM, in parts. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  /** The body as it came, and as JSON where it is JSON. */
  readonly text: string
  readonly json: unknown
}

/** A request that was answered, or whose connection was cut. */
export interface Done {
  readonly method: string
  readonly path: string
  readonly isWrite: boolean
  readonly status: number | 'cut'
}

/** The kth request, or the kth that writes, from now on; with a path, among those whose path it matches. */
export type Moment = ({ readonly request: number } | { readonly write: number }) & { readonly path?: RegExp }

/** What happens then: a refusal, a connection that is cut before or after the work is done, or whatever somebody does. */
export type Happening =
  | { readonly refuse: Answer }
  | { readonly cut: 'before' | 'after' }
  | { readonly before: () => unknown }
  | { readonly after: () => unknown }

/** How a kind of CRM answers. */
export interface Behaviour {
  readonly isWrite: (asked: Asked) => boolean
  /** Returns a refusal where key, rights or limits do not permit the request. */
  readonly admit: (asked: Asked) => Answer | undefined
  readonly answer: (asked: Asked) => Answer
  /** Headers of each answer. */
  readonly headers: (asked: Asked) => Record<string, string>
}

/** A clock that runs with this machine's, and that a test moves on. */
export function movableClock() {
  let moved = 0
  return {
    now: () => Date.now() + moved,
    pass: (milliseconds: number) => {
      moved += milliseconds
    },
  }
}

/** Counts requests in a window that begins with the first of them. */
export function windowed(limit: number, milliseconds: number, now: () => number) {
  let since = Number.NEGATIVE_INFINITY
  let used = 0
  const renew = () => {
    if (now() - since < milliseconds) return
    since = now()
    used = 0
  }
  return {
    /** Takes so many; false where they are not left. */
    take: (units = 1): boolean => {
      renew()
      if (used + units > limit) return false
      used += units
      return true
    },
    left: () => {
      renew()
      return limit - used
    },
    /** Milliseconds until the window is over. */
    remaining: () => Math.max(0, since + milliseconds - now()),
    limit,
    milliseconds,
  }
}

/** Starts a fake CRM. */
export async function serveCrm(behaviour: Behaviour) {
  const done: Done[] = []
  const planned: { moment: Moment; left: number; happening: Happening }[] = []
  const due = (asked: Asked, isWrite: boolean): readonly Happening[] => {
    const now: Happening[] = []
    for (const plan of [...planned]) {
      if ('write' in plan.moment && !isWrite) continue
      if (plan.moment.path && !plan.moment.path.test(asked.path)) continue
      if (--plan.left > 0) continue
      planned.splice(planned.indexOf(plan), 1)
      now.push(plan.happening)
    }
    return now
  }
  const { origin, close } = await answering(async (request, response) => {
    const { body: text } = await received(request)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://crm')
    const asked: Asked = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      text,
      json: parsed(text),
    }
    const isWrite = behaviour.isWrite(asked)
    const { method, path } = asked
    const cut = () => {
      done.push({ method, path, isWrite, status: 'cut' })
      response.socket?.destroy()
    }
    const now = due(asked, isWrite)
    for (const happening of now) if ('before' in happening) await happening.before()
    if (now.some((happening) => 'cut' in happening && happening.cut === 'before')) return cut()
    const refusal = now.find((happening) => 'refuse' in happening)?.refuse
    const answer = refusal ?? behaviour.admit(asked) ?? behaviour.answer(asked)
    for (const happening of now) if ('after' in happening) await happening.after()
    if (now.some((happening) => 'cut' in happening)) return cut()
    done.push({ method, path, isWrite, status: answer.status })
    send(response, answer, behaviour.headers(asked))
  })
  return {
    origin,
    close,
    /** Every request so far. */
    done,
    /** How many requests there were whose path matches. */
    count: (path = /./) => done.filter((one) => path.test(one.path)).length,
    /** How many requests were refused for a limit. */
    breaches: () => done.filter(({ status }) => status === 429).length,
    at: (moment: Moment, happening: Happening): void => {
      planned.push({ moment, left: 'write' in moment ? moment.write : moment.request, happening })
    },
  }
}

function send(
  response: ServerResponse,
  { status, body, headers }: Answer,
  more: Record<string, string>,
): void {
  if (body === undefined) {
    response.writeHead(status, { ...more, ...headers }).end()
    return
  }
  const all = { 'content-type': 'application/json;charset=utf-8', ...more, ...headers }
  response.writeHead(status, all).end(typeof body === 'string' ? body : JSON.stringify(body))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
