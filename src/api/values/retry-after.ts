/**
 * Milliseconds that a `Retry-After` header asks to wait, given in seconds or as an HTTP date; nothing where there is
 * none. `now` is real time.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  const seconds = Number(text)
  const ms = Number.isNaN(seconds) ? Date.parse(text) - now : seconds * 1_000
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
