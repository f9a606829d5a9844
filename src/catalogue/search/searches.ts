import type {
  EngagerFilters,
  PageRequest,
  RecordOf,
  ResultPage,
  Search,
  SearchKind,
} from '../../api/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { type Condition, countRows, every, isOneOf } from '../full-text/keyword.js'
import { toLead } from '../records/person.js'
import { toPostIdentity } from '../records/posts.js'
import { companySearch } from './companies.js'
import { growthSearch } from './growth.js'
import { hiringSearch } from './hiring.js'
import { lookalikes } from './lookalikes.js'
import { peopleSearch } from './people.js'
import { parseCursor, type Searcher, toPage } from './search-kind.js'
import { stackSearch } from './stack.js'

const searcherOf = <K extends SearchKind>(kind: K) => searchers[kind] as unknown as Searcher<K>

export const countRecords = async (connection: Connection, search: Search, now: number): Promise<number> =>
  searcherOf<SearchKind>(search.kind).count(connection, search.filters, now)

export const findRecords = async <K extends SearchKind>(
  connection: Connection,
  { kind, filters }: Search<K>,
  span: PageRequest,
): Promise<ResultPage<RecordOf<K>>> => searcherOf(kind).find(connection, filters, span)

/** Searches the people who engaged with a post, each once, by profile. An unknown person has only a profile url. */
const engagers: Searcher<'engagers'> = {
  count: (connection, filters) => countRows(connection, selectEngagers(filters)),

  find: async (connection, filters, { limit, after, now }) => {
    const [last] = parseCursor<readonly [profile: string]>(after) ?? ['']
    const rows = await readEngagers(connection, filters, last, limit + 1)
    const toRecord = ({ url, record, company }: EngagerRow) =>
      toLead({ record: record ?? JSON.stringify({ network_profile_url: url }), company }, now)
    return toPage(rows, limit, ({ profile }) => [profile], toRecord)
  },
}

interface EngagerRow {
  readonly profile: string
  readonly url: string
  readonly record: string | null
  readonly company: string | null
}

const engagements = { reactions: ['reaction'], comments: ['comment'], all: ['reaction', 'comment'] } as const

// A profile is an id or a slug, and a post may have one person under both: the lesser one counts. A slug that several
// people share identifies none.
function selectEngagers({ post_url, engagement }: EngagerFilters): Condition {
  const [where, ...values] = every([
    ['post = (SELECT key FROM posts WHERE identity = ?)', toPostIdentity(post_url)],
    isOneOf('engagement', engagements[engagement]),
  ])
  const each = `SELECT profile, min(url) AS url, coalesce(
      (SELECT key FROM people WHERE network_id = profile),
      (SELECT CASE WHEN count(*) = 1 THEN min(key) END FROM people WHERE slug = profile)
    ) AS person
    FROM engagers WHERE ${where} GROUP BY profile`
  const ranked = `SELECT *, row_number() OVER (
      PARTITION BY person, CASE WHEN person IS NULL THEN profile END ORDER BY profile
    ) AS place FROM (${each}) AS engaged`
  return [`SELECT profile, url, person FROM (${ranked}) AS ranked WHERE place = 1`, ...values]
}

async function readEngagers(connection: Connection, filters: EngagerFilters, last: string, limit: number) {
  const [engaged, ...values] = selectEngagers(filters)
  return await connection.all<EngagerRow>(
    `SELECT engaged.profile, engaged.url, people.record, companies.record AS company
      FROM (SELECT * FROM (${engaged}) AS every WHERE profile > ? ORDER BY profile LIMIT ?) AS engaged
      LEFT JOIN people ON people.key = engaged.person
      LEFT JOIN companies ON companies.key = people.company
      ORDER BY engaged.profile`,
    ...values,
    last,
    limit,
  )
}

const searchers: { readonly [K in SearchKind]: Searcher<K> } = {
  companies: companySearch,
  people: peopleSearch,
  stack: stackSearch,
  hiring: hiringSearch,
  growth: growthSearch,
  lookalikes,
  engagers,
}
