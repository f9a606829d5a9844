/** What is wrong with a certificate, by error code. */
const certificate: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is signed by an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is signed by an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name',
}

/** Failures on the way to a host, by error code. */
const failures: Readonly<Record<string, (host: string) => string>> = {
  ECONNREFUSED: (host) => `${host} refused the connection`,
  ECONNRESET: (host) => `${host} closed the connection without an answer`,
  EPIPE: (host) => `${host} closed the connection without an answer`,
  UND_ERR_SOCKET: (host) => `${host} closed the connection without an answer`,
  UND_ERR_PRX_CONN: (host) => `${host} closed the connection without an answer`,
  ETIMEDOUT: (host) => `${host} did not accept the connection in time`,
  UND_ERR_CONNECT_TIMEOUT: (host) => `${host} did not accept the connection in time`,
  // The answer to CONNECT.
  UND_ERR_HEADERS_TIMEOUT: (host) => `${host} did not accept the connection in time`,
  UND_ERR_ABORTED: (host) => `The connection to ${host} was not permitted`,
  EHOSTUNREACH: (host) => `${host} cannot be reached from here`,
  ENETUNREACH: (host) => `${host} cannot be reached from here`,
  ENOTFOUND: (host) => `The name ${host} was not found`,
  ENODATA: (host) => `The name ${host} has no address`,
  EAI_AGAIN: (host) => `The name ${host} could not be looked up; the name server did not answer`,
  UND_ERR_HEADERS_OVERFLOW: (host) => `${host} answered with too many headers`,
  EPROTO: (host) => `${host} does not speak TLS as it should`,
}

/**
 * Returns one sentence about why a request to a host failed. It leaves out the URL, whose path may be a secret.
 */
export function sentenceOf(error: unknown, host: string): string {
  const code = codeOf(error)
  const guilty = certificate[code]
  if (guilty) return `The certificate of ${host} ${guilty}`
  const known = failures[code]
  if (known) return known(host)
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
