import type { Handler } from './handler.js'

/** `POST /locations`: an empty list when nothing matches. */
export const find: Handler<'locations.find'> = async ({ input, source }) => ({
  output: [...(await source.locations(input.name, input.source))],
})
