import { securityHeaders } from './security.js'

/** Between two comments that keep an unchanged stream alive, in milliseconds. */
const beatMs = 10_000

/**
 * Creates the streams that tell open pages of changes, as server-sent events. Databases are watched while there is one.
 */
export function createLive(watch: (onChange: () => void) => () => void) {
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
    /** Returns a stream that ends with `signal`. */
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
    /** Ends all streams. */
    close: (): void => {
      for (const stream of open) {
        remove(stream)
        stream.close()
      }
    },
  }
}
