import type { Caller } from './caller.js'

/** Wraps a caller, for example to check keys or to keep to rate limits. */
export type Layer = (caller: Caller) => Caller

/** Wraps a caller in layers, of which the first is the outermost. Layers that are not wanted are `undefined`. */
export const compose = (layers: readonly (Layer | undefined)[], caller: Caller): Caller =>
  layers.reduceRight((inner, layer) => layer?.(inner) ?? inner, caller)
