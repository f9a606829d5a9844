import type { Passed, ReceivedDelivery } from './inbox.js'

const patienceMs = 15_000

/**
 * Sends a copy of a delivery to an address once, with the same body and headers, in at most 15 s. A redirect is a
 * failure.
 */
export async function passOn(
  target: string,
  { headers, body }: Pick<ReceivedDelivery, 'headers' | 'body'>,
  signal?: AbortSignal,
): Promise<Passed> {
  const timeout = AbortSignal.timeout(patienceMs)
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    await response.body?.cancel()
    return { ok: response.ok, answer: String(response.status) }
  } catch (error) {
    return { ok: false, answer: timeout.aborted ? 'no answer within 15 s' : reasonOf(error) }
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed',
  ENOTFOUND: 'unknown host',
  UND_ERR_SOCKET: 'connection closed',
}

/** Returns why there was no answer: the cause of what `fetch` throws, in our words when it is known. */
function reasonOf(error: unknown): string {
  const { code, message } = (error as { cause?: { code?: unknown; message?: unknown } } | null)?.cause ?? {}
  if (typeof code === 'string') return reasons[code] ?? code
  return typeof message === 'string' && message !== '' ? message : 'not sent'
}
