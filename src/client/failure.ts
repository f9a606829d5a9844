import failures from './failures.json' with { type: 'json' }

/**
 * Sentences about failures on the way to a host, certificates among them, by error code. `UND_ERR_HEADERS_TIMEOUT` is about the
 * answer to CONNECT.
 */
const sentences: Readonly<Record<string, string>> = failures

/**
 * Returns one sentence about why a request to a host failed. It leaves out the URL, whose path may be a secret.
 */
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
