import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import type { Dispatcher } from 'undici'
import failures from './failures.json' with { type: 'json' }

/** Limits for reading an answer, and its server. */
export interface ReadingSettings {
  readonly base: URL
  readonly proxy: URL | undefined
  /** Maximum time from sending the request to the end of the body. */
  readonly answerMs: number
  /** Maximum size of a body in bytes. */
  readonly bodyBytes: number
  /** Maximum time from the status to the end of the body, where that is less. */
  readonly bodyMs?: number
  /** Whether an abort means that the time is over: then what has come of an answer counts. */
  readonly isDeadline?: boolean
}

export interface WireAnswer {
  readonly status: number
  /** As received, with lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array<ArrayBuffer>
  /** Why the body is incomplete, in words that follow "Upstream answered". */
  readonly broken?: string
}

/** A request without an answer. */
export class Lost extends Error {
  override readonly name = 'Lost'

  constructor(
    message: string,
    /** Whether it was sent, so that the server may have acted on it. */
    readonly sent: boolean,
    /** Code of the failure, such as `ECONNREFUSED`. `aborted`: by the caller. `late`: by a timeout. */
    readonly code: string,
  ) {
    super(message)
  }
}

export class Reading implements Dispatcher.DispatchHandler {
  #chunks: Buffer[] = []
  #size = 0
  #controller: Dispatcher.DispatchController | undefined
  #head: Pick<WireAnswer, 'status' | 'headers'> | undefined
  #timer: NodeJS.Timeout | undefined
  #over = false
  /** Returns the connection it comes over; set by clients that are watched, and there from the start for those. */
  wireOf: (() => object | undefined) | undefined = undefined
  started: () => void = () => {}
  ended: () => void = () => {}

  constructor(
    private readonly settings: ReadingSettings,
    private readonly settled: {
      readonly resolve: (answer: WireAnswer | Promise<WireAnswer>) => void
      readonly reject: (error: Lost) => void
    },
  ) {}

  /** The connection is open and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.started()
    if (this.#over) controller.abort(new Error('given up'))
    else this.#timer = setTimeout(() => this.end('late'), this.settings.answerMs)
  }

  onResponseStart(_: unknown, status: number, headers: WireAnswer['headers']): void {
    if (status < 200) return
    this.#head = { status, headers }
    const { bodyMs, bodyBytes } = this.settings
    if (bodyMs !== undefined) {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.end('late'), bodyMs)
    }
    const length = Number(headers['content-length'])
    if (length > bodyBytes) this.end('large')
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > this.settings.bodyBytes) this.end('large')
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#finish(() => this.#answer())
  }

  onResponseError(_: unknown, error: Error): void {
    this.#finish(() => (this.#head ? this.#answer('with only a part of its body') : this.#lost(error)))
  }

  /** Ends the reading from this side. */
  end(why: 'aborted' | 'late' | 'large'): void {
    this.#finish(() => {
      if (why === 'large') this.#answer(tooLarge(this.settings))
      else if (this.#head && why === 'late') this.#answer('too slowly')
      else this.#lost(why)
    })
    this.#controller?.abort(new Error(why))
  }

  #finish(settle: () => void): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#timer)
    this.ended()
    settle()
  }

  #answer(broken?: string): void {
    const body = Buffer.concat(this.#chunks)
    if (!this.#head) this.#lost(new Error('no status'))
    else if (broken === undefined) this.settled.resolve(unpacked({ ...this.#head, body }, this.settings))
    else this.settled.resolve({ ...this.#head, body, broken })
  }

  #lost(cause: Error | 'aborted' | 'late'): void {
    const sent = this.#controller !== undefined
    this.settled.reject(lostTo(this.settings, cause, sent))
  }
}

const tooLarge = ({ bodyBytes }: ReadingSettings): string =>
  `with more than ${Math.floor(bodyBytes / 1_048_576)} MiB`

const decoders: Readonly<Record<string, typeof gunzip>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflate,
  br: brotliDecompress,
}

/** Whether a body has the header of `deflate`, which some servers leave out. */
const isZlib = (body: Uint8Array): boolean =>
  ((body[0] ?? 0) & 15) === 8 && (((body[0] ?? 0) << 8) | (body[1] ?? 0)) % 31 === 0

/** Unpacks a body that came packed, though that was not asked for. */
function unpacked(answer: WireAnswer, settings: ReadingSettings): WireAnswer | Promise<WireAnswer> {
  const { 'content-encoding': encoding, ...headers } = answer.headers
  const named = decoders[String(encoding).trim().toLowerCase()]
  const decoder = named === inflate && !isZlib(answer.body) ? inflateRaw : named
  if (!decoder || answer.body.length === 0) return answer
  return promisify(decoder)(answer.body, { maxOutputLength: settings.bodyBytes }).then(
    (body) => ({ ...answer, headers, body: body as WireAnswer['body'] }),
    (error: unknown) => {
      const isTooLarge = codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
      return { ...answer, broken: isTooLarge ? tooLarge(settings) : 'with a compressed body that is damaged' }
    },
  )
}

function lostTo({ base, proxy, answerMs }: ReadingSettings, cause: unknown, sent: boolean): Lost {
  const { host } = base
  if (cause === 'aborted') return new Lost(`${host} did not answer in time`, sent, cause)
  if (cause === 'late') return new Lost(`${host} did not answer within ${answerMs / 1_000} s`, sent, cause)
  const through = proxy && !sent ? `, through the proxy ${proxy.host}` : ''
  return new Lost(sentenceOf(cause, host) + through, sent, codeOf(cause))
}

/** Sentences about failures, by error code. `UND_ERR_HEADERS_TIMEOUT` is about the answer to CONNECT. */
const sentences: Readonly<Record<string, string>> = failures

/** Returns one sentence about why a request to a host failed. It leaves out the URL, whose path may be a secret. */
export function sentenceOf(error: unknown, host: string): string {
  const code = codeOf(error)
  const known = sentences[code]
  if (known) return known.replace('{host}', host)
  if (code.startsWith('UND_ERR_SOCKS5')) return `The connection to ${host} was not permitted`
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS'))
    return `${host} does not speak TLS as it should`
  if (error instanceof Error && error.name === 'HTTPParserError')
    return `${host} answered with something that is not HTTP`
  return `The request to ${host} failed${code ? ` (${code})` : ''}`
}

/** Returns the code of an error, or of the first of its causes that has one; else an empty string. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause)
}
