import { normalize } from 'node:path'
import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'
import type { z } from 'zod'
import { type Shape, shapeOf } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import { ApiError, type Details, type LocalCode, Refusal } from '../api/calls/errors.js'
import { isPriced } from '../api/operations/facts.js'
import {
  immediateOperation,
  type Operation,
  type OperationId,
  operation,
  operations,
} from '../api/operations/table.js'
import { withNamedIds } from '../api/schemas/enumerations.js'
import { explainIssue } from '../api/validation/explain-issue.js'
import { withOwnWebhook } from '../api/validation/own-webhook.js'
import { describeValue, validate } from '../api/validation/validate.js'
import { nearest } from '../api/values/nearest.js'
import { type Fields, isObject, nameFields } from '../api/values/objects.js'
import { type FieldType, parseComputation, parseExpression, type Scope } from '../lists/expressions.js'
import type { ListKind } from '../lists/list-index.js'
import { identifying } from '../runs/input/identifying.js'
import type { Table } from '../runs/input/table.js'
import type { MappedList } from '../runs/lists.js'
import { type CrmName, crmNames, isCrmName } from '../runs/output/crm-names.js'
import { scopeOfNames } from '../runs/output/select.js'
import { isWorkbookName } from '../runs/output/writer.js'
import {
  type Filling,
  fillingOf,
  hasField,
  pathsOf,
  placeOf,
  type ResultPlace,
  type RowShape,
  recordNameOf,
  recordShape,
  rowFields,
  shapeAfter,
} from './fields.js'
import {
  addressIn,
  bracedFields,
  type CrmSettings,
  flowFields,
  httpMethods,
  inputKinds,
  lookupExtras,
  lookupIds,
  outputKinds,
  ownFields,
  searchIds,
  stepKinds,
} from './format.js'
import { sortKeysOf } from './sorted.js'

/** What is wrong with the file of a flow, and where; both count from 1. */
export interface FlowProblem {
  readonly line: number
  readonly column: number
  /** The step with it, such as `2 (accounts.enrich)`. */
  readonly step?: string
  readonly refusal: Refusal
}

type Kinds = Readonly<Record<string, z.ZodType>>
type Of<All extends Kinds, K extends keyof All> = K extends keyof All
  ? { readonly kind: K } & z.output<All[K]>
  : never

export type FlowInput =
  | Of<typeof inputKinds, keyof typeof inputKinds>
  | { readonly kind: 'search'; readonly operation: Operation; readonly shape: Shape; readonly input: Input }

export type FlowOutput = Of<typeof outputKinds, keyof typeof outputKinds>

export interface LookupStep {
  readonly kind: 'lookup'
  readonly operation: Operation
  readonly shape: Shape
  readonly constants: Input
  readonly filling: Filling
  readonly place: ResultPlace
  readonly only_if?: string | undefined
}

export type KeepStep = Of<typeof stepKinds, 'keep'>
export type SetStep = Of<typeof stepKinds, 'set'>
/** Steps that take each row as it comes, and ask nobody. */
export type RowStep = KeepStep | SetStep | Of<typeof stepKinds, 'limit' | 'distinct' | 'sort'>
export type CommandStep = Of<typeof stepKinds, 'command'>
export type HttpStep = Of<typeof stepKinds, 'http'>

/** A step, how it is called, and what rows are before it. */
export type Step = (LookupStep | RowStep | CommandStep | HttpStep) & StepBase

export const isRowStep = (step: Step): step is RowStep & StepBase =>
  ['keep', 'set', 'limit', 'distinct', 'sort'].includes(step.kind)

interface StepBase {
  readonly name: string
  readonly before: RowShape
  /** What makes it the same step: as it is written. */
  readonly written: unknown
}

/** A flow that was checked. */
export interface Flow {
  readonly name: string
  readonly input: FlowInput
  /** What the rows of the input are, and what its columns are called; `undefined` where it is no table. */
  readonly table?: { readonly table: Table; readonly mapped: MappedList } | undefined
  /** The search that rows are the result of. */
  readonly source?: (LookupStep & StepBase) | undefined
  readonly steps: readonly Step[]
  readonly end: RowShape
  readonly outputs: readonly FlowOutput[]
  readonly budget: NonNullable<CommonFields['budget']>
  readonly skipKnown: readonly string[]
  readonly since?: CommonFields['since']
}

/** An output in a CRM, which has the name of its kind. */
export type CrmOutput = Extract<FlowOutput, { readonly kind: CrmName }>

export type FileOutput = Exclude<FlowOutput, CrmOutput | { readonly kind: 'http' | 'list' }>

/** An input from a CRM, which has the name of its kind. */
export type CrmInput = Extract<FlowInput, { readonly kind: CrmName }>

export const isCrmInput = (input: FlowInput): input is CrmInput => isCrmName(input.kind)

/** Returns what is read of a CRM. */
export const kindOfCrm = (input: CrmInput): ListKind =>
  (input as Partial<Record<CrmName, ListKind>>)[input.kind] ?? 'companies'

export const isCrmOutput = (output: FlowOutput): output is CrmOutput => isCrmName(output.kind)

export const isFileOutput = (output: FlowOutput): output is FileOutput =>
  output.kind !== 'http' && output.kind !== 'list' && !isCrmOutput(output)

/** Returns what an output in a CRM says beside its name. */
export const settingsOf = (output: CrmOutput): CrmSettings =>
  (output as Partial<Record<CrmName, CrmSettings>>)[output.kind] ?? {}

/** Returns the file that an output names. */
export function fileOf(output: FileOutput): string {
  if (output.kind === 'csv') return output.csv
  if (output.kind === 'xlsx') return output.xlsx
  return output.kind === 'json' ? output.json : output.ndjson
}

type CommonFields = { readonly [F in keyof typeof flowFields]?: z.output<(typeof flowFields)[F]> }

/** What the search of a data vendor finds, what may be asked of it, and which fields its rows have. */
export interface VendorSearch {
  readonly about: ListKind
  readonly query: readonly string[]
  readonly fields: readonly string[]
}

/** An input that a data vendor of the user finds. */
export type VendorInput = Extract<FlowInput, { readonly kind: 'provider' }>

/** What reading a flow asks of whoever opens files. */
export interface FlowFiles {
  /** Opens the table of an input. Throws a Refusal. */
  openTable(input: FlowInput): Promise<Flow['table']>
  /** Returns what the search of a data vendor finds; asks it nothing. Throws a Refusal where there is none. */
  openSearch(provider: string): Promise<VendorSearch>
  /** Returns a list of known rows with its whole path, where it is a file. */
  toList(source: string): string
  /** Whether rows say which provider of the user gave a value. */
  readonly sources: boolean
}

/** Reads the file of a flow, as far as it is right. `flow` is absent where anything is wrong. */
export async function readFlow(
  text: string,
  files: FlowFiles,
): Promise<{ readonly flow?: Flow; readonly problems: readonly FlowProblem[] }> {
  const reader = new Reader(text, files)
  const flow = await reader.read()
  const problems = reader.problems.sort((one, other) => one.line - other.line || one.column - other.column)
  return problems.length > 0 || !flow ? { problems } : { flow, problems }
}

type Path = readonly (string | number)[]

class Reader {
  readonly problems: FlowProblem[] = []
  readonly #lines = new LineCounter()
  readonly #document: Document
  #step: string | undefined

  constructor(
    text: string,
    private readonly files: FlowFiles,
  ) {
    const isTooLong = Buffer.byteLength(text) > maxBytes
    if (isTooLong) this.#push(0, new Refusal('flow.too_long', { max: maxBytes }))
    const options = { lineCounter: this.#lines, prettyErrors: false, logLevel: 'error' } as const
    this.#document = parseDocument(isTooLong ? '' : text, options)
  }

  async read(): Promise<Flow | undefined> {
    if (this.problems.length > 0) return undefined
    for (const { pos, message } of mainErrors(this.#document.errors))
      this.#push(pos[0], new Refusal('flow.yaml', { reason: yamlReason(message) }))
    if (this.problems.length > 0) return undefined
    const given = this.#value()
    if (this.problems.length > 0) return undefined
    if (!isObject(given)) return this.#add([], 'no_flow')
    this.#names(given, [], [...Object.keys(flowFields), 'input', 'steps', 'output'])
    for (const field of ['name', 'input', 'steps', 'output'])
      if (given[field] == null) this.#add([], 'missing', { field })
    const common = Object.entries(flowFields).filter(
      ([name, schema]) => given[name] != null && this.#valid(schema, given[name], [name]),
    )
    const fields = Object.fromEntries(common.map(([field]) => [field, given[field]])) as CommonFields
    const { name = '', budget = {}, skip_known = [], since } = fields
    const input = await this.#input(given.input)
    const table = input && (await this.#attempt(['input'], () => this.files.openTable(input)))
    const steps: Step[] = []
    const search = input?.kind === 'provider' ? await this.#search(input) : undefined
    let shape = input && startOf(input, table, search)
    const about = shape?.about
    for (const [at, written] of Array.isArray(given.steps) ? given.steps.entries() : []) {
      const read = await this.#readStep(written, ['steps', at], shape)
      shape = read?.after
      if (read) steps.push(read.step)
    }
    if (given.steps != null && (!Array.isArray(given.steps) || given.steps.length === 0))
      this.#add(['steps'], 'no_steps')
    this.#step = undefined
    if (since !== undefined && steps.length > 0 && steps.every(isRowStep)) this.#add(['since'], 'no_since')
    const first = steps.find((step) => !isRowStep(step))
    // Rows are known by what their first step looks up: people of a known company would never be new.
    if (since !== undefined && about === 'people' && first?.kind === 'lookup')
      if (first.operation.batch?.identity === 'company')
        this.#add(['since'], 'since_companies', { operation: first.operation.id })
    const outputs = this.#outputs(given.output, shape)
    if (!input || !shape) return undefined
    const skipKnown = (typeof skip_known === 'string' ? [skip_known] : skip_known).map(this.files.toList)
    const source = await sourceOf(input, name)
    return { name, input, table, source, steps, end: shape, outputs, budget, skipKnown, since }
  }

  /** Returns the value of the file. Reports aliases that stand for nothing, or for more than a flow can be. */
  #value(): unknown {
    visit(this.#document, {
      Alias: (_, alias) => {
        if (!alias.resolve(this.#document))
          this.#push(alias.range?.[0] ?? 0, new Refusal('flow.no_anchor', { alias: alias.source }))
      },
    })
    if (this.problems.length > 0) return undefined
    try {
      const value: unknown = this.#document.toJS({ maxAliasCount: maxAliases })
      // An alias within what it stands for has no end.
      JSON.stringify(value)
      return value
    } catch {
      this.#push(0, new Refusal('flow.aliases'))
      return undefined
    }
  }

  async #input(given: unknown): Promise<FlowInput | undefined> {
    if (given == null) return undefined
    const key = this.#kind(given, ['input'], [...Object.keys(inputKinds), ...searchIds], 'input')
    if (key === undefined || !isObject(given)) return undefined
    if (Object.hasOwn(inputKinds, key)) return this.#checked<FlowInput>(inputKinds, key, given, ['input'])
    const row = operation(key as OperationId)
    const shape = await shapeOf(row.id)
    const before = this.problems.length
    const filters = this.#request(given[key], ['input', key], row, shape)
    // A search needs some filter, whatever each of them is.
    if (filters && this.problems.length === before)
      try {
        validate(row.id, shape, withOwnWebhook(row.id, shape, filters))
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        this.#add(['input', key], 'value', { reason: nameFields(error.message) })
      }
    this.#names(given, ['input'], [key])
    return filters && { kind: 'search', operation: row, shape, input: filters }
  }

  async #search({ provider, query = {} }: VendorInput): Promise<VendorSearch | undefined> {
    const search = await this.#attempt(['input', 'provider'], () => this.files.openSearch(provider))
    if (!search) return undefined
    for (const name of Object.keys(query))
      if (!search.query.includes(name)) this.#unknown(['input', 'query', name], name, search.query, 'field')
    return search
  }

  async #readStep(
    written: unknown,
    path: Path,
    before: RowShape | undefined,
  ): Promise<{ step: Step; after: RowShape } | undefined> {
    const names = [...Object.keys(stepKinds), ...lookupIds]
    this.#step = String(Number(path.at(-1)) + 1)
    const given = typeof written === 'string' ? { [written]: null } : written
    const key = this.#kind(given, path, names, 'step', Object.keys(lookupExtras.shape))
    if (key === undefined || !isObject(given)) return undefined
    this.#step = `${this.#step} (${key})`
    const same = { name: key, written }
    if (Object.hasOwn(stepKinds, key)) {
      const own = this.#checked<RowStep | CommandStep | HttpStep>(stepKinds, key, given, path)
      if (!own || !before) return undefined
      if ('only_if' in own) await this.#condition(own.only_if, [...path, 'only_if'], before)
      if (own.kind === 'keep') await this.#condition(own.keep, [...path, 'keep'], before)
      if (own.kind === 'distinct')
        for (const [at, field] of [own.distinct].flat().entries())
          this.#checkField([...path, 'distinct', ...(Array.isArray(own.distinct) ? [at] : [])], field, before)
      if (own.kind === 'sort')
        for (const [at, { field }] of sortKeysOf(own.sort).entries())
          this.#checkField([...path, 'sort', ...(Array.isArray(own.sort) ? [at] : [])], field, before)
      if (own.kind === 'keep' || own.kind === 'limit' || own.kind === 'distinct' || own.kind === 'sort')
        return { step: { ...own, ...same, before }, after: before }
      if (own.kind === 'http') {
        const { body } = own.http
        const method = httpMethods.find((one) => own.http[one] !== undefined) ?? ''
        for (const [key, template] of [
          [method, addressIn(own.http)],
          ['body', body],
        ] as const)
          for (const field of bracedFields(template)) this.#checkField([...path, 'http', key], field, before)
        for (const [at, { when }] of (own.http.outcomes ?? []).entries())
          await this.#condition(when, [...path, 'http', 'outcomes', at, 'when'], { fields: answerScope })
      }
      const fields =
        own.kind === 'set'
          ? await this.#computed(own, path, before)
          : scopeOfNames(own.kind === 'command' ? own.fields : Object.keys(own.http.result ?? {}))
      const after = { ...before, fields: { ...before.fields, ...fields } }
      return { step: { ...own, ...same, before }, after }
    }
    const row = immediateOperation(operation(key as OperationId))
    const shape = await shapeOf(row.id)
    this.#names(given, path, [key, ...Object.keys(lookupExtras.shape)])
    const constants = this.#request(given[key], [...path, key], row, shape)
    if (given.only_if != null) this.#valid(lookupExtras.shape.only_if, given.only_if, [...path, 'only_if'])
    const isMapped = given.with == null || this.#valid(lookupExtras.shape.with, given.with, [...path, 'with'])
    const mapped = (isMapped ? (given.with ?? {}) : {}) as Readonly<Record<string, string>>
    if (!before || !constants || !isMapped) return undefined
    for (const [field, from] of Object.entries(mapped)) {
      const known = Object.keys(shape.input.shape)
      if (!known.includes(field)) this.#unknown([...path, 'with', field], field, known, 'field')
      this.#checkField([...path, 'with', field], from, before)
    }
    const place = placeOf(row, before)
    if (place === undefined) return this.#add(path, 'other_rows', { operation: key })
    const filling = fillingOf(row, shape, before, Object.keys(constants), mapped)
    const fields = rowFields(row, shape.input.shape)
    const needed = identifying[row.batch?.identity ?? 'company'].filter((one) => fields.includes(one))
    const filled = [...filling.map(([field]) => field), ...Object.keys(constants)]
    if (!filled.some((field) => needed.includes(field)))
      this.#add(path, 'unfilled', { operation: key, needed })
    const onlyIf = typeof given.only_if === 'string' ? given.only_if : undefined
    if (onlyIf !== undefined && place === 'people') this.#add([...path, 'only_if'], 'only_if_people')
    await this.#condition(onlyIf, [...path, 'only_if'], before)
    const asked = { operation: row, shape, constants, filling, place, only_if: onlyIf }
    return {
      step: { kind: 'lookup', ...asked, ...same, before },
      after: shapeAfter(before, place, row, shape, constants, this.files.sources),
    }
  }

  async #condition(
    text: string | undefined,
    path: Path,
    { fields }: Pick<RowShape, 'fields'>,
  ): Promise<void> {
    const option = path.includes('outcomes') ? 'outcomes.when' : String(path.at(-1))
    if (text !== undefined) await this.#attempt(path, () => parseExpression(text, fields, option))
  }

  /** Returns the fields that a step computes; each sees the row as it was before the step. */
  async #computed({ set }: SetStep, path: Path, { fields }: RowShape): Promise<Scope> {
    const computed: Record<string, FieldType | true> = {}
    for (const [name, value] of Object.entries(set)) {
      const work = () => parseComputation(String(value), fields, `set.${name}`)
      const read = await this.#attempt([...path, 'set', name], work)
      computed[name] = read?.type ?? true
    }
    return computed
  }

  /** Checks the fields of a request that are the same in every row. Returns them with their defaults left out. */
  #request(given: unknown, path: Path, asked: Operation, { input }: Shape): Input | undefined {
    const { id, starts } = asked
    if (given != null && !isObject(given)) return this.#add(path, 'no_fields', { operation: id })
    const schemas: Kinds = input.shape
    const known = Object.keys(schemas).filter((name) => !ownFields.includes(name))
    this.#names(given ?? {}, path, known, 'field')
    const request: Record<string, unknown> = { ...withNamedIds(given ?? {}) }
    const wrong: string[] = []
    for (const [field, value] of Object.entries(request)) {
      const schema = schemas[field]
      if (!schema) continue
      const problem = describeValue(schema, field, value)
      if (problem === undefined) continue
      // YAML reads an id that is written without quotes as a number. A list of one may be written without brackets.
      const texts = [value].flat().map(String)
      if (describeValue(schema, field, texts) === undefined) request[field] = texts
      else {
        this.#add([...path, field], 'value', { reason: nameFields(problem) })
        wrong.push(field)
      }
    }
    // A misspelt limit is reported already.
    const hasUnknown = Object.keys(request).some((name) => !Object.hasOwn(schemas, name))
    if (starts === 'import' && request.limit === undefined && !hasUnknown)
      this.#add(path, 'no_limit', { isPriced: isPriced(asked) })
    // It is not known what such a field would leave out of the results, of which later steps may use any.
    return { ...request, ...Object.fromEntries(wrong.map((field) => [field, undefined])) }
  }

  #outputs(given: unknown, end: RowShape | undefined): FlowOutput[] {
    if (given == null) return []
    const isMany = Array.isArray(given)
    const files = new Set<string>()
    return (isMany ? given : [given]).flatMap((one: unknown, at): FlowOutput[] => {
      const path: Path = isMany ? ['output', at] : ['output']
      const key = this.#kind(one, path, Object.keys(outputKinds), 'output', ['columns', 'layout'])
      const output =
        key !== undefined && isObject(one) && this.#checked<FlowOutput>(outputKinds, key, one, path)
      if (!output) return []
      this.#checkName(output, path)
      const file = isFileOutput(output) ? normalize(fileOf(output)) : undefined
      if (file !== undefined && files.has(file)) this.#add([...path, key], 'same_output', { path: file })
      if (file !== undefined) files.add(file)
      const { columns, layout } = output as { columns?: readonly string[]; layout?: string }
      if (layout !== undefined && !isCrmName(layout))
        this.#unknown([...path, 'layout'], layout, crmNames, 'layout')
      if (layout !== undefined && columns) this.#add([...path, 'columns'], 'two_columns')
      const fills = isCrmOutput(output) ? Object.entries(settingsOf(output).map ?? {}) : []
      for (const [property, column] of fills)
        if (end) this.#checkField([...path, key ?? '', 'map', property], column, end)
      for (const [index, column] of columns?.entries() ?? [])
        if (end) this.#checkField([...path, 'columns', index], column, end)
      return [output]
    })
  }

  /** Reports the name of a file that says another format than is written. CSV under the name of a workbook becomes one. */
  #checkName(output: FlowOutput, path: Path): void {
    if (!isFileOutput(output)) return
    const name = fileOf(output)
    const isWorkbook = isWorkbookName(name)
    const [kind, at] = [output.kind, [...path, output.kind]]
    if (
      /\.(?:xls|xlsm|xlsb|ods|numbers)$/i.test(name) ||
      (isWorkbook && (kind === 'json' || kind === 'ndjson'))
    )
      this.#add(at, 'workbook_name', {
        path: name,
        named: 'a workbook',
        kind,
        written: isWorkbook ? 'text' : 'no such file',
        example: kind === 'xlsx' ? 'an .xlsx file' : `a .${kind} file`,
      })
    else if (kind === 'xlsx' && !isWorkbook)
      this.#add(at, 'workbook_name', {
        path: name,
        named: 'no workbook',
        kind,
        written: 'one',
        example: 'an .xlsx file',
      })
  }

  /** Returns what has the key of a kind where it is as its schema says. */
  #checked<T extends { readonly kind: string }>(kinds: Kinds, key: string, given: Fields, path: Path) {
    const schema = kinds[key]
    return schema && this.#valid(schema, given, path) ? ({ kind: key, ...given } as unknown as T) : undefined
  }

  /** Returns the key that says what kind of thing an object is. */
  #kind(
    given: unknown,
    path: Path,
    kinds: readonly string[],
    what: string,
    beside: readonly string[] = [],
  ): string | undefined {
    const keys = isObject(given) ? Object.keys(given) : []
    const [key, other] = keys.filter((one) => kinds.includes(one))
    if (other !== undefined) return this.#add([...path, other], 'two_kinds', { what, key, other })
    if (key !== undefined) return key
    const named = keys.find((one) => !beside.includes(one))
    if (named === undefined) return this.#add(path, 'no_kind', { what, kinds })
    const meant = kinds.find((id) => isCommand(id, named))
    return this.#unknown([...path, named], named, kinds, what, meant)
  }

  /** Reports keys of an object that are not known. */
  #names(given: Fields, path: Path, known: readonly string[], what = 'key'): void {
    for (const name of Object.keys(given))
      if (!known.includes(name)) this.#unknown([...path, name], name, known, what)
  }

  /** Checks a value, and reports what is wrong with it. */
  #valid(schema: z.ZodType, value: unknown, path: Path): boolean {
    const { error } = schema.safeParse(value)
    for (const issue of error?.issues ?? []) {
      const at = [...path, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))]
      if (issue.code === 'unrecognized_keys')
        for (const key of issue.keys) this.#unknown([...at, key], key, keysAt(schema, issue.path), 'key')
      else
        this.#add(at, 'value', {
          reason: `${at.at(-1)} ${issue.code === 'invalid_key' ? issue.issues[0]?.message : explainIssue(issue)}`,
        })
    }
    return error === undefined
  }

  #checkField(path: Path, field: string, { fields }: RowShape): void {
    if (!hasField(fields, field)) this.#unknown(path, field, pathsOf(fields), 'field')
  }

  #unknown(path: Path, name: string, known: readonly string[], what: string, meant?: string): undefined {
    const ending = () => known.find((one) => one.endsWith(`.${name}`) || one.endsWith(`_${name}`))
    this.#add(path, 'unknown', {
      what,
      name,
      near: meant ?? nearest(name, known) ?? ending(),
      known: known.slice(0, maxNamed),
    })
  }

  /** Runs work about what is at a place, and reports its refusal. */
  async #attempt<T>(path: Path, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const node = this.#document.getIn(path, true)
      // In a plain text, the place within a condition is one within the file.
      const isPlain = isScalar(node) && node.type === 'PLAIN' && !String(node.source).includes('\n')
      this.#push(this.#placeOf(path) + (isPlain ? Number(error.details.at ?? 1) - 1 : 0), error)
      return undefined
    }
  }

  /** Returns where something is: a key of an object, or an item of a list. */
  #placeOf(path: Path): number {
    for (let length = path.length; length > 0; length--) {
      const parent = this.#document.getIn(path.slice(0, length - 1), true)
      const last = path[length - 1]
      if (isMap(parent)) {
        const pair = parent.items.find(({ key }) => isScalar(key) && key.value === last)
        const value = pair && isPair(pair) && (pair.value as Node | null)?.range
        const key = pair && isScalar(pair.key) ? pair.key.range : undefined
        const isText = length === path.length && isScalar(pair?.value) && value
        const place = isText ? value : key
        if (place) return place[0]
      } else if (isSeq(parent) && typeof last === 'number') {
        const place = (parent.items[last] as Node | undefined)?.range
        if (place) return place[0]
      }
    }
    return 0
  }

  /** Reports a problem. Returns nothing, in place of what is wrong. */
  #add(path: Path, code: string, details: Details = {}): undefined {
    this.#push(this.#placeOf(path), new Refusal(`flow.${code}` as LocalCode, details))
  }

  #push(offset: number, refusal: Refusal): void {
    const { line, col: column } = this.#lines.linePos(offset)
    const step = this.#step === undefined ? {} : { step: this.#step }
    this.problems.push({ line: Math.max(1, line), column: Math.max(1, column), ...step, refusal })
  }
}

/** Most mistakes in the YAML of a flow that are named: others mostly follow from them. */
const maxYamlErrors = 10

const isTooDeep = (message: string): boolean => /call stack|stack overflow/i.test(message)

/** Returns the mistakes in the YAML of a flow that a person should see. */
function mainErrors<E extends Error>(errors: readonly E[]): readonly E[] {
  const deep = errors.find(({ message }) => isTooDeep(message))
  return deep ? [deep] : errors.slice(0, maxYamlErrors)
}

/** Some words of the library are about its own functions, or the language. */
function yamlReason(message: string): string {
  if (isTooDeep(message)) return 'It is nested too deeply.'
  if (message.includes('multiple documents'))
    return 'A flow is one document: leave out what stands behind ---.'
  return message.startsWith('Implicit keys need to be on a single line')
    ? `${message}. Where something stands below a step, such as with, the step ends in a colon: - accounts.enrich:`
    : message
}

const isCommand = (id: string, name: string): boolean =>
  operations().some((row) => row.id === id && row.command.replaceAll(' ', '.') === name)

/** Longest file of a flow. */
const maxBytes = 1_048_576
/** Most values that the aliases of a flow may stand for. */
const maxAliases = 100

/** Most names that a sentence lists. */
const maxNamed = 40

/** Returns the keys that an object within a schema may have. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const whole = schema as { readonly shape?: Readonly<Record<string, z.ZodType>>; unwrap?(): z.ZodType }
  if (!whole.shape) return whole.unwrap ? keysAt(whole.unwrap(), path) : []
  const [first, ...rest] = path
  if (first === undefined) return Object.keys(whole.shape)
  const inner = whole.shape[String(first)]
  return inner ? keysAt(inner, rest) : []
}

const text: FieldType = { is: 'text' }

/** What the conditions on an answer of an address are about. */
export const answerScope: Scope = { status: { is: 'number' }, headers: true, body: true, item: true }

/** Returns what the rows of an input are; `undefined` of a file with columns that could not be read. */
function startOf(
  input: FlowInput,
  table: Flow['table'],
  search: VendorSearch | undefined,
): RowShape | undefined {
  if (input.kind === 'provider') {
    if (!search) return undefined
    const { about, fields } = recordShape(search.about)
    const own = search.fields.filter((name) => !/^company_/.test(name) && !Object.hasOwn(fields, name))
    return { about, fields: { ...fields, ...scopeOfNames(own) } }
  }
  if (!table)
    return ['csv', 'xlsx', 'flow'].includes(input.kind) || isCrmInput(input)
      ? undefined
      : recordShape(recordsOf(input))
  const { kind, mapping } = table.mapped
  const names = mapping.columns.map(({ field }) => recordNameOf(kind, field))
  return {
    about: kind,
    fields: { ...scopeOfNames(names, text), input: scopeOfNames(table.table.header, text) },
  }
}

/** Returns what the records of an input are about that is no table. */
function recordsOf(input: FlowInput): ListKind {
  if (input.kind === 'search') return isOfPeople(input.operation) ? 'people' : 'companies'
  return input.kind === 'search_url' && !/\/(?:search\/)?compan(?:y|ies)/.test(input.search_url)
    ? 'people'
    : 'companies'
}

/** Returns the search whose result an input is, as a step; `undefined` where it is none. */
async function sourceOf(input: FlowInput, name: string): Promise<Flow['source']> {
  const isUrl = input.kind === 'search_url'
  if (!isUrl && input.kind !== 'search') return undefined
  const row = isUrl
    ? operation(recordsOf(input) === 'people' ? 'leads.extract' : 'accounts.extract')
    : input.operation
  const { kind: _, ...url } = isUrl ? { name, limit: 100, ...input } : input
  const constants = isUrl ? url : input.input
  const before = { about: recordsOf(input), fields: {} }
  const shape = isUrl ? await shapeOf(row.id) : input.shape
  const step = { kind: 'lookup', operation: row, shape, filling: [], place: 'records' } as const
  return { ...step, constants, name: row.id, before, written: [row.id, constants] }
}

const isOfPeople = ({ path }: Operation): boolean => path.includes('leads')
