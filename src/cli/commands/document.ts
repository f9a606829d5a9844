import { version } from '../version.js'

/** The OpenAPI document of the engine behind a base address. */
export async function document(serverUrl?: string): Promise<object> {
  const { openapi } = await import('../../reference/openapi.js')
  const { pending } = await import('../../engine/pending.js')
  return openapi({ version: await version(), pending, ...(serverUrl === undefined ? {} : { serverUrl }) })
}
