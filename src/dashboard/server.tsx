import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApiError, isRefusal } from '../api/calls/errors.js'
import { readBody } from '../http/body.js'
import { Shell } from './page/elements.js'
import {
  type ActionResult,
  type DashboardPorts,
  type Fields,
  type Html,
  refused,
  type ServerPorts,
  type View,
} from './page/view.js'
import { catalogue } from './views/catalogue.js'
import { engine, members } from './views/engine.js'
import { inbox } from './views/inbox.js'
import { jobs } from './views/jobs.js'
import { ledger } from './views/ledger.js'
import { overview } from './views/overview.js'
import { runs } from './views/runs.js'
import { tryIt } from './views/try.js'

const dashboardPath = '/dashboard'

interface DashboardOptions extends ServerPorts {
  readonly ports: DashboardPorts
  readonly isReadOnly: boolean
  /**
   * The workspace of this machine that it belongs to; `undefined` where there is none yet. While another one is in use,
   * nothing is shown.
   */
  readonly workspace: { readonly id: string; readonly name: string } | undefined
  /** Called with the path and fragment of a link after the one before was used. */
  readonly onLink: (link: string) => void
}

export type Dashboard = ReturnType<typeof createDashboard>

const ended = refused(
  401,
  'This page is not signed in.',
  'Open the link that the terminal with prospect shows; it works once.',
)
const readOnly = refused(403, 'This dashboard is read-only.', 'Start it without --read-only.')
const unknown = refused(404, 'There is no such page.', 'Choose one above.')

/** Creates the dashboard. It keeps nothing but the sessions of open browsers, and these in memory (decision 24). */
export function createDashboard(options: DashboardOptions) {
  const { ports, isReadOnly, onLink } = options
  let { workspace } = options
  const views = viewsOf(ports.target, workspace !== undefined)
  const isPagePath = (path: string): boolean => views.some(({ name }) => path === `/${name}`) || path === ''
  const sessions = createSessions(options.random)
  const live = createLive(options.watch)
  const makeLink = () => `${dashboardPath}#${sessions.makeLink()}`

  async function signIn(request: Request): Promise<Response> {
    const { link = '' } = await readFields(request)
    const admitted = sessions.exchange(link)
    if (!admitted) throw ended
    onLink(makeLink())
    return json(
      { token: admitted.token },
      { 'set-cookie': setCookie(request, admitted.cookie, dashboardPath) },
    )
  }

  /** Throws unless a request comes from a page that was admitted, and the workspace is in use. */
  async function checkAccess(request: Request): Promise<void> {
    if (!sessions.isAdmitted(request)) throw ended
    const admin = await ports.admin()
    const used = (await admin?.workspaces())?.find((one) => one.used)
    // It may have been created meanwhile.
    workspace ??= used
    if (used?.id === workspace?.id) return
    throw refused(
      401,
      `The workspace in use is now ${used?.name ?? 'none'}, and this dashboard belongs to ${workspace?.name}.`,
      'Start prospect again for the dashboard of the other one.',
    )
  }

  async function show(request: Request, view: View): Promise<Response> {
    const query = new URL(request.url).searchParams
    const content = await view.render({ ports, query, isReadOnly })
    return htmlOf(
      <>
        <div class="heading">
          <h1 tabindex={-1}>{view.title}</h1>
          <p>
            {placeOf(ports.target, workspace?.name)}
            {isReadOnly && ' · read-only'}
          </p>
        </div>
        {content}
      </>,
    )
  }

  async function act(request: Request, view: View, name: string): Promise<Response> {
    const action = Object.hasOwn(view.actions ?? {}, name) ? view.actions?.[name] : undefined
    if (!action) throw unknown
    if (isReadOnly) throw readOnly
    const result = await action(ports, await readFields(request))
    if (!(result instanceof Response)) return json(result satisfies ActionResult)
    for (const [header, value] of Object.entries(securityHeaders)) result.headers.set(header, value)
    return result
  }

  async function answerData(request: Request, path: string): Promise<Response> {
    if (request.method !== 'POST') throw refused(405, 'This path takes POST only.')
    if (!isFromPage(request)) throw refused(403, 'Only the page of the dashboard may ask for this.')
    const [, kind, name = '', action = ''] = path.split('/')
    if (kind === 'session') return signIn(request)
    await checkAccess(request)
    if (kind === 'live') return live.open(request.signal)
    const view = views.find((one) => one.name === name)
    if (view && kind === 'data') return show(request, view)
    if (view && kind === 'action') return act(request, view, action)
    throw unknown
  }

  async function answer(request: Request, path: string): Promise<Response> {
    const type = assets[path]
    if (type !== undefined) {
      const headers = { ...securityHeaders, 'content-type': type }
      return new Response(await readFile(findAsset(basename(path))), { headers })
    }
    const isPage = isPagePath(path)
    if (isPage && (request.method === 'GET' || request.method === 'HEAD'))
      return htmlOf(<Shell views={views} />, '<!doctype html>')
    return answerData(request, path)
  }

  return {
    /** Returns whether a path is that of a page, which may be opened by a link on any page: it contains no data. */
    isPage: (path: string) => path.startsWith(dashboardPath) && isPagePath(path.slice(dashboardPath.length)),
    makeLink,
    /** Answers a request below the path of the dashboard; `undefined` for others. */
    handle: (request: Request): Promise<Response> | undefined => {
      const { pathname } = new URL(request.url)
      if (pathname !== dashboardPath && !pathname.startsWith(`${dashboardPath}/`)) return undefined
      return answer(request, pathname.slice(dashboardPath.length)).catch((error: unknown) => {
        const { status, message, hint } = toRefusal(error, options)
        return json({ error: message, hint }, {}, status)
      })
    },
    close: live.close,
  }
}

function placeOf({ isServer, shown }: DashboardPorts['target'], workspace: string | undefined): string {
  const here = workspace === undefined ? 'No workspace yet' : `Workspace ${workspace}`
  if (!isServer) return here
  return workspace === undefined
    ? `Server ${shown}`
    : `Server ${shown} · workspace ${workspace} of this machine`
}

function toRefusal(error: unknown, { explain, report }: Pick<ServerPorts, 'explain' | 'report'>) {
  if (isRefusal(error, 'dashboard.refused'))
    return error.details as { readonly status: number; readonly message: string; readonly hint: string }
  const known = explain(error)
  if (known)
    return { status: error instanceof ApiError ? error.status : 422, message: known.error, hint: known.hint }
  report(error)
  return {
    status: 500,
    message: 'This is a bug in prospect.',
    hint: 'Please report it to the maintainers of the copy you installed. The terminal with prospect shows what to send.',
  }
}

/** Maximum size of a form, in bytes. */
const maxBytes = 1_048_576

async function readFields(request: Request): Promise<Fields> {
  if (!/^application\/json\b/.test(request.headers.get('content-type') ?? ''))
    throw refused(415, 'The fields of a form are sent as JSON.')
  const bytes = await readBody(request, maxBytes)
  try {
    const fields = JSON.parse(Buffer.from(bytes).toString()) as unknown
    if (typeof fields !== 'object' || fields === null) throw new SyntaxError()
    if (Object.values(fields).some((value) => typeof value !== 'string')) throw new SyntaxError()
    return fields as Fields
  } catch {
    throw refused(400, 'The fields of a form are texts in one JSON object.')
  }
}

const json = (body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { ...securityHeaders, 'content-type': 'application/json', ...headers },
  })

/** Components are not asynchronous: views read first, and render then. */
const htmlOf = async (html: Html, begin = ''): Promise<Response> =>
  new Response(begin + String(await html), {
    headers: { ...securityHeaders, 'content-type': 'text/html; charset=utf-8' },
  })

/** By their paths, the types of built files. */
const assets: Readonly<Record<string, string>> = {
  '/assets/page.js': 'text/javascript; charset=utf-8',
  '/assets/icon.svg': 'image/svg+xml',
  '/assets/style.css': 'text/css; charset=utf-8',
}

/** Returns the path of a built file: beside the command line, or below the sources. */
function findAsset(file: string): string {
  const paths = [`./dashboard/${file}`, `../../dist/dashboard/${file}`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  const found = paths.find((path) => existsSync(path))
  if (found === undefined) throw refused(500, 'dist/dashboard is missing.', 'Run: npm run build')
  return found
}

/** Between two comments that keep an unchanged stream alive, in milliseconds. */
const beatMs = 10_000

function createLive(watch: (onChange: () => void) => () => void) {
  const encoder = new TextEncoder()
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>()
  let stopWatching: (() => void) | undefined
  const send = (text: string) => {
    for (const stream of open) stream.enqueue(encoder.encode(text))
  }
  const remove = (stream: ReadableStreamDefaultController<Uint8Array>) => {
    if (!open.delete(stream) || open.size > 0) return
    stopWatching?.()
    stopWatching = undefined
  }
  const start = () => {
    const beat = setInterval(() => send(': \n\n'), beatMs)
    const stop = watch(() => send('event: changed\ndata: \n\n'))
    stopWatching = () => {
      clearInterval(beat)
      stop()
    }
  }
  return {
    open: (signal: AbortSignal): Response => {
      let own: ReadableStreamDefaultController<Uint8Array>
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          own = controller
          open.add(own)
          if (!stopWatching) start()
          own.enqueue(encoder.encode('event: open\ndata: \n\n'))
          signal.addEventListener('abort', () => remove(own), { once: true })
        },
        cancel: () => remove(own),
      })
      const headers = { ...securityHeaders, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
      return new Response(body, { headers })
    },
    close: (): void => {
      for (const stream of open) {
        remove(stream)
        stream.close()
      }
    },
  }
}

/** At a server there are no jobs, records and clock of this machine; members of a workspace here may use it by a proxy. */
function viewsOf({ isServer }: DashboardPorts['target'], hasWorkspace: boolean): readonly View[] {
  if (!isServer) return [overview, runs, jobs, inbox, catalogue, ledger, engine, tryIt]
  return [overview, runs, inbox, ledger, ...(hasWorkspace ? [members] : []), tryIt]
}

/** Headers of every response: nothing from other hosts, no inline code, no frame around it, nothing stored. */
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The header with the token of the page. A page of another origin cannot send it. */
const tokenHeader = 'x-dashboard-token'

type Sender = Pick<Request, 'headers' | 'url'>

/** How many browsers are admitted at most; the oldest is forgotten. */
const maxSessions = 50

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Creates the sessions of one server. A link admits one browser. Cookies ignore ports: another server of this machine could
 * get ours, so that every request needs the token of the page as well.
 */
function createSessions(random: (size: number) => Uint8Array) {
  const makeToken = () => Buffer.from(random(32)).toString('base64url')
  const sessions = new Map<string, string>()
  let link: string | undefined
  return {
    /** Returns the token of a new link; the one before no longer works. */
    makeLink: (): string => {
      const token = makeToken()
      link = digest(token)
      return token
    },
    /** Exchanges the token of a link, once, for a cookie and the token of the page. Returns `undefined` for any other. */
    exchange: (given: string) => {
      if (link === undefined || digest(given) !== link) return undefined
      link = undefined
      const [cookie, token] = [makeToken(), makeToken()]
      sessions.set(digest(cookie), digest(token))
      for (const oldest of sessions.keys()) {
        if (sessions.size <= maxSessions) break
        sessions.delete(oldest)
      }
      return { cookie, token }
    },
    isAdmitted: ({ headers, url }: Sender): boolean => {
      const cookie = cookieOf(headers, cookieName(url))
      const token = headers.get(tokenHeader)
      return cookie !== undefined && token !== null && sessions.get(digest(cookie)) === digest(token)
    },
  }
}

/** Servers of this machine share cookies, so that the name has the port. */
const cookieName = (url: string): string => `prospect-dashboard-${new URL(url).port || '80'}`

function setCookie({ headers, url }: Sender, value: string, path: string): string {
  const secure = headers.get('origin')?.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(url)}=${value}; Path=${path}; HttpOnly; SameSite=Strict${secure}`
}

const cookieOf = (headers: Headers, name: string): string | undefined =>
  headers
    .get('cookie')
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1)

/** The listener has refused other origins already; here one of the headers in which a browser says so must be present. */
function isFromPage({ headers }: Sender): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null) return site === 'same-origin'
  return origin !== null && origin.replace(/^https?:\/\//, '') === headers.get('host')
}
