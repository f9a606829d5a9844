import { createHash } from 'node:crypto'

/** Headers of every response: nothing from other hosts, no inline code, no frame around it, nothing stored. */
export const securityHeaders = {
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
export const tokenHeader = 'x-dashboard-token'

/** A request as far as it proves who sends it. */
type Sender = Pick<Request, 'headers' | 'url'>

/** What a browser gets for the token of a link. */
export interface Admitted {
  readonly cookie: string
  /** The token of the page, which is sent in `tokenHeader`. */
  readonly token: string
}

/** Browsers that were admitted; none of them is stored. */
export type Sessions = ReturnType<typeof createSessions>

/** How many browsers are admitted at most; the oldest is forgotten. */
const mostSessions = 50

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Creates the sessions of one server. A link admits one browser. Cookies ignore ports: another server of this machine could
 * get ours, so that every request needs the token of the page as well.
 */
export function createSessions(random: (size: number) => Uint8Array) {
  const makeToken = () => Buffer.from(random(32)).toString('base64url')
  /** Digests of the tokens of pages, by those of their cookies. */
  const sessions = new Map<string, string>()
  let link: string | undefined
  return {
    /** Returns the token of a new link; the one before no longer works. */
    makeLink: (): string => {
      const token = makeToken()
      link = digest(token)
      return token
    },
    /** Exchanges the token of a link, once. Returns `undefined` for any other. */
    exchange: (given: string): Admitted | undefined => {
      if (link === undefined || digest(given) !== link) return undefined
      link = undefined
      const [cookie, token] = [makeToken(), makeToken()]
      sessions.set(digest(cookie), digest(token))
      for (const oldest of sessions.keys()) {
        if (sessions.size <= mostSessions) break
        sessions.delete(oldest)
      }
      return { cookie, token }
    },
    /** Whether a request comes from a page of an admitted browser. */
    isAdmitted: ({ headers, url }: Sender): boolean => {
      const cookie = cookieOf(headers, cookieName(url))
      const token = headers.get(tokenHeader)
      return cookie !== undefined && token !== null && sessions.get(digest(cookie)) === digest(token)
    },
  }
}

/** Servers of this machine share cookies, so that the name has the port. */
const cookieName = (url: string): string => `prospect-dashboard-${new URL(url).port || '80'}`

export function setCookie({ headers, url }: Sender, value: string, path: string): string {
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

/**
 * Whether a page of ours sends a request. The listener has refused other origins already; here one of the headers in which
 * a browser says so must be present.
 */
export function isFromPage({ headers }: Sender): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null) return site === 'same-origin'
  return origin !== null && origin.replace(/^https?:\/\//, '') === headers.get('host')
}
