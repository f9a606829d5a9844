import type { Place } from './listening.js'

/** What stands behind a server's socket. */
export interface Behind {
  readonly handler: (request: Request) => Promise<Response>
  /** Names beyond its own by which it is called. */
  readonly hosts: readonly string[]
  /** One sentence for whoever started it. */
  readonly text: string
  /** Begins what goes on beside requests. */
  start(): void
  stop(): Promise<void>
}

/** What `serve` is told. */
export interface ServeChoices extends Place {
  readonly allowHost?: readonly string[]
  readonly allowTarget?: readonly string[]
  readonly database?: string
  readonly worker: boolean
  readonly upstream?: string
  readonly publicUrl?: string
  readonly secretFile?: string
  readonly secretStdin?: boolean
}
