import type { Input } from '../../api/calls/caller.js'
import type { Identity } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { toJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import { toCompanyIdentity, toPersonIdentity } from '../../catalogue/normalize/value-kinds.js'
import { mostCredits } from '../../engine/credits/cost.js'
import {
  createRowReader,
  describing,
  identifying,
  type Mapping,
  type MappingRequest,
  type SavedMap,
  toPins,
} from '../input/mapping.js'
import { isBlank, type Table } from '../input/table.js'
import { hasResult, onlyMissingOf, type ResultRequest } from '../output/columns.js'
import type { ExplainRows, Lookup } from './row-batch.js'

/** As much of a batch's request as the lookups of its rows depend on. */
interface LookupRequest extends ResultRequest {
  readonly choices: {
    readonly map: readonly string[]
    readonly saved?: SavedMap | undefined
    readonly overrides?: Input | undefined
    readonly explode?: boolean
    readonly onlyMissing?: string | undefined
  }
  /** The options that choose the target: `direct` leaves unknown fields to the server. */
  readonly targetOptions?: Readonly<Record<string, unknown>>
}

/** Returns the fields that the columns of a file are matched with: those that are not overridden. */
export const toMappingRequest = (
  { operation, shape, constants, choices }: LookupRequest,
  { header, samples, notes = [] }: Pick<Table, 'header' | 'samples'> & Partial<Table>,
): MappingRequest => ({
  ...{ header, samples, notes },
  fields: Object.keys(shape.input.shape),
  subject: operation.batch?.identity ?? 'company',
  constants,
  ...toPins(choices.map, choices.saved),
  overrides: choices.overrides,
})

/** Returns how each row of a mapped file becomes an input, with its identity and maximum price. */
export function createLookup(
  request: LookupRequest,
  mapping: Mapping,
  header: readonly string[],
  explainRows: ExplainRows,
  known?: { has(input: Input): boolean },
): Lookup {
  const { operation, shape, constants } = request
  const onlyMissing = onlyMissingOf(request, header)
  const hasFilled = onlyMissing && hasResult(onlyMissing, header)
  const reader = createRowReader(operation, shape, mapping, constants, request.targetOptions?.direct === true)
  return {
    ...reader,
    input: (cells, leaveOut) => reduceTypes(reader.input(cells, leaveOut)),
    isEmailOnly: ({ enrichment_type: types }) => isSeveral(constants.enrichment_type) && !isSeveral(types),
    explain: explainRows(Object.keys(shape.input.shape), mapping, constants),
    identity: identityOf(operation),
    stated: statedBy(operation),
    ...rowPriceOf(request),
    skip: (cells) => hasFilled?.(cells) || isBlank(cells),
    isKnown: known && ((cells) => cells.length === header.length && known.has(reader.input(cells))),
  }
}

const isSeveral = (types: unknown): types is readonly unknown[] => Array.isArray(types) && types.length > 1

/** Returns the input without the types of enrichment that need a profile URL, where the row has none and an email is left. */
function reduceTypes(input: Input): Input {
  const { enrichment_type: types, network_url } = input
  if (network_url !== undefined || !isSeveral(types) || !types.includes('email')) return input
  return { ...input, enrichment_type: ['email'] }
}

const subjects: Readonly<Record<Identity, (input: Input) => string | undefined>> = {
  company: toCompanyIdentity,
  person: toPersonIdentity,
  contact: toPersonIdentity,
  email: ({ email }) => (typeof email === 'string' ? email.trim().toLowerCase() : undefined),
  number: ({ phone_number: one, phone_numbers: many }) => JSON.stringify(one ?? many),
}

/** Fields that identify or describe a subject. All others are options of the request. */
const descriptiveOf = (subject: Identity): ReadonlySet<string> =>
  new Set<string>([...identifying[subject], ...describing, 'country', 'country_code'])

/** Returns what identifies a paid lookup: whom a row is about, and its options. */
export function identityOf(operation: Operation): (input: Input) => string | undefined {
  const subject = operation.batch?.identity ?? 'company'
  const descriptive = descriptiveOf(subject)
  return (input) => {
    const identity = subjects[subject](input)
    if (identity === undefined) return undefined
    const options = Object.keys(input).filter((name) => !descriptive.has(name))
    return options.length === 0
      ? identity
      : `${identity} ${toJson(options.sort().map((name) => [name, input[name]]))}`
  }
}

/** Fields of records that identify their subject, and the fields that such a row has. Names and guessed addresses do not. */
const stating: Readonly<Partial<Record<Identity, Readonly<Record<string, string>>>>> = {
  company: {
    network_url: 'network_url',
    network_id: 'company_network_id',
    domain: 'domain',
    website: 'domain',
  },
  person: { network_profile_url: 'network_url', premium_profile_url: 'network_url' },
}

/** Returns what an answer to an input identifies besides it: other rows with these identities take that answer. */
function statedBy(operation: Operation): Lookup['stated'] {
  const { identity: subject, record } = operation.batch ?? {}
  const fields = subject && record && stating[subject]
  if (!fields) return undefined
  const identity = identityOf(operation)
  const descriptive = descriptiveOf(subject)
  return (input, body) => {
    if (!isObject(body)) return []
    const options = Object.entries(input).filter(([name]) => !descriptive.has(name))
    const identities = Object.entries(fields).flatMap(([from, field]) => {
      const value = body[from]
      return typeof value === 'string' && value.trim() !== ''
        ? (identity({ ...Object.fromEntries(options), [field]: value }) ?? [])
        : []
    })
    return [...new Set(identities)]
  }
}

/** Returns the maximum price of a row, and the price of one record. */
function rowPriceOf({ operation, shape }: LookupRequest): Pick<Lookup, 'most' | 'perRecord'> {
  const { job } = operation.price
  if (job === undefined) return { most: (input) => mostCredits(operation, input) ?? 0 }
  // An omitted limit is a price too.
  const limit = shape.input.shape.limit?.safeParse(undefined).data
  return { most: (input) => mostCredits(operation, { limit, ...input }) ?? 0, perRecord: job }
}

/** Returns the share of the maximum to expect without results: few companies have as many jobs as are asked for. */
export const defaultShareOf = ({ price }: Operation): number => (price.job === undefined ? 0.5 : 0.1)
