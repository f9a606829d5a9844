import type { Handler } from './handler.js'

/** `POST /locations`: nothing found is an empty list. */
export const find: Handler<'locations.find'> = async ({ input, source }) => ({
  output: [...(await source.locations(input.name, input.source))],
})
