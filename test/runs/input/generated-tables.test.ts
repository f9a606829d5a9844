import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import { ApiError, Refusal } from '../../../src/api/calls/errors.js'
import { operations } from '../../../src/api/operations/table.js'
import { openFile } from '../../../src/catalogue/import/open-file.js'
import { prepareFile } from '../../../src/catalogue/import/prepare.js'
import { describe } from '../../../src/cli/messages.js'
import { ColumnSample, isPlaceholder } from '../../../src/identity/value-kinds.js'
import { createRowReader, mapColumns } from '../../../src/runs/input/mapping.js'
import { createLookup, toMappingRequest } from '../../../src/runs/plan/lookup.js'
import { countedIds } from '../../catalogue/open.js'
import { tries } from '../../support/effort.js'

/** What a cell is, as it was made. */
type Kind = 'person profile' | 'company profile' | 'email' | 'phone' | 'web' | 'company' | 'person' | 'other'

const word = fc.stringMatching(/^[a-z]{3,9}$/)
const digits = fc.stringMatching(/^[2-9]\d{6}$/)
const one = (...texts: string[]) => fc.constantFrom(...texts)

/** Joins what arbitraries make. */
const text = (...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
  fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((made) => made.join(''))

const host = text(
  one('https://', 'http://', ''),
  one('www.', 'de.', 'fr.', ''),
  one('linkedin.com', 'network.example'),
)
const cells: Readonly<Record<Kind, fc.Arbitrary<string>>> = {
  'person profile': text(
    host,
    one('/in/', '/sales/lead/', '/sales/people/', '/IN/'),
    word,
    one('', '/', '?trk=x', ',NAME_SEARCH,x', '/fr'),
  ),
  'company profile': text(
    host,
    one('/company/', '/sales/company/'),
    fc.oneof(word, digits),
    one('', '/', '/about?x=1'),
  ),
  email: text(
    one('', 'mailto:'),
    word,
    one('', '.'),
    word,
    '@',
    word,
    one('.example', '.co.uk', '.de', '.com'),
  ),
  phone: fc.oneof(
    text(one('+49 30 ', '+1 555 ', '+33 6', '0049 89 ', "'+44 20 "), digits),
    text(one('030 ', '(030) ', '06 '), digits),
    text('555-', fc.stringMatching(/^\d{3}-\d{4}$/)),
  ),
  web: text(
    one('https://', 'http://www.', '', 'www.'),
    word,
    one('.example', '.de', '.co.uk', '.io'),
    one('', '/', '/a?b=c'),
  ),
  company: text(word, ' ', word, one('', ' GmbH', ' SARL', ', Inc.', ' & Co. KG')),
  person: text(one('Ada', 'Jürgen', 'Zoé', 'Li', 'Anne-Marie'), one('', ' ', ' van '), word),
  other: one(
    '',
    '',
    ' ',
    'n/a',
    '-',
    '?',
    '12',
    '51-200',
    '2024-01-31',
    '01/02/2024',
    'DE',
    'France',
    'x y',
    '#REF!',
  ),
}
const kinds = Object.keys(cells) as Kind[]

const headers =
  `Company, Company Name, Firma, Unternehmen, Société, Nom du compte, Account Name, Name, Nom, Website, 
Webseite, Site web, Domain, Domaine, Homepage, Internet, Company Domain Name, LinkedIn, LinkedIn URL, 
Profile URL, Profil LinkedIn, Company LinkedIn URL, Sales Navigator URL, First Name, Vorname, Prénom, 
Last Name, Nachname, Nom de famille, Full Name, Contact, Email, E-Mail, Courriel, Mail, 
Adresse email, Phone, Telefon, Téléphone, Mobil, Handy, Country, Land, Pays, City, Stadt, Ville, 
Company ID, LinkedIn ID, Member ID, Industry, Column 3, Spalte 1, URL, Link, Lien, , Feld, Notes, 
Titel, Position, limit, 
live`.split(/, \n?/)

interface Column {
  readonly name: string
  readonly cells: readonly (readonly [Kind, string])[]
}

const createCell = (kind: Kind): fc.Arbitrary<readonly [Kind, string]> =>
  cells[kind].map((cell) => [cell.trim() === '' ? 'other' : kind, cell] as const)

/** A column mostly of one kind, or of any kinds. */
const createColumn = (rows: number): fc.Arbitrary<Column> =>
  fc
    .tuple(one(...headers), fc.constantFrom(...kinds), fc.constantFrom(0, 0.1, 0.5, 0.9, 1))
    .chain(([name, kind, noise]) =>
      fc.record({
        name: fc.constant(name),
        cells: fc.array(
          fc
            .double({ min: 0, max: 1, noNaN: true })
            .chain((at) => (at < noise ? fc.constantFrom(...kinds).chain(createCell) : createCell(kind))),
          { minLength: rows, maxLength: rows },
        ),
      }),
    )

const table: fc.Arbitrary<readonly Column[]> = fc
  .tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 9 }))
  .chain(([width, rows]) =>
    fc.uniqueArray(createColumn(rows), { minLength: width, maxLength: width, selector: ({ name }) => name }),
  )

/** Kinds that fields of another meaning never get. */
const certain: readonly Kind[] = ['person profile', 'company profile', 'email', 'phone']

/** The fields that take one of these kinds, or none. Fields of free text are not listed. */
const fieldsOf = {
  email: 'domain company_domain website email personal_email',
  phone: 'phone phones phone_number phone_numbers',
  'person profile': 'network_profile_url premium_profile_url linkedin_url',
  'company profile': 'company_network_url',
  none: 'name company_name country country_code first_name firstname last_name lastname full_name network_id company_network_id',
}
const kindOf = new Map(
  Object.entries(fieldsOf).flatMap(([kind, fields]) =>
    fields.split(' ').map((field) => [field, kind] as const),
  ),
)

const isWrong = (field: string, kind: Kind, ofProfile: Kind): boolean => {
  const meant = field === 'network_url' ? ofProfile : kindOf.get(field)
  return meant !== undefined && certain.includes(kind) && meant !== kind
}

const rowsOf = (columns: readonly Column[]): string[][] =>
  (columns[0]?.cells ?? []).map((_, row) => columns.map(({ cells }) => cells[row]?.[1] ?? ''))

const samplesOf = (columns: readonly Column[]) => {
  const sample = new ColumnSample(columns.length)
  for (const row of rowsOf(columns)) sample.add(row)
  return sample.cells
}

const batches = await Promise.all(
  operations()
    .filter(({ batch }) => batch !== undefined && batch.into === undefined)
    .map(async (operation) => ({
      operation,
      shape: await shapeOf(operation.id),
      constants: {},
      choices: { map: [] },
    })),
)

/** Maps the columns of a table for a batch, and opens a reader of its rows; `undefined` where that is refused. */
const mapped = (columns: readonly Column[], request: (typeof batches)[number]) =>
  orNothing(Refusal, () => {
    const header = columns.map(({ name }) => name)
    const mapping = mapColumns(toMappingRequest(request, { header, samples: samplesOf(columns) }))
    return { header, mapping, reader: createRowReader(request.operation, request.shape, mapping) }
  })

test('a profile URL, an email address or a phone number never fills a field of another kind in a batch', () => {
  fc.assert(
    fc.property(table, fc.constantFrom(...batches), (columns, request) => {
      const read = mapped(columns, request)
      if (!read) return
      const { header, mapping, reader } = read
      const { operation } = request
      const ofProfile = operation.batch?.identity === 'company' ? 'company profile' : 'person profile'
      const { identity } = createLookup(request, mapping, { header }, describe)
      const profileOf = new Map<string, string>()
      for (const [row, cells] of rowsOf(columns).entries()) {
        const read = reader.read(cells)
        const { input } = read
        try {
          reader.validate(read)
        } catch {
          continue
        }
        for (const { field, at: own, by, orElse = [] } of mapping.columns) {
          // An address or a number may come from another column of them, where that of the field has none.
          const plain = (text: unknown) =>
            String(text)
              .replace(/^'|^mailto:/, '')
              .replaceAll(/[\s()]/g, '')
              .replace(/^00/, '+')
              .toLowerCase()
          const isUsed = (place: number) => plain(cells[place]) === plain(input[field])
          const at = [own, ...orElse.map((one) => one.at)].find(isUsed) ?? own
          const [kind = 'other'] = columns[at]?.cells[row] ?? []
          if (input[field] === undefined || (kind === 'email' && by === 'last resort')) continue
          expect([field, cells[at], isWrong(field, kind, ofProfile)]).toEqual([field, cells[at], false])
        }
        const at = mapping.columns.find(({ field }) => /^(network_url|linkedin_url)$/.test(field))?.at
        const url = at === undefined || operation.batch?.identity === 'company' ? undefined : cells[at]
        const known = identity(input)
        if (
          known === undefined ||
          url === undefined ||
          columns[at ?? 0]?.cells[row]?.[0] !== 'person profile'
        )
          continue
        expect(profileOf.get(known) ?? readSlug(url)).toBe(readSlug(url))
        profileOf.set(known, readSlug(url))
      }
    }),
    { numRuns: tries(100, 1_000) },
  )
})

/** Fields of which a request takes one: the other says nothing more. */
const alternatives = ['company_network_id', 'phone_number']

test('a cell that is not understood costs no row of a batch, and no cell is left out without a word', () => {
  fc.assert(
    fc.property(table, fc.constantFrom(...batches), (columns, request) => {
      const opened = mapped(columns, request)
      if (!opened) return
      const { mapping, reader } = opened
      const read = (cells: readonly string[]) => {
        const row = reader.read(cells)
        const { input } = row
        const reported = row.leftOut.map(({ field }) => field)
        return orNothing(ApiError, () => {
          reader.validate(row)
          return {
            values: Object.values(input),
            known: [...Object.keys(input), ...reported, ...alternatives],
          }
        })
      }
      for (const cells of rowsOf(columns)) {
        const whole = read(cells)
        for (const { field, at, part } of mapping.columns) {
          const cell = cells[at]?.trim()
          // Of a full name each field has a part.
          if (!cell || part || isPlaceholder(field, cell)) continue
          if (whole)
            expect([field, cell, whole.known.includes(field) || whole.values.includes(cell)]).toEqual([
              field,
              cell,
              true,
            ])
          else expect([field, cells, read(cells.with(at, ''))]).toEqual([field, cells, undefined])
        }
      }
    }),
    { numRuns: tries(100, 2_000) },
  )
})

const readSlug = (url: string): string => /\/(?:in|lead|people)\/([^/?,]*)/i.exec(url)?.[1] ?? url

test('a profile URL, an email address or a phone number never fills a field of another kind in an import', async () => {
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom('companies' as const, 'people' as const),
      async (columns, kind) => {
        const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
        const lines = [columns.map(({ name }) => name), ...rowsOf(columns)].map((row) =>
          row.map(quoted).join(','),
        )
        const read = await openFile(kind, Readable.from([Buffer.from(`${lines.join('\n')}\n`)]), {
          skipLines: 0,
        }).catch(refused)
        if (!read) return
        const ofProfile = kind === 'companies' ? 'company profile' : 'person profile'
        for await (const rows of read.batches)
          for (const row of rows) {
            if (!('raw' in row)) continue
            const cells = columns.map(({ cells }) => cells[row.line - 2])
            for (const [field, value] of Object.entries(row.raw)) {
              if (value === undefined) continue
              // A company without a website has the domain of its address.
              if (field === 'domain' && cells.some((cell) => cell?.[1].toLowerCase().endsWith(`@${value}`)))
                continue
              const own = columns.findIndex(({ name }) => name.trim() === read.mapping[field])
              // Addresses and numbers may come from other columns of them, where that of the field has none; numbers beside it.
              const isOfSeveral = field === 'phone' || field === 'email'
              const parts = isOfSeveral ? String(value).split('; ') : [String(value)]
              for (const part of parts) {
                const isOwn = cells[own]?.[1].replace(/^'/, '') === part.replace(/^'/, '')
                const at = isOwn || !isOfSeveral ? own : cells.findIndex((one) => one?.[1] === part)
                const [made = 'other', cell] = cells[at] ?? []
                if (at !== own) expect([field, 'company', 'person', 'other']).toContain(made)
                expect([field, part.replace(/^'/, '')]).toEqual([field, cell?.replace(/^'/, '')])
                expect([field, cell, isWrong(field, made, ofProfile)]).toEqual([field, cell, false])
              }
            }
          }
      },
    ),
    { numRuns: tries(100, 1_000) },
  )
})

/** Fields of records with a value that is understood and one that is not. The first identifies a record. */
const fieldValues = {
  companies: {
    domain: ['acme.example', 'ada@gmail.com'],
    country: ['Germany', 'Narnia'],
    employee_range: ['51-200', 'a few'],
    headcount: ["1'200", 'many'],
    founded_year: ['1999', '-5'],
    revenue: ['1.500,50', 'lots'],
    phone: ['+49 30 1234567', 'ada@acme.example'],
    technology_details: ['[]', 'no JSON'],
  },
  people: {
    email: ['ada@acme.example', 'at home'],
    network_profile_url: ['https://www.linkedin.com/in/ada', 'https://www.linkedin.com/company/acme'],
    country: ['DE', 'Narnia'],
    personal_email: ['ada@home.example', 'at home'],
    phone: ['+49 30 1234567', 'ring me'],
    connections_count: ['500', '500+'],
    is_premium_network: ['yes', 'perhaps'],
    started_at: ['2024-01-31', 'soon'],
    company_domain: ['acme.example', 'https://www.linkedin.com/in/ada'],
    past_positions: ['[]', '{}'],
  },
} as const
const identifyingFields = ['domain', 'email', 'network_profile_url']

const damagedTable = fc.constantFrom('companies' as const, 'people' as const).chain((kind) => {
  const columns = Object.entries(fieldValues[kind])
  const damage = fc.constantFrom('good', 'good', 'bad', 'blank')
  const row = fc.array(damage, { minLength: columns.length, maxLength: columns.length })
  return fc.record({ kind: fc.constant(kind), rows: fc.array(row, { minLength: 1, maxLength: 9 }) })
})

test('a value that is not understood costs no record of an import, and each one left out is counted and named', async () => {
  const property = fc.asyncProperty(damagedTable, async ({ kind, rows }) => {
    const columns = Object.entries(fieldValues[kind])
    const map = Object.fromEntries(columns.map(([field]) => [field, field]))
    const toCell = (damage: string | undefined, at: number): string =>
      damage === 'good' ? (columns[at]?.[1][0] ?? '') : damage === 'bad' ? (columns[at]?.[1][1] ?? '') : ''
    const read = async (table: readonly (readonly string[])[]) => {
      const lines = [columns.map(([field]) => field), ...table.map((row) => row.map(toCell))]
      const text = lines.map((line) => line.map((cell) => `"${cell}"`).join(',')).join('\n')
      const batches = await Array.fromAsync(
        prepareFile(kind, Readable.from([Buffer.from(text)]), { map }, { ...countedIds(), uuid: () => 'id' }),
      )
      return {
        // A row that is refused may have used up an id.
        records: JSON.parse(
          JSON.stringify(batches.flatMap(({ records }) => records)).replaceAll(/ACoAA[\w-]{24}/g, 'id'),
        ) as unknown[],
        rejected: batches.flatMap(({ rejected }) => rejected.map(({ line }) => line)),
        leftOut: batches.flatMap(({ leftOut }) => leftOut).toSorted((a, b) => a.field.localeCompare(b.field)),
      }
    }
    const isIdentified = (row: readonly string[]): boolean =>
      row.some((damage, at) => damage === 'good' && identifyingFields.includes(columns[at]?.[0] ?? ''))
    const kept = rows.filter(isIdentified)
    const { records, rejected, leftOut } = await read(rows)
    const repaired = await read(rows.map((row) => row.map((damage) => (damage === 'bad' ? 'blank' : damage))))
    expect(records).toEqual(repaired.records)
    expect(records).toHaveLength(kept.length)
    expect(rejected).toEqual(
      rows.flatMap((row, at) =>
        isIdentified(row) || row.every((damage) => damage === 'blank') ? [] : [at + 2],
      ),
    )
    const counted = columns.map(([field, [, sample]], at) => {
      const values = kept.filter((row) => row[at] === 'bad').length
      return { field, values, sample }
    })
    expect(leftOut).toEqual(
      counted.filter(({ values }) => values > 0).toSorted((a, b) => a.field.localeCompare(b.field)),
    )
  })
  await fc.assert(property, { numRuns: tries(100, 400) })
})

function refused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}

function orNothing<T>(refusal: abstract new (...args: never[]) => Error, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof refusal) return undefined
    throw error
  }
}
