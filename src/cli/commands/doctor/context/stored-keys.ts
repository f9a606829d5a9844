import { exits, Stop } from '../../../context/errors.js'
import type { Scene } from './scene.js'

/** The key stored for an origin, whoever else may read the file; a `Stop` tells where it is damaged. */
export function keyStored({ home, files }: Scene, origin: string): string | undefined {
  if (files.entry(home.credentials)?.kind !== 'file') return undefined
  try {
    const { keys } = JSON.parse(files.text(home.credentials)) as { keys: Record<string, { key: string }> }
    return Object.hasOwn(keys, origin) ? keys[origin]?.key : undefined
  } catch {
    // The parser's own words could quote a key.
    throw new Stop(`${home.credentials} is damaged.`, exits.key, 'Delete it and store the keys again.', 'key')
  }
}
