import type { Connection } from '../../storage/driver/connection.js'
import { inTexts } from '../full-text/match.js'
import { type Condition, every } from '../full-text/sql-conditions.js'
import { written } from '../full-text/sqlite.js'
import { leadOf, type PersonAtCompany } from '../records/person-record.js'
import { partOf, readPosition } from './cursor.js'
import { type PeopleQuery, peopleQuery } from './people-query.js'
import type { Finder } from './search-kind.js'

/** Up to this number counts are exact, as is every smaller one. */
const exactUpTo = 10_000
/** One in so many people is looked at to estimate a larger number. */
const share = 16

/**
 * Searches of people, in the order they came into the catalogue: it is that of the texts and of the columns that are
 * searched, so that nothing is sorted, and who is added or changed while a search is walked disturbs nothing.
 */
export const peopleSearch: Finder<'people'> = {
  async count(connection, filters, now) {
    const query = await peopleQuery(connection, filters, now)
    const exact = await countOf(connection, keysOf(connection, query, exactUpTo + 1))
    if (exact <= exactUpTo) return exact
    const sampled = await countOf(connection, keysOf(connection, query, undefined, isSampled))
    return Math.max(exact, sampled * share)
  },

  async find(connection, filters, { limit, after, now }) {
    const query = await peopleQuery(connection, filters, now)
    const [last] = readPosition<readonly [key: number]>(after) ?? [0]
    const isWhole = after === undefined && findsAllFirst(connection, query)
    const [keys, ...values] = keysOf(connection, query, limit + 1, (key) => [`${key} > ?`, last], isWhole)
    const rows = await connection.all<PersonAtCompany & { key: number; total: number }>(
      `SELECT people.key, people.record, companies.record AS company${isWhole ? ', found.total' : ''}
        FROM (${keys}) AS found
        CROSS JOIN people ON people.key = found.key LEFT JOIN companies ON companies.key = people.company
        ORDER BY found.key`,
      ...values,
    )
    const { records, ...more } = partOf(rows, limit, ({ key }) => [key])
    const total = rows[0]?.total ?? 0
    return {
      ...{ records: records.map((row) => leadOf(row, now)), ...more },
      ...(isWhole && total <= exactUpTo ? { total } : {}),
    }
  },
}

// Neighbours in the catalogue resemble each other, and so do those a round number apart: keys are mixed up first.
const isSampled = (key: string): Condition => [`(${key} * 2654435761 >> 16) % ${share} = 0`]

/** How many people match, exactly. */
export const countPeople = (connection: Connection, query: PeopleQuery): Promise<number> =>
  countOf(connection, keysOf(connection, query))

const countOf = async (connection: Connection, [sql, ...values]: Condition): Promise<number> =>
  (await connection.get<{ total: number }>(`SELECT count(*) AS total FROM (${sql}) AS found`, ...values))
    ?.total ?? 0

/**
 * A query for the keys of who matches, in their order. It begins with what finds fewest: words, else companies, else
 * it goes through all. Where many are looked at, that is in the index of facts, a tenth of the table.
 */
function keysOf(
  connection: Connection,
  query: PeopleQuery,
  limit?: number,
  more?: (key: string) => Condition,
  isCounted = false,
): Condition {
  const { key, from, conditions } = pathOf(connection, query)
  const [where, ...values] = every([...conditions, ...query.conditions, ...(more ? [more(key)] : [])])
  const counted = isCounted ? ', count(*) OVER () AS total' : ''
  const sql = `SELECT ${key} AS key${counted} FROM ${from} WHERE ${where} ORDER BY ${key}`
  return limit === undefined ? [sql, ...values] : [`${sql} LIMIT ?`, ...values, limit]
}

/** Whether all who match are found before the first of them is known: then they are as well counted. */
const findsAllFirst = ({ dialect }: Connection, { text }: Pick<PeopleQuery, 'text'>): boolean =>
  dialect === 'postgres' && text !== undefined && !text.negated

interface Path {
  readonly key: 'people_text.rowid' | 'people.key' | '+people.key'
  readonly from: string
  readonly conditions: readonly Condition[]
}

function pathOf(connection: Connection, { text, staff }: PeopleQuery): Path {
  const size = staff?.size ?? 'many'
  const texts = text ? [inTexts(connection, 'people', text, size)] : []
  // PostgreSQL finds its way by itself.
  if (connection.dialect === 'postgres')
    return {
      // The sign keeps it from reading the words of everybody in order, where few have them.
      key: findsAllFirst(connection, { text }) ? '+people.key' : 'people.key',
      from: 'people',
      conditions: [...(staff ? [staff.condition] : []), ...texts],
    }
  if (text && !text.negated && staff?.size !== 'few')
    return {
      key: 'people_text.rowid',
      from: 'people_text CROSS JOIN people INDEXED BY people_facts ON people.key = people_text.rowid',
      conditions: [['people_text MATCH ?', written(text.texts)], ...(staff ? [staff.condition] : [])],
    }
  if (!staff) return { key: 'people.key', from: 'people INDEXED BY people_facts', conditions: texts }
  // The sign keeps SQLite from going through everybody in order, where the people of few companies are quickly sorted.
  return { key: '+people.key', from: 'people', conditions: [staff.condition, ...texts] }
}
