import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import { ApiError, errors } from '../../api/calls/errors.js'
import type { DecodedSearch, RecordOf } from '../../api/ports/ports.js'
import { liveOnlyFilters } from '../../api/schemas/enumerations.js'
import { validate } from '../../api/validation/validate.js'
import { isObject, type Fields as Values } from '../../api/values/objects.js'
import { filtersOf, previewSize } from '../../engine/handlers/imports.js'
import {
  count,
  Empty,
  Facts,
  Form,
  formatNumber,
  LinkLine,
  none,
  pathOf,
  RequestControl,
  type RequestField,
  readRequest,
  requestFields,
  Section,
  Table,
  Tabs,
  titleOf,
} from '../page/elements.js'
import { engineOf, type Fields, type Html, type Page, type View } from '../page/view.js'

/** Companies and people of the catalogue: found by the filters of the API, and one with its history. */
export const catalogue: View = {
  name: 'catalogue',
  title: 'Catalogue',
  render: async (page) => {
    // Looking creates no catalogue.
    await engineOf(page.ports)
    const texts = Object.fromEntries(page.query)
    const kind = texts.of === 'people' ? 'people' : 'companies'
    return (
      <>
        <Tabs
          label="Kinds of records"
          tabs={[
            { title: 'Companies', path: pathOf('catalogue'), isCurrent: kind === 'companies' },
            { title: 'People', path: pathOf('catalogue', { of: 'people' }), isCurrent: kind === 'people' },
          ]}
        />
        {texts.id === undefined ? await searchOf(page, kind, texts) : await recordOf(page, kind, texts.id)}
      </>
    )
  },
}

type Kind = 'companies' | 'people'

const previews = {
  companies: 'accounts.search_preview',
  people: 'leads.advanced_search_preview',
} as const

/** Fields that do not choose records of this machine. */
const notHere = new Set<string>(['live', ...liveOnlyFilters])

/** How many filters are shown at first. */
const firstFilters = 6

async function searchOf(page: Page, kind: Kind, texts: Fields): Promise<Html> {
  const shape = await shapeOf(previews[kind])
  const fields = requestFields(shape).filter(({ name }) => !notHere.has(name))
  const isAsked = fields.some(({ name }) => texts[name])
  return (
    <>
      <Section title={`Search ${kind}`}>{filterForm(kind, fields, texts)}</Section>
      {isAsked ? await resultsOf(page, kind, shape, texts) : await allOf(page, kind, texts)}
    </>
  )
}

const filterForm = (kind: Kind, fields: readonly RequestField[], texts: Fields) => {
  const more = fields.slice(firstFilters)
  const controls = (some: readonly RequestField[]) =>
    some.map((field) => <RequestControl field={field} value={texts[field.name]} />)
  const hidden = kind === 'people' ? { of: 'people' } : {}
  return (
    <Form look="fields" fields={hidden} label="Search" primary>
      {controls(fields.slice(0, firstFilters))}
      <details open={more.some(({ name }) => texts[name])}>
        <summary>{count(more.length, 'more filter')}</summary>
        <div class="fields">{controls(more)}</div>
      </details>
    </Form>
  )
}

const results = (children: Html) => <Section title="Results">{children}</Section>

/** More records of a kind are listed only by a search: each page of all of them reads all. */
const maxListed = 100_000

/** Returns a page of all records of a kind, or what to do where there are none or too many. */
async function allOf(page: Page, kind: Kind, texts: Fields): Promise<Html> {
  const { [kind]: total } = await (await page.ports.catalogue()).stats()
  if (total > maxListed)
    return results(
      <Empty>
        The catalogue has {formatNumber(total)} {kind}. Fill in a filter, such as words, to see some of them.
      </Empty>,
    )
  if (total > 0) return foundBy(page, { kind, filters: {} } as DecodedSearch, texts, total)
  return results(
    <>
      <Empty command="data sample">The catalogue has no {kind} yet. For invented ones: </Empty>
      <Empty command={`data import ${kind} FILE`}>For your own: </Empty>
    </>,
  )
}

async function resultsOf(page: Page, kind: Kind, shape: Shape, texts: Fields): Promise<Html> {
  try {
    const input = validate(previews[kind], shape, { ...readRequest(shape, texts), live: false })
    const search = { kind, filters: filtersOf(input) } as DecodedSearch
    return await foundBy(page, search, texts)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return results(
      <p class="refusal">
        {error.message}. {errors[error.code].hint}
      </p>,
    )
  }
}

/** Returns a page of what a search finds; `all` is the number of its records where that is known. */
async function foundBy({ ports }: Page, decoded: DecodedSearch, texts: Fields, all?: number): Promise<Html> {
  const { after, total: counts, ...filters } = texts
  const source = await ports.catalogue()
  const admin = await engineOf(ports)
  const { now } = await admin.clock()
  const search = await admin.resolveSearch(decoded)
  const page = await source.find(search, {
    limit: previewSize,
    now,
    after: isPosition(after) ? after : undefined,
  })
  const isWhole = after === undefined && page.next === undefined
  const total = isWhole
    ? page.records.length
    : (all ?? page.total ?? (counts ? await source.count(search, now) : undefined))
  const noun = decoded.kind === 'companies' ? 'company' : 'person'
  if (page.records.length === 0)
    return results(<Empty>No {noun} matches. Remove a filter, or widen one.</Empty>)
  return (
    <Section
      title={
        total === undefined
          ? 'Results'
          : `Results: ${total === 1 ? `1 ${noun}` : `${formatNumber(total)} ${decoded.kind}`}`
      }
    >
      {decoded.kind === 'companies'
        ? companyTable(page.records as readonly RecordOf<'companies'>[])
        : personTable(page.records as readonly RecordOf<'people'>[])}
      <nav class="pages" aria-label="Pages">
        {after !== undefined && <a href={pathOf('catalogue', filters)}>First page</a>}
        {page.next !== undefined && (
          <a href={pathOf('catalogue', { ...filters, after: page.next })}>Next page</a>
        )}
        {total === undefined && <a href={pathOf('catalogue', { ...texts, total: 1 })}>Count all</a>}
      </nav>
    </Section>
  )
}

/** Whether a text can be a position after which a page begins. */
const isPosition = (text: string | undefined): text is string =>
  text !== undefined && /^\[-?\d+(,-?\d+)?\]$/.test(text)

const companyTable = (records: readonly RecordOf<'companies'>[]) => (
  <Table
    label="Companies"
    columns={[
      {
        title: 'Company',
        cell: ({ id, name }) => <a href={pathOf('catalogue', { id })}>{name ?? id}</a>,
      },
      'domain',
      'industry',
      'country',
      { title: 'Founded', number: true, cell: ({ founded_year: year }) => year ?? none },
      'headcount',
    ]}
    rows={records.map(({ account }) => account)}
  />
)

const personTable = (records: readonly RecordOf<'people'>[]) => (
  <Table
    label="People"
    columns={[
      {
        title: 'Person',
        cell: ({ lead, network_id: id }) =>
          id === null ? (
            (lead.full_name ?? none)
          ) : (
            <a href={pathOf('catalogue', { of: 'people', id })}>{lead.full_name ?? id}</a>
          ),
      },
      { title: 'Title', cell: ({ lead }) => lead.title ?? none },
      {
        title: 'Company',
        cell: ({ company }) =>
          company === null ? (
            none
          ) : (
            <a href={pathOf('catalogue', { id: company.id })}>{company.name ?? company.id}</a>
          ),
      },
      { title: 'Headline', cell: ({ lead }) => lead.headline ?? none },
    ]}
    rows={records}
  />
)

const maxEntries = 100
const maxJobs = 25

/** A record as `data export` prints it: its facts, then each list in it, and the jobs of a company. */
async function recordOf({ ports }: Page, kind: Kind, id: string): Promise<Html> {
  const source = await ports.catalogue()
  const record = await source.record(kind, id)
  if (!record)
    return (
      <Section title="Record">
        <Empty>
          There is no such record. <a href={pathOf('catalogue', { of: kind })}>Search for it</a>.
        </Empty>
      </Section>
    )
  const { name = record.full_name } = record
  const lists = Object.entries(record).filter(([, value]) => isObjects(value))
  return (
    <>
      <Section title={typeof name === 'string' ? name : id}>
        <Facts facts={Object.fromEntries(factsIn(record))} />
        {kind === 'companies' && (
          <LinkLine
            path={pathOf('catalogue', {
              of: 'people',
              included_companies: String(record.network_id ?? name ?? ''),
            })}
          >
            People of this company
          </LinkLine>
        )}
      </Section>
      {lists.map(([field, entries]) => listOf(titleOf(field), entries as readonly Values[]))}
      {kind === 'companies' && (await jobsOf({ ports }, record))}
    </>
  )
}

const isObjects = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isObject)

/** Returns the facts of a record without its lists of objects. Fields of an object have dotted names. */
const factsIn = (record: Values, prefix = ''): [string, Html][] =>
  Object.entries(record).flatMap(([name, value]): [string, Html][] => {
    if (isObjects(value)) return []
    if (isObject(value)) return factsIn(value, `${prefix}${name} `)
    return [[titleOf(`${prefix}${name}`), textOf(value)]]
  })

const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  return value === null || value === undefined ? '–' : isObject(value) ? JSON.stringify(value) : String(value)
}

/** A list of a record, such as past positions: a column for each field that occurs. */
const listOf = (title: string, entries: readonly Values[]) => {
  const names = [...new Set(entries.flatMap((entry) => Object.keys(entry)))]
  return (
    <Section title={title}>
      <Table
        label={title}
        columns={names.map((name) => ({
          title: titleOf(name),
          number: entries.every((entry) => typeof entry[name] === 'number'),
          cell: (entry: Values) => textOf(entry[name]),
        }))}
        rows={entries.slice(0, maxEntries)}
      />
      {entries.length > maxEntries && (
        <Empty>
          The first {maxEntries} of {formatNumber(entries.length)}.
        </Empty>
      )}
    </Section>
  )
}

async function jobsOf({ ports }: Pick<Page, 'ports'>, record: Values): Promise<Html> {
  const text = (name: string) => (typeof record[name] === 'string' ? record[name] : undefined)
  const query = {
    networkId: text('network_id'),
    url: text('network_url'),
    domain: text('domain'),
    name: text('name'),
    country: text('country'),
  }
  const { now } = await (await engineOf(ports)).clock()
  const found = await (await ports.catalogue()).jobs(query, {}, maxJobs, now)
  if (found === undefined || found.total === 0)
    return (
      <Section title="Jobs">
        <Empty command="data import jobs FILE">No job of this company is known. To import some: </Empty>
      </Section>
    )
  return (
    <Section title={`Jobs: ${formatNumber(found.total)}, the newest first`}>
      <Table
        label="Jobs"
        columns={['job_title', 'job_location', 'country_code', 'employment_statuses', 'date_posted']}
        rows={found.jobs}
      />
    </Section>
  )
}
