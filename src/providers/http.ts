import type { Dispatcher } from 'undici'
import { maxLevels } from '../api/operations/facts.js'
import type { Clock } from '../api/ports/ports.js'
import { isDeeperThan, parseForeign } from '../api/values/json.js'
import { isObject, resultOr } from '../api/values/objects.js'
import { createExchange, type MayGo } from '../client/exchange.js'
import { Lost } from '../client/reading.js'
import type { Resolve } from '../client/ssrf-guard.js'
import type { VendorAnswer, VendorRequest } from './compile.js'
import { addressOf, type ProviderFile, type Signature, tokenUrlOf } from './definition.js'
import { targetsOf } from './registry.js'
import { signatureOver } from './webhook.js'

/** What goes to a vendor: whose address it is, where that may be, and the key. */
interface VendorTarget {
  readonly file: ProviderFile
  readonly allow: readonly string[]
  readonly key: string
}

/** Sends requests to vendors. It follows no redirects, and limits answers in size and time. */
export type VendorHttp = ReturnType<typeof createVendorHttp>

/** A token, or the status that says that there is none for the key. */
type Token = { readonly until: number } & ({ readonly token: string } | { readonly refused: number })

export function createVendorHttp(clock: Clock, resolve?: Resolve) {
  const others = createExchange(resolve && { resolve })
  const tokens = new Map<string, Promise<Token>>()

  async function exchange(
    url: string,
    allow: readonly string[],
    options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>,
    timeoutMs: number,
    mayGo?: MayGo,
  ): Promise<VendorAnswer & { readonly text: string }> {
    const answer = await others.exchange(url, targetsOf(allow), options, timeoutMs, mayGo)
    const { text, status } = answer
    const isTooDeep = isDeeperThan(text, maxLevels)
    const read = () => (isTooDeep ? undefined : resultOr(undefined, () => parseForeign(text)))
    const body = text.trim() === '' ? null : read()
    // Garbage for a success may be half an answer that was charged.
    if (body === undefined && status >= 200 && status < 300) {
      const what = isTooDeep ? `JSON of more than ${maxLevels} levels` : 'something that is not JSON'
      throw new Lost(`${new URL(url).host} answered with ${what}`, true, 'broken')
    }
    return { ...answer, body: body ?? null }
  }

  /** Returns the token that client credentials are exchanged for; it is kept until shortly before it expires. */
  function tokenOf(target: VendorTarget, timeoutMs: number): Promise<Token> {
    const { file, allow, key } = target
    const { scope, in: place, client_id } = file.auth.oauth ?? {}
    const url = tokenUrlOf(file) ?? ''
    const known = tokens.get(tokenName(target))
    const fresh = async (): Promise<Token> => {
      const [id, secret] = client_id === undefined ? splitClient(key) : [client_id, key]
      const isInBody = place === 'body'
      const form = {
        grant_type: 'client_credentials',
        ...(scope === undefined ? {} : { scope }),
        ...(isInBody ? { client_id: id, client_secret: secret } : {}),
      }
      const headers = {
        accept: 'application/json',
        ...(isInBody
          ? {}
          : { authorization: `Basic ${base64(client_id === undefined ? key : `${id}:${secret}`)}` }),
        'content-type': formType,
      }
      const request = { method: 'POST', headers, body: String(new URLSearchParams(form)) } as const
      const asked = exchange(url, allow, request, timeoutMs).catch((error: unknown) => {
        // The vendor has no request yet.
        throw error instanceof Lost ? new Lost(error.message, false, error.code) : error
      })
      const { status, body: said } = await asked
      const { access_token, expires_in } = isObject(said) ? said : {}
      if (status === 400 || status === 401 || status === 403) return { refused: status, until: 0 }
      if (status < 200 || status > 299 || typeof access_token !== 'string' || access_token === '')
        throw new Lost(`${new URL(url).host} gave no token (status ${status})`, false, 'broken')
      const given = Number(expires_in ?? Number.NaN)
      const seconds = Number.isFinite(given) ? given : 300
      return { token: access_token, until: performance.now() + Math.max(0, seconds - 30) * 1_000 }
    }
    const next = known
      ? known.then((token) => (token.until > performance.now() ? token : fresh()), fresh)
      : fresh()
    tokens.set(tokenName(target), next)
    return next
  }

  /**
   * Sends a request with the key of the provider, unless `mayGo` says that it may not go out any more. Rejects with a `Lost`
   * where no usable answer came.
   */
  async function send(
    target: VendorTarget,
    request: VendorRequest,
    timeoutMs: number,
    mayGo?: MayGo,
    isAgain = false,
  ): Promise<VendorAnswer & { readonly text: string }> {
    const { file, allow, key } = target
    const { method, path, headers, body, isForm = false } = request
    const { header, query, bearer, headers: own = {}, oauth, sign } = file.auth
    // A function: of a text, `$` would have a meaning.
    const before = (file.auth.path ?? '').replaceAll('{key}', () => encodeURIComponent(key))
    const url = new URL(addressOf(addressOf(file.base_url, before), path))
    if (query !== undefined) url.searchParams.set(query, key)
    const keyed = file.auth.body !== undefined && isObject(body) ? { ...body, [file.auth.body]: key } : body
    const content = keyed === undefined ? undefined : isForm ? toForm(keyed) : JSON.stringify(keyed)
    const token = oauth && (await tokenOf(target, timeoutMs))
    // The key is invalid, as the vendor itself would say it.
    if (token && 'refused' in token) return { status: 401, headers: {}, body: null, text: '' }
    const filled = Object.entries(own).map(([name, value]) => [
      name,
      // A function: of a text, `$` would have a meaning.
      value.replace(/\{key(_base64)?\}/g, (_, isBase64?: string) => (isBase64 ? base64(key) : key)),
    ])
    const auth = {
      ...(header === undefined ? {} : { [header]: key }),
      ...(bearer ? { authorization: `Bearer ${key}` } : {}),
      ...(token ? { authorization: `Bearer ${token.token}` } : {}),
      ...Object.fromEntries(filled),
      ...(sign
        ? signatureOf(sign, key, { method, path: url.pathname + url.search, body: content ?? '' })
        : {}),
    }
    const usual = {
      accept: 'application/json',
      'user-agent': 'prospect',
      ...(content === undefined ? {} : { 'content-type': isForm ? formType : 'application/json' }),
    }
    const options = { method, headers: { ...usual, ...headers, ...auth }, body: content ?? null }
    const answer = await exchange(url.href, allow, options, timeoutMs, mayGo)
    // A token may end before its time.
    if (!token || answer.status !== 401 || isAgain) return answer
    tokens.delete(tokenName(target))
    return send(target, request, timeoutMs, mayGo, true)
  }

  /** Returns the headers of a signature over a request. */
  function signatureOf(
    sign: Signature,
    key: string,
    request: Readonly<Record<'method' | 'path' | 'body', string>>,
  ) {
    const { header, over, timestamp } = sign
    const ms = clock.now()
    const words: Readonly<Record<string, string>> = {
      ...request,
      timestamp: String(Math.floor(ms / 1_000)),
      timestamp_ms: String(ms),
    }
    const time = over.includes('{timestamp_ms}') ? words.timestamp_ms : words.timestamp
    return {
      [header]: signatureOver(sign, key, words),
      ...(timestamp === undefined ? {} : { [timestamp]: time }),
    }
  }

  return { send, close: others.close }
}

const tokenName = ({ file, key }: VendorTarget): string =>
  [tokenUrlOf(file), file.auth.oauth?.client_id, file.auth.oauth?.scope, key].join(' ')

const formType = 'application/x-www-form-urlencoded'

/** Returns the client id and secret that a key is of OAuth. */
export const splitClient = (key: string): readonly [string, string] => {
  const [id = '', ...secret] = key.split(':')
  return [id, secret.join(':')]
}

/** Returns a form; a list has its name once for each element. */
function toForm(body: unknown): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(isObject(body) ? body : {}))
    for (const one of [value].flat()) form.append(name, isObject(one) ? JSON.stringify(one) : String(one))
  return String(form)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
