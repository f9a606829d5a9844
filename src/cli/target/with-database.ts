import type { Targets } from '../../engine/ports/ports.js'
import type { Context } from '../context/context.js'
import { createContext, type World } from './create.js'

/** The same world around a database, and with other targets for deliveries where they are given; closed with the command. */
export function otherWorld(
  context: Context,
  database: string | undefined,
  targets: ((members: number) => Targets) | undefined,
  more: Pick<World, 'around' | 'names'> = {},
): Context {
  const { streams, clock, ids, sleep } = context
  const env = database === undefined ? streams.env : { ...streams.env, PROSPECT_DATABASE_URL: database }
  const other = createContext(
    { ...streams, env },
    { clock, ids, sleep, ...(targets ? { targets } : {}), ...more },
  )
  context.onClose(() => other.close())
  return other
}
