import type * as z from 'zod'
import type { Shape } from '../../api/areas/shapes.js'
import { columnsField, type Input, withoutColumns } from '../../api/calls/caller.js'
import { type Note, Refusal } from '../../api/calls/errors.js'
import type { Identity } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { kindOf } from '../../api/validation/coerce.js'
import { toJson } from '../../api/values/json.js'
import { getOrMake, isObject } from '../../api/values/objects.js'
import { hashNumber, hashOf, type RepeatFilter } from '../../csv/identity-filter.js'
import type { CsvRow } from '../../csv/parse.js'
import { type RowPrice, rowPriceOf } from '../../engine/credits/cost.js'
import { identityIn, type Key, keysOf, keyText, otherKeysIn } from '../../identity/keys.js'
import { Subjects } from '../../identity/subjects.js'
import { toEmail } from '../../identity/value-kinds.js'
import type { RowOutcome } from '../../lookups/answer.js'
import type { Ask, Origin, Stating } from '../../lookups/store.js'
import { describing, identifying } from '../input/identifying.js'
import {
  createRowReader,
  type Mapping,
  type MappingRequest,
  mapColumns,
  parsePins,
  type ReadRow,
  rowInput,
} from '../input/mapping.js'
import { isNoRecord, type PeopleOfRows, type Table } from '../input/table.js'
import { hasResult, onlyMissingOf, type ResultRequest } from '../output/columns.js'
import { explainRows } from './explain.js'

interface LookupRequest extends ResultRequest {
  readonly choices: {
    readonly map: readonly string[]
    readonly explode?: boolean
    readonly onlyMissing?: string | undefined
  }
  /** The options that choose the target: `direct` leaves unknown fields to the server. */
  readonly targetOptions?: Readonly<Record<string, unknown>>
}

/** Returns the fields that the columns of a file are matched with. */
export const toMappingRequest = (
  { operation, shape, constants, choices }: LookupRequest,
  {
    header,
    samples,
    notes = [],
    repeated = [],
    uncalculated = [],
    isText = false,
  }: Pick<Table, 'header' | 'samples'> & Partial<Table>,
): MappingRequest => ({
  header,
  samples,
  notes,
  repeated,
  uncalculated,
  isText,
  fields: operation.batch?.fields ?? Object.keys(shape.input.shape),
  subject: operation.batch?.identity ?? 'company',
  constants,
  pins: parsePins(choices.map),
})

/** Returns a mapping that notes the column of a file that has what its people are looked up for: rows with it may need no lookup. */
export function withFoundColumn(
  { operation, constants, choices }: LookupRequest,
  { header, samples }: Pick<Table, 'header' | 'samples'>,
  mapping: Mapping,
): Mapping {
  const [field, ...others] = [constants.enrichment_type ?? []].flat().map(String)
  const isOfPeople = operation.batch?.identity === 'person' || operation.batch?.identity === 'contact'
  if (!isOfPeople || field === undefined || others.length > 0 || choices.onlyMissing !== undefined)
    return mapping
  const { columns } = mapColumns({ header, samples, fields: [field], subject: 'person', anyOf: [] })
  const found = columns.find(
    ({ column, by, sample }) =>
      (by === 'name' || by === 'synonym') && sample !== undefined && mapping.unused.includes(column),
  )
  if (!found) return mapping
  const note: Note = { code: 'map.found_already', details: { field, column: found.column } }
  return { ...mapping, notes: [...mapping.notes, note] }
}

/** Returns how each row of a mapped file becomes an input, with its identity and maximum price. */
export function createLookup(
  request: LookupRequest,
  mapping: Mapping,
  { header, samples, isKept = false }: Pick<Table, 'header'> & Partial<Pick<Table, 'samples' | 'isKept'>>,
  describe: (refusal: Refusal) => string,
  known?: { has(input: Input): boolean },
  suppressor?: RowSuppressor,
  columns: readonly AskedColumn[] = [],
): Lookup {
  const { operation, shape, constants } = request
  const onlyMissing = onlyMissingOf(request, header)
  const hasFilled = onlyMissing && hasResult(onlyMissing, header)
  const ofFields = createRowReader(
    operation,
    shape,
    mapping,
    constants,
    request.targetOptions?.direct === true,
  )
  const reader: Pick<typeof ofFields, 'read' | 'validate'> =
    columns.length === 0
      ? ofFields
      : {
          read: (cells) => {
            const row = ofFields.read(cells)
            return { ...row, input: withColumns(row.input, cells, columns) }
          },
          validate: (row) => ofFields.validate({ ...row, input: withoutColumns(row.input) }),
        }
  const rowsRead = new Map<readonly string[], ReadRow>()
  /** Reads a row that stays in memory once. */
  const readOwn = (cells: readonly string[]): ReadRow =>
    isKept ? getOrMake(rowsRead, cells, () => reader.read(cells)) : reader.read(cells)
  const identifiers = readIdentifiers(operation, header, samples)
  const about =
    identifiers && ((cells: readonly string[], input: Input) => ({ ...identifiers(cells), ...input }))
  const subjects = about && new Subjects('person')
  const fields = identifying[operation.batch?.identity ?? 'company'].filter((name) =>
    Object.hasOwn(shape.input.shape, name),
  )
  const hasTypes = Object.hasOwn(shape.input.shape, 'enrichment_type')
  const toSent = (input: Input): Input => (hasTypes ? reduceTypes(input) : input)
  const identity = identityOf(operation, shape)
  /** The rows that are remembered, and by the lines where they begin what others say of the people of those that are complete. */
  let remembered: { readonly line: number; readonly own: Input; person: Input; keys: readonly Key[] }[] = []
  const completions = new Map<number, Input>()
  const saidSoFar = (cells: readonly string[], own: Input) =>
    about && subjects && !subjects.isEmpty
      ? missingFrom(own, subjects.completed(about(cells, own)), fields)
      : undefined
  const read: Lookup['read'] = (cells, line) => {
    const row = readOwn(cells)
    const more = line === undefined ? saidSoFar(cells, row.input) : completions.get(line)
    const input = toSent(more ? { ...row.input, ...more } : row.input)
    return input === row.input ? row : { ...row, input, isValid: false, identity: undefined }
  }
  return {
    read,
    validate: reader.validate,
    about: known || suppressor ? about : undefined,
    people: about &&
      subjects && {
        read: (cells) => {
          const own = readOwn(cells).input
          const person = about(cells, own)
          const keys = keysOf('person', person)
          return {
            keys: keys.map(({ value }) => value),
            identity: () => identity(toSent(own), surestOf(own, person, keys)),
          }
        },
        add: ({ cells, line }) => {
          const own = readOwn(cells).input
          const person = about(cells, own)
          remembered.push({ line, own, person, keys: subjects.add(person) })
        },
        complete: () => {
          const identities: string[] = []
          for (const { line, own, person, keys } of remembered) {
            const more = missingFrom(own, subjects.completed(person, keys), fields)
            if (!more) continue
            completions.set(line, more)
            const whole = identity(toSent({ ...own, ...more }))
            if (whole !== undefined && whole !== identity(toSent(own))) identities.push(whole)
          }
          remembered = []
          subjects.clear()
          return identities
        },
      },
    isEmailOnly: ({ enrichment_type: types }) => isSeveral(constants.enrichment_type) && !isSeveral(types),
    explain: explainRows(describe, mapping, constants),
    identity,
    otherHashes: otherHashesOf(operation),
    alsoAnswers: alsoAnswersOf(operation),
    ...rowPriceOf(request),
    suppressor,
    ...(operation.quota === undefined ? {} : { units: ({ limit }: Input) => Number(limit ?? 0) }),
    skip: (row) => isNoRecord(row) || hasFilled?.(row.cells) === true,
    isKnown:
      known &&
      ((cells) => {
        if (cells.length !== header.length) return false
        const input = readOwn(cells).input
        return known.has(about?.(cells, input) ?? input)
      }),
  }
}

/** A column that rows are asked with, and its position. */
export interface AskedColumn {
  readonly name: string
  readonly at: number
}

/** Returns those of some columns that a file has, whatever their case. */
export function columnsIn(header: readonly string[], names: readonly string[]): readonly AskedColumn[] {
  const plain = header.map((one) => one.trim().toLowerCase())
  return names.flatMap((name) => {
    const exact = header.indexOf(name)
    const at = exact < 0 ? plain.indexOf(name.trim().toLowerCase()) : exact
    return at < 0 ? [] : [{ name, at }]
  })
}

/** Returns an input with the columns of its row that have a value: with others it is another lookup. */
function withColumns(input: Input, cells: readonly string[], columns: readonly AskedColumn[]): Input {
  const values = columns.flatMap(({ name, at }) => {
    const text = cells[at]?.trim()
    return text ? [[name, text] as const] : []
  })
  return values.length === 0 ? input : { ...input, [columnsField]: Object.fromEntries(values) }
}

/** Returns what identifies the person of an input, whose row also says some of `person`, which has these keys. */
function surestOf(own: Input, person: Input, keys: readonly Key[]): string | undefined {
  const addresses = ['email', 'personal_email']
  const isSame = (field: string) => own[field] === person[field]
  const hasNone = addresses.every((field) => own[field] === undefined)
  if (!isSame('network_url') || !(hasNone || addresses.every(isSame))) return identityIn('person', own)
  const surest = hasNone ? keys.find(({ sort }) => sort !== 'email') : keys[0]
  return surest && keyText('person', surest)
}

/** Returns what `all` says in some fields and an input does not say itself; `undefined` where that is nothing. */
function missingFrom(input: Input, all: Input, fields: readonly string[]): Input | undefined {
  const missing = fields.filter((name) => input[name] === undefined && all[name] !== undefined)
  return missing.length === 0 ? undefined : Object.fromEntries(missing.map((name) => [name, all[name]]))
}

/** Returns a reader of the columns that identify the person of a row, whether the operation sends them or not. */
function readIdentifiers(
  { batch }: Operation,
  header: readonly string[],
  samples: Table['samples'] | undefined,
): ((cells: readonly string[]) => Input) | undefined {
  if (!samples || (batch?.identity !== 'person' && batch?.identity !== 'contact')) return undefined
  const fields = ['email', 'personal_email', 'network_url']
  const { columns, ...mapping } = mapColumns({ header, samples, fields, subject: 'person', anyOf: [] })
  // A column of some other address may be that of somebody else, such as the owner of the account.
  return rowInput({ ...mapping, columns: columns.filter(({ by }) => by === 'name' || by === 'synonym') })
}

const isSeveral = (types: unknown): types is readonly unknown[] => Array.isArray(types) && types.length > 1

/** Returns the input without the types of enrichment that need a profile URL, where the row has none and an email is left. */
function reduceTypes(input: Input): Input {
  const { enrichment_type: types, network_url } = input
  if (network_url !== undefined || !isSeveral(types) || !types.includes('email')) return input
  return { ...input, enrichment_type: ['email'] }
}

const subjects: Readonly<Record<Identity, (input: Input) => string | undefined>> = {
  company: (input) => identityIn('company', input),
  person: (input) => identityIn('person', input),
  contact: (input) => identityIn('person', input),
  email: ({ email }) => (typeof email === 'string' ? (toEmail(email) ?? email.trim()) : undefined),
  number: ({ phone_number: one, phone_numbers: many }) => JSON.stringify(one ?? many),
}

/** Returns what identifies a paid lookup: whom a row is about, where that is not known yet, and its options. */
export function identityOf(
  operation: Operation,
  shape: Pick<Shape, 'input'>,
): (input: Input, subject?: string) => string | undefined {
  const subject = operation.batch?.identity ?? 'company'
  const optionsOf = optionsText(subject, shape)
  const subjectOf = subjects[subject]
  return (input, identity = subjectOf(input)) => {
    const options = optionsOf(input)
    return identity === undefined ? undefined : identity + options
  }
}

interface OptionKind {
  /** JSON of what it is without being given. */
  readonly usual: string | undefined
  /** Whether it is a list of fixed words, such as types of enrichment, whose order says nothing. */
  readonly isSet: boolean
}

function optionKindOf(schema: z.ZodType | undefined): OptionKind {
  const { default: value, item } = schema ? kindOf(schema) : {}
  return { usual: value === undefined ? undefined : toJson(value), isSet: item?.type === 'enum' }
}

/** Returns what an identity has of the options of a row, with a space before it; an empty text without options. */
function optionsText(subject: Identity, shape: Pick<Shape, 'input'>): (input: Input) => string {
  // Fields that identify or describe a subject are no options.
  const descriptive = new Set([...identifying[subject], ...describing, 'country', 'country_code'])
  const schemas: Readonly<Record<string, z.ZodType>> = shape.input.shape
  const kinds = new Map<string, OptionKind>()
  return (input) => {
    const options: [string, unknown][] = []
    for (const name in input) {
      if (descriptive.has(name)) continue
      const value = input[name]
      const { usual, isSet } = getOrMake(kinds, name, () => optionKindOf(schemas[name]))
      // An option that is what it is without being given changes nothing, either.
      if (usual !== undefined && usual === toJson(value)) continue
      options.push([name, isSet && Array.isArray(value) ? value.toSorted() : value])
    }
    return options.length === 0 ? '' : ` ${toJson(options.sort(([a], [b]) => (a < b ? -1 : 1)))}`
  }
}

/** Begins the options of an identity. */
const optionsMark = ' [["'

const optionsIn = (identity: string): string => {
  const at = identity.indexOf(optionsMark)
  return at < 0 ? '' : identity.slice(at)
}

const profilesOfPerson = { network_profile_url: 'network_url', premium_profile_url: 'network_url' }

/** Fields of answers that identify their subject, and the fields that such a row has. Names and guessed addresses do not. */
const stating: Readonly<Partial<Record<Identity, Readonly<Record<string, string>>>>> = {
  company: {
    network_url: 'network_url',
    network_id: 'company_network_id',
    domain: 'domain',
    website: 'domain',
  },
  person: profilesOfPerson,
  contact: profilesOfPerson,
}

/** Returns the fields by which the answers of an operation say whom they are about; `undefined` where they do not. */
function statingOf({ batch }: Operation) {
  // Of a company, only its record says which one it is.
  const states = batch && (batch.identity !== 'company' || batch.record)
  return states ? stating[batch.identity] : undefined
}

/** Returns what an answer to a lookup identifies besides it: other lookups with these identities take that answer. */
function alsoAnswersOf(operation: Operation): Lookup['alsoAnswers'] {
  const { identity: subject } = operation.batch ?? {}
  const fields = statingOf(operation)
  if (!subject || !fields) return undefined
  const names = Object.entries(fields)
  const subjectOf = subjects[subject]
  return (identity, body, kinds) => {
    const identities: string[] = []
    if (!isObject(body)) return identities
    const options = optionsIn(identity)
    const hasProfiles = !kinds || kinds.has('id') || kinds.has('slug') || kinds.has('url')
    for (const [from, field] of names) {
      if (field === 'domain' ? kinds?.has('domain') === false : !hasProfiles) continue
      const value = body[from]
      const other =
        typeof value === 'string' && value.trim() !== '' ? subjectOf({ [field]: value }) : undefined
      if (other !== undefined && !identities.includes(other + options)) identities.push(other + options)
    }
    return identities
  }
}

/** How the identities of lookups by name or email begin, whose answers may state something surer. */
const weakPrefixes = ['company:name:', 'person:name:', 'person:email:']

/** Returns how the answers of an operation show that they answer other lookups, too; `undefined` where they do not. */
export function statingIn(operation: Operation): Stating | undefined {
  const statedIn = alsoAnswersOf(operation)
  if (!statedIn) return undefined
  return {
    answers: (identity, body) => statedIn(identity, body).includes(identity),
    hashesIn: (identity, body) =>
      weakPrefixes.some((start) => identity.startsWith(start))
        ? statedIn(identity, body).map((one) => hashNumber(hashOf(one)))
        : none,
    weakPrefixes,
  }
}

/**
 * Returns the hashes of the other identities under which the subject of a lookup by profile may have been looked up before: by the
 * domain of the company, or by another profile.
 */
export function otherHashesOf(operation: Operation): (input: Input, identity: string) => readonly number[] {
  const kind = operation.batch?.identity === 'company' ? 'company' : 'person'
  const states = statingOf(operation) !== undefined
  const profiles = [`${kind}:id:`, `${kind}:slug:`]
  return (input, identity) => {
    if (!states || !profiles.some((start) => identity.startsWith(start))) return none
    const options = optionsIn(identity)
    return otherKeysIn(kind, input).map((one) => hashNumber(hashOf(one + options)))
  }
}

const none: readonly never[] = []

export class RowState {
  input: Input = {}
  identity: string | undefined
  hash: number | undefined
  otherHashes: readonly number[] = none
  repeats = false
  most = 0
  units = 0
  perRecord: number | undefined
  /** Cells that were left out of the input. */
  leftOut: ReadRow['leftOut'] = []
  /** Absent while the row is on its way, and for good when the run stops before its answer. */
  outcome: RowOutcome | undefined
  /** What it is sent as; absent while it is not claimed. */
  ask: Ask | undefined
  /** Whether its call has been made. */
  sent = false
  isSettled = false
  /** The equal row whose answer it takes. */
  original: RowState | undefined
  /** Where the answer is in full that it has taken in another spelling. */
  origin: Origin | undefined
  #duplicates: RowState[] = []

  constructor(
    readonly row: CsvRow,
    /** Number of the row, counted from 0 after the header. */
    readonly ordinal: number,
    private readonly rowBatch: RowBatch,
  ) {}

  lower(limit: number): void {
    this.input = { ...this.input, limit }
  }

  /** Whether its answer is on the way: by its own call, or by that of an equal row. */
  get underWay(): boolean {
    return this.sent || this.original !== undefined
  }

  /** Ends the row, and with it the equal rows that wait for its answer. */
  settle(outcome: RowOutcome | undefined): void {
    if (this.isSettled) return
    this.outcome = outcome
    this.isSettled = true
    this.rowBatch.close(this)
    for (const duplicate of this.#duplicates) duplicate.settle(asDuplicate(outcome))
    this.#duplicates = []
  }

  /** Takes the answer of an equal row, now or when it comes. */
  follow(original: RowState): void {
    this.original = original
    if (original.isSettled) this.settle(asDuplicate(original.outcome))
    else original.#duplicates.push(this)
  }
}

const asDuplicate = (outcome: RowOutcome | undefined): RowOutcome | undefined =>
  outcome && { answer: outcome.answer, source: 'duplicate', credits: 0 }

/** Rows that are read, prepared and written together. */
export class RowBatch {
  readonly states: readonly RowState[]
  readonly #end = Promise.withResolvers<void>()
  readonly settled = this.#end.promise
  #open: number

  constructor(
    rows: readonly CsvRow[],
    firstOrdinal: number,
    private readonly onSettled?: (state: RowState) => void,
  ) {
    this.states = rows.map((row, at) => new RowState(row, firstOrdinal + at, this))
    this.#open = rows.length
  }

  close(state: RowState): void {
    this.onSettled?.(state)
    this.#open--
    if (this.#open === 0) this.#end.resolve()
  }
}

/** What keeps suppressed people and companies out of a run. */
export interface RowSuppressor {
  /** Returns which of some records are about somebody suppressed. */
  areAbout(records: readonly unknown[]): Promise<readonly boolean[]>
  /** Returns which of some inputs are, in their own words or by what the target knows of whom they ask for. */
  areAskedAbout(inputs: readonly Input[]): Promise<readonly boolean[]>
  /** Returns JSON without the records that are. */
  records(value: unknown): Promise<unknown>
}

/** How rows become lookups, and what these can cost. */
export interface Lookup extends RowPrice {
  /**
   * Returns what a row is read as; an ApiError makes the row invalid. With the line where it begins, its input has what all rows
   * say of its person once they are complete; else what those say that are remembered so far.
   */
  readonly read: (cells: readonly string[], line?: number) => ReadRow
  /** Adds the identifiers of a row that its request does not have, for suppression and lists of known rows. */
  readonly about?: ((cells: readonly string[], input: Input) => Input) | undefined
  /** Of lookups of people: rows about the same one are asked with what all of them say, so that they are one lookup. */
  readonly people?: PeopleOfRows | undefined
  /** Throws an ApiError for a row whose input must not be sent. */
  readonly validate?: (row: ReadRow) => void
  /** Returns why a row is invalid, in the names of the file and the command. */
  readonly explain: (refusal: Refusal, cells?: readonly string[]) => string
  /** Whether a row is not looked up, because it already has the wanted result. */
  readonly skip?: ((row: CsvRow) => boolean) | undefined
  /** Whether a row is not looked up, because a list of known rows has it. */
  readonly isKnown?: ((cells: readonly string[]) => boolean) | undefined
  /** Absent where nobody is suppressed. */
  readonly suppressor?: RowSuppressor | undefined
  /** Whether a row without a profile URL is looked up for its email address only. */
  readonly isEmailOnly?: (input: Input) => boolean
  /** Equal for inputs that are the same paid lookup; `undefined` for one that is like no other. */
  readonly identity: (input: Input) => string | undefined
  /** Returns the hashes of the other identities that an earlier lookup of the same may have; it has none where it is absent. */
  readonly otherHashes?: (input: Input, identity: string) => readonly number[]
  /** Returns the identities, of certain kinds, of lookups with the same options that a body answers; absent where it answers none. */
  readonly alsoAnswers?:
    | ((identity: string, body: unknown, kinds?: ReadonlySet<string>) => readonly string[])
    | undefined
  /** Identities that may occur more than once; any may where it is absent. */
  readonly repeats?: RepeatFilter | undefined
  /** Returns how much of a quota an input can use up; absent where it uses none. */
  readonly units?: ((input: Input) => number) | undefined
}

/** Throws a Refusal for a row with more cells than the header. */
export function checkWidth(
  { length: cells }: readonly string[],
  { length: header }: readonly string[],
): void {
  if (cells !== header) throw new Refusal('csv.ragged', { cells, header })
}

/** Returns the identity of what a row is read as. A row that stays in memory is asked for it twice. */
export const identityOfRow = (row: ReadRow, identity: Lookup['identity']): string | undefined =>
  (row.identity ??= identity(row.input))

/** Sets a row's input, price and identity. Returns what is wrong with an invalid row. */
export function prepare(
  { read, validate, explain, identity, otherHashes, most, units, perRecord, repeats }: Lookup,
  header: readonly string[],
  state: RowState,
): string | undefined {
  const { cells } = state.row
  try {
    checkWidth(cells, header)
    const row = read(cells, state.row.line)
    state.input = row.input
    state.leftOut = row.leftOut
    validate?.(row)
    state.most = most(state.input)
    state.units = units?.(state.input) ?? 0
    state.perRecord = perRecord
    state.identity = identityOfRow(row, identity)
  } catch (error) {
    if (error instanceof Refusal) return explain(error, cells)
    throw error
  }
  if (state.identity === undefined) return undefined
  const hash = hashOf(state.identity)
  state.hash = hashNumber(hash)
  state.repeats = repeats?.has(hash) ?? true
  if (otherHashes) state.otherHashes = otherHashes(state.input, state.identity)
  return undefined
}
