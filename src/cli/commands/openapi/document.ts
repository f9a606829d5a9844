import { version } from '../../context/version.js'

/** The OpenAPI document of the engine behind a base address. */
export async function document(serverUrl?: string): Promise<object> {
  const { openapi } = await import('../../../reference/openapi.js')
  return openapi({ version: await version(), ...(serverUrl === undefined ? {} : { serverUrl }) })
}
