import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import type { Machine } from './command.js'
import { freshSchema } from './postgres.js'

/** Where a machine keeps its engine and its runs, with what stops writes to them. */
export interface Place {
  readonly env: Record<string, string>
  /** Ends the options of commands about its runs. */
  readonly at: string
  /** Stops what changes the replies of the engine, or the lookups, until it is called. */
  hold(what: 'engine' | 'state'): Promise<() => Promise<void>>
  /** Computes an expression of SQL; 0 where there are no tables yet. */
  value(what: 'engine' | 'state', expression: string): Promise<number>
  count(what: 'engine' | 'state', from: string): Promise<number>
  /** Resolves at once when there are so many, or when it is over. */
  until(what: 'engine' | 'state', from: string, most: number, isOver: () => boolean): Promise<void>
  /** Has the leases of killed processes expire. */
  expire(): Promise<void>
}

const countOf = (from: string) => `(SELECT count(*) FROM ${from})`

/** Work of the engine that was under way. */
const expireSql = 'UPDATE jobs SET lease_until = 0; UPDATE replies SET lease_until = 0'

const isNoTable = (error: unknown) => /no such table|does not exist/.test(String(error))

async function looking(isThere: () => Promise<boolean>, isOver: () => boolean): Promise<void> {
  while (!isOver() && !(await isThere())) await pause(2)
}

export function sqlitePlace(here: Machine): Place {
  const open = (what: string) => new Database(here.path(`${what}.db`))
  const find = (database: Database.Database, expression: string) => {
    try {
      return Number(database.prepare(`SELECT ${expression}`).pluck().get() ?? 0)
    } catch (error) {
      if (isNoTable(error)) return 0
      throw error
    }
  }
  const value = async (what: string, expression: string) => {
    if (!here.exists(`${what}.db`)) return 0
    const database = open(what)
    try {
      return find(database, expression)
    } finally {
      database.close()
    }
  }
  return {
    env: {},
    at: '',
    hold: async (what) => {
      const database = open(what)
      database.exec('BEGIN IMMEDIATE')
      return async () => void database.close()
    },
    value,
    count: (what, from) => value(what, countOf(from)),
    until: async (what, from, most, isOver) => {
      await looking(async () => here.exists(`${what}.db`), isOver)
      if (isOver()) return
      // To open it for each look would take most of a processor.
      const database = open(what)
      try {
        await looking(async () => find(database, countOf(from)) >= most, isOver)
      } finally {
        database.close()
      }
    },
    expire: async () => {
      const database = open('engine')
      database.exec(expireSql)
      database.close()
    },
  }
}

/** `closing` takes what removes it. */
export async function postgresPlace(closing: (close: () => Promise<void>) => void): Promise<Place> {
  const { url, name, drop, sql } = await freshSchema()
  closing(drop)
  const schemas = { engine: name, state: `${name}_state` }
  const value = async (what: 'engine' | 'state', expression: string) => {
    try {
      const rows = await sql(`SET search_path TO ${schemas[what]}; SELECT ${expression} AS n`)
      return Number(rows[0]?.n ?? 0)
    } catch (error) {
      if (isNoTable(error)) return 0
      throw error
    }
  }
  return {
    env: { PROSPECT_DATABASE_URL: url },
    at: ` --database ${url}`,
    hold: async (what) => {
      const client = new Client({ connectionString: url })
      await client.connect()
      const table = what === 'engine' ? 'run_replies' : 'lookups'
      await client.query(`BEGIN; LOCK TABLE ${schemas[what]}.${table} IN SHARE MODE`)
      return () => client.end()
    },
    value,
    count: (what, from) => value(what, countOf(from)),
    until: (what, from, most, isOver) =>
      looking(async () => (await value(what, countOf(from))) >= most, isOver),
    expire: async () => {
      await sql(`SET search_path TO ${schemas.engine}; ${expireSql}`)
      await sql(`UPDATE ${schemas.state}.run_locks SET lease_until = 0`)
    },
  }
}

/** Both databases that a machine may keep them in. */
export const places: Record<
  string,
  (here: Machine, closing: (close: () => Promise<void>) => void) => Promise<Place>
> = { SQLite: async (here) => sqlitePlace(here), PostgreSQL: (_, closing) => postgresPlace(closing) }
