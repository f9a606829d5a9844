// Adapters import every port from here.

export type * from './sender.js'
export type * from './source.js'

/** Real time in milliseconds since 1970; the engine adds its own adjustable clock. */
export interface Clock {
  now(): number
}

/** Source of ids and secrets. */
export interface Ids {
  uuid(): string
  /** Random bytes. */
  bytes(size: number): Uint8Array
}
