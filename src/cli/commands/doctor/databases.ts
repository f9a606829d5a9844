import type { Driver } from '../../../storage/driver.js'
import type { Look } from '../../../storage/look.js'
import type { Home } from '../../context.js'
import type { Files } from './files.js'
import { reasonOf } from './reason.js'

/** A database of this machine. */
export type Name = 'engine' | 'catalogue' | 'state'

/** A database as it was found. */
export type Database =
  | { readonly is: 'missing' | 'elsewhere' }
  | { readonly is: 'unreadable'; readonly reason: string }
  | Readable

/** A database that can be read; only a current one can be asked more than its schema. */
export interface Readable {
  readonly is: 'older' | 'current' | 'newer'
  readonly look: Look
  readonly schema: number
  /** The schema of this program. */
  readonly newest: number
  /** Size in bytes. */
  readonly size: number
}

/** The databases, each opened for looking when it is first asked for. */
export interface Databases {
  find(name: Name): Promise<Database>
  /** One that this program reads and writes as it is; nothing where it is anything else. */
  current(name: Name): Promise<Driver | undefined>
  close(): Promise<void>
}

/** The databases of a home. */
export function databasesOf(home: Home, files: Files): Databases {
  const found = new Map<Name, Promise<Database>>()
  const find = (name: Name): Promise<Database> => {
    const known = found.get(name) ?? open(name, home[name], files)
    found.set(name, known)
    return known
  }
  return {
    find,
    current: async (name) => {
      const database = await find(name)
      return database.is === 'current' ? database.look.driver : undefined
    },
    close: async () => {
      for (const database of await Promise.all(found.values()))
        if ('look' in database) await database.look.driver.close()
    },
  }
}

/** Whether a location is a file, and not a server or memory. */
export const isFile = (location: string): boolean =>
  location !== ':memory:' && !/^postgres(?:ql)?:/.test(location)

async function open(name: Name, location: string, files: Files): Promise<Database> {
  if (!isFile(location)) return { is: 'elsewhere' }
  const entry = files.entry(location)
  if (!entry) return { is: 'missing' }
  if (entry.kind !== 'file') return { is: 'unreadable', reason: 'it is not a file' }
  const { lookAt } = await import('../../../storage/look.js')
  let look: Look | undefined
  try {
    look = lookAt(location)
    const [schema, newest] = [await look.schema(), await newestOf[name]()]
    const is = schema === newest ? 'current' : schema < newest ? 'older' : 'newer'
    return { is, look, schema, newest, size: entry.size }
  } catch (error) {
    await look?.driver.close()
    return { is: 'unreadable', reason: reasonOf(error) }
  }
}

/** The schema of this program, by database. */
const newestOf: Readonly<Record<Name, () => Promise<number>>> = {
  engine: async () => (await import('../../../storage/migrations.js')).migrations.length,
  catalogue: async () => (await import('../../../catalogue/schema.js')).migrations.length,
  state: async () => (await import('../../../storage/state.js')).stateMigrations.length,
}
