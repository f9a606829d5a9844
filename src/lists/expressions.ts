import type { ASTNode, Environment } from '@marcbachmann/cel-js'
import { type Details, Refusal } from '../api/calls/errors.js'
import { isCountry } from '../api/values/dates.js'
import { nearest } from '../api/values/nearest.js'
import { isObject, once } from '../api/values/objects.js'
import { toCountryCode } from '../identity/country.js'

/** What the values of a field are, apart from null, and all texts that there are of it where those are few. */
export interface FieldType {
  readonly is: 'text' | 'number' | 'boolean' | 'list' | 'object'
  readonly values?: readonly string[]
  /** Whether it is a country, by its code of two letters. */
  readonly isCountry?: true
}

/** The names that an expression may use: the fields below each of them, or what it is; `true` where it may be anything. */
export interface Scope {
  readonly [name: string]: Scope | FieldType | true
}

/** Whether nothing is known below a name. */
export const isLeaf = (known: Scope | FieldType | true): known is FieldType | true =>
  known === true || typeof known.is === 'string'

/** A condition in CEL that was checked. */
export type Expression = Awaited<ReturnType<typeof parseExpression>>

type Refuse = (problem: string, at: number, details?: Details) => never

/** A node that is written again as text. */
interface PlainNode {
  readonly op: string
  readonly args: unknown
}

/** Names that the values do not have are refused here, with the nearest ones. */
const options = { homogeneousAggregateLiterals: false, unlistedVariablesAreDyn: true }
const limits = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 50 }
const maxBytes = 4_096
const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
const comparisons: Readonly<Record<string, string>> = {
  '==': 'fx_eq',
  '!=': 'fx_ne',
  in: 'fx_in',
  '<': 'fx_lt',
  '<=': 'fx_le',
  '>': 'fx_gt',
  '>=': 'fx_ge',
}
const textTests: Readonly<Record<string, string>> = {
  contains: 'fx_contains',
  startsWith: 'fx_starts',
  endsWith: 'fx_ends',
}
const literalTypes: Readonly<Record<string, FieldType>> = {
  string: { is: 'text' },
  number: { is: 'number' },
  bigint: { is: 'number' },
  boolean: { is: 'boolean' },
}
const isBoolean = new Set(['!_', '&&', '||', ...Object.keys(comparisons)])

/** Reads and checks a condition that `option` gives (decision 25). Throws a Refusal that names the place of an error. */
export async function parseExpression(text: string, scope: Scope, option: string) {
  const { run } = await compile(text, scope, option, 'condition')
  let doubtful = 0
  return {
    /** Whether the condition is true of values. It never throws: what cannot be evaluated is false. */
    test: (values: Readonly<Record<string, unknown>>): boolean => {
      const { value, isDoubtful } = run(values)
      if (isDoubtful) doubtful++
      return value === true
    },
    /** Evaluations in which a missing value, or one of another type, was compared; each such comparison was false. */
    get doubtful() {
      return doubtful
    },
  }
}

/** Reads and checks what computes a value, as `parseExpression` does a condition. */
export async function parseComputation(text: string, scope: Scope, option: string) {
  const { run, type } = await compile(text, scope, option, 'value')
  return {
    /** What the values are; `undefined` where that is not known. */
    type,
    /** Returns the value that comes of values; `undefined` where none can be computed. */
    compute: (values: Readonly<Record<string, unknown>>): unknown => {
      const { value } = run(values)
      return toJsonValue(value)
    },
  }
}

/** What reads expressions as they are written, and what evaluates them: making it takes longer than most expressions. */
const library = once(async () => {
  const { Environment: Cel, ParseError } = await import('@marcbachmann/cel-js')
  const { serialize } = await import('@marcbachmann/cel-js/serialize')
  const env = new Cel(options)
  // Expressions are evaluated one after the other, so that one mark serves all.
  const doubt = { isDoubtful: false }
  registerFunctions(env, doubt)
  return { ParseError, serialize, strict: new Cel({ ...options, limits }), env, doubt }
})

async function compile(text: string, scope: Scope, option: string, as: 'condition' | 'value') {
  const { ParseError, serialize, strict, env, doubt } = await library()
  const refuse: Refuse = (problem, at, details) => {
    throw new Refusal(`expression.${problem}`, { option, at: at + 1, ...details })
  }
  if (Buffer.byteLength(text) > maxBytes) refuse('too_long', 0, { max: maxBytes })
  const parsed = (() => {
    try {
      return strict.parse(text)
    } catch (error) {
      if (!(error instanceof ParseError)) throw error
      const at = error.range?.start ?? 0
      return refuse('syntax', at, { summary: error.summary, text })
    }
  })()
  if (as === 'condition' && isNoCondition(parsed.ast)) refuse('no_condition', parsed.ast.start)
  const rewriter = new Rewriter(scope, text, refuse)
  const rewritten = serialize(rewriter[as](parsed.ast) as ASTNode)
  const { valid, error } = parsed.check()
  const place = error?.node as ASTNode | undefined
  if (!valid && (place?.op === 'call' || place?.op === 'rcall') && !textTests[place.args[0]])
    refuse('no_function', place.start, { name: place.args[0] })
  const evaluate = env.parse(rewritten)
  const check = evaluate.check()
  if (!check.valid) refuse('type', error?.range?.start ?? 0, { summary: check.error?.summary })
  const run = (values: Readonly<Record<string, unknown>>): { value: unknown; isDoubtful: boolean } => {
    doubt.isDoubtful = false
    try {
      const value: unknown = evaluate(values)
      return { value, isDoubtful: doubt.isDoubtful }
    } catch {
      const readable = withoutTypes(values)
      if (readable !== values) return run(readable as typeof values)
      return { value: undefined, isDoubtful: true }
    }
  }
  return { run, type: rewriter.typeOf(parsed.ast) }
}

const isNoCondition = ({ op, args }: ASTNode): boolean =>
  op === 'value' ? typeof args !== 'boolean' : ['+', '-', '*', '/', '%', '-_', 'list', 'map'].includes(op)

/** Writes an expression again with functions of ours, so that a missing value is null and a number is a number. */
class Rewriter {
  readonly #names: readonly string[]

  constructor(
    private readonly scope: Scope,
    private readonly text: string,
    private readonly refuse: Refuse,
  ) {
    this.#names = writtenNames(scope)
  }

  value(node: ASTNode): PlainNode {
    return this.#write(node, { variables: [] })
  }

  /** Returns what the values of an expression are; `undefined` where that is not known. */
  typeOf(node: ASTNode): FieldType | undefined {
    return this.#typeOf(node, { variables: [] })
  }

  condition(node: ASTNode, place: Place = { variables: [] }): PlainNode {
    const plain = this.#write(node, place)
    if ((this.#typeOf(node, place)?.is ?? 'boolean') !== 'boolean') this.refuse('no_condition', node.start)
    return isBoolean.has(node.op) ? plain : call('fx_bool', plain)
  }

  #write(node: ASTNode, place: Place): PlainNode {
    const write = (child: ASTNode) => this.#write(child, place)
    switch (node.op) {
      case 'value':
        // Numbers of JSON are doubles. Functions such as substring take whole numbers.
        return {
          op: 'value',
          args: typeof node.args === 'bigint' && !place.isArgument ? Number(node.args) : node.args,
        }
      case 'id':
      case '.':
      case '[]':
        return this.#writePath(node, place)
      case '&&':
      case '||':
        return { op: node.op, args: node.args.map((child) => this.condition(child, place)) }
      case '!_':
        return { op: node.op, args: this.condition(node.args, place) }
      case '-_':
        return { op: node.op, args: write(node.args) }
      case '?:': {
        const [test, yes, no] = node.args
        return { op: node.op, args: [this.condition(test, place), write(yes), write(no)] }
      }
      case 'list':
        return { op: node.op, args: node.args.map(write) }
      case 'map':
        return { op: node.op, args: node.args.map((entry) => entry.map(write)) }
      case 'call':
        return this.#writeCall(node.args[0], node.args[1], node, place)
      case 'rcall':
        return this.#writeMethod(...node.args, node, place)
      case '.?':
      case '[?]':
        return this.refuse('optional', node.start)
      default: {
        const name = comparisons[node.op]
        const sides = node.args as [ASTNode, ASTNode]
        const [left, right] = sides.map((child) =>
          this.#write(child, name === undefined ? place : { ...place, isArgument: false }),
        ) as [PlainNode, PlainNode]
        if (name === undefined) return { op: node.op, args: [left, right] }
        this.#checkTypes(node.op, ...sides, place)
        return call(name, left, right)
      }
    }
  }

  #writePath(node: ASTNode, place: Place): PlainNode {
    const { path, root } = pathOf(node)
    if (root?.op === 'id' && !place.variables.includes(root.args)) this.#check(root, path)
    return path.reduce<PlainNode>(
      (value, step) =>
        call(
          'fx_get',
          value,
          step.key ? this.#write(step.key, { ...place, isArgument: true }) : literal(step.name),
        ),
      root.op === 'id' ? { op: 'id', args: root.args } : this.#write(root, place),
    )
  }

  #check(root: ASTNode & { readonly op: 'id' }, path: readonly Step[]): void {
    let known: Scope[string] | undefined = this.scope
    let name = ''
    for (const step of [{ name: root.args, at: root.start }, ...path]) {
      if (isLeaf(known)) return
      if (step.name === undefined) return
      name = name === '' ? step.name : `${name}.${step.name}`
      known = Object.hasOwn(known, step.name) ? known[step.name] : undefined
      if (known === undefined) this.#refuseName(name, step.name, step.at, path.at(-1)?.name)
    }
  }

  /** Returns what the values of a node are; `undefined` where that is not known. */
  #typeOf(node: ASTNode, place: Place): FieldType | undefined {
    const { variables } = place
    if (node.op === 'value') return literalTypes[typeof node.args]
    if (node.op === 'list') return { is: 'list' }
    if (isBoolean.has(node.op)) return { is: 'boolean' }
    if (node.op === '?:') {
      const [, yes, no] = node.args.map((child) => this.#typeOf(child, place))
      return yes && yes.is === no?.is ? { is: yes.is } : undefined
    }
    const { root, path } = pathOf(node)
    if (root.op !== 'id' || variables.includes(root.args)) return undefined
    let known: Scope[string] | undefined = this.scope
    for (const { name = '' } of [{ name: root.args }, ...path]) {
      if (known === undefined || isLeaf(known)) return undefined
      known = known[name]
    }
    if (known === undefined || known === true) return undefined
    return isLeaf(known) ? known : { is: 'object' }
  }

  /** Refuses a comparison that is false for every value. */
  #checkTypes(op: string, left: ASTNode, right: ASTNode, place: Place): void {
    if (op === 'in' && right.op === 'list') {
      for (const item of right.args) this.#checkTypes('==', left, item, place)
      return
    }
    const [one, other] = [this.#typeOf(left, place), this.#typeOf(right, place)]
    if (op === 'in') {
      if (other && other.is !== 'object') this.#checkIs('list', right, place)
      return
    }
    if (!one || !other) return
    const [field, value] = left.op === 'value' ? [right, left] : [left, right]
    const names = { name: this.#textOf(field), other: this.#textOf(value) }
    const types = left === field ? { is: one.is, of: other.is } : { is: other.is, of: one.is }
    if (one.is !== other.is) this.refuse('other_type', value.start, { ...names, ...types })
    const { values, isCountry: hasCode } = left === field ? one : other
    if (value.op !== 'value') return
    const text = String(value.args)
    if (hasCode && !isCountry(text))
      this.refuse('no_value', value.start, {
        ...names,
        near: toCountryCode(text),
        values: ['a country code of two letters'],
      })
    if (values && !values.includes(text))
      this.refuse('no_value', value.start, { ...names, near: nearest(text.toLowerCase(), values), values })
  }

  /** Refuses a field that is something else than what is done with it. */
  #checkIs(wanted: 'list' | 'text', node: ASTNode, place: Place): void {
    const type = this.#typeOf(node, place)
    if (type && type.is !== wanted)
      this.refuse(`no_${wanted}`, node.start, { name: this.#textOf(node), is: type.is })
  }

  #textOf = ({ start, end }: ASTNode): string => this.text.slice(start, end)

  /** `end` is the last name of the path, which may be a field by itself. */
  #refuseName(whole: string, last: string, at: number, end = last): never {
    const ending = this.#names
      .filter((name) => /[._]/.test(name.at(-last.length - 1) ?? '') && name.endsWith(last))
      .slice(0, 3)
    const [root = '', ...inner] = whole.split('.')
    const known = inner.length > 0 ? this.scope[root] : undefined
    const below = known && !isLeaf(known) ? nearest(inner.join('.'), Object.keys(known)) : undefined
    const meant =
      below === undefined
        ? (nearest(whole, this.#names) ?? (ending.length > 0 ? ending.join(' or ') : undefined))
        : writtenNames({ [below]: true }, root)[0]
    const column = Object.keys(this.scope.input ?? {}).find(
      (name) => name.toLowerCase() === whole.toLowerCase(),
    )
    const said =
      column !== undefined
        ? `input[${JSON.stringify(column)}]`
        : end !== whole && Object.hasOwn(this.scope, end)
          ? end
          : meant
    return this.refuse('no_field', at, { field: whole, meant: said, names: this.#names })
  }

  #writeCall(name: string, args: readonly ASTNode[], node: ASTNode, place: Place): PlainNode {
    const [only] = args
    if (name === 'has' && only) return call('fx_ne', this.#write(only, place), { op: 'value', args: null })
    if (name === 'matches') this.refuse('pattern', node.start)
    const made = call(name, ...args.map((child) => this.#write(child, { ...place, isArgument: true })))
    return toDouble(name, made, place)
  }

  #writeMethod(
    name: string,
    receiver: ASTNode,
    args: readonly ASTNode[],
    node: ASTNode,
    place: Place,
  ): PlainNode {
    if (name === 'matches') this.refuse('pattern', node.start)
    const [first, ...bodies] = args
    if (macros.has(name) && first?.op === 'id') {
      if (place.isInMacro) this.refuse('nested', node.start, { name })
      this.#checkIs('list', receiver, place)
      const inner = { variables: [...place.variables, first.args], isInMacro: true }
      const written = bodies.map((body, at) =>
        name === 'map' && at === bodies.length - 1 ? this.#write(body, inner) : this.condition(body, inner),
      )
      return {
        op: 'rcall',
        args: [
          name,
          call('fx_list', this.#write(receiver, place)),
          [{ op: 'id', args: first.args }, ...written],
        ],
      }
    }
    const own = textTests[name]
    if (own !== undefined && first) {
      this.#checkIs('text', receiver, place)
      return call(own, this.#write(receiver, place), this.#write(first, place))
    }
    const made: PlainNode = {
      op: 'rcall',
      args: [
        name,
        this.#write(receiver, place),
        args.map((child) => this.#write(child, { ...place, isArgument: true })),
      ],
    }
    return toDouble(name, made, place)
  }
}

/** Functions that give whole numbers. */
const wholeNumbers = new Set(['size', 'int', 'indexOf', 'lastIndexOf'])

/** Returns a whole number as a double, so that it goes with the numbers of rows, but in the arguments of a function. */
const toDouble = (name: string, made: PlainNode, { isArgument }: Place): PlainNode =>
  wholeNumbers.has(name) && !isArgument ? call('double', made) : made

interface Place {
  /** Variables of the macros around it. */
  readonly variables: readonly string[]
  readonly isInMacro?: boolean
  /** Whether it is in the arguments of a function, whose numbers stay as they are. */
  readonly isArgument?: boolean
}

/** A step of a path: a name, or a key that is computed. */
interface Step {
  readonly name?: string
  readonly key?: ASTNode
  readonly at: number
}

/** Returns the names that follow each other in a node, and what they begin with. */
function pathOf(node: ASTNode): { readonly root: ASTNode; readonly path: readonly Step[] } {
  if (node.op === '.') {
    const [inner, name] = node.args
    const { root, path } = pathOf(inner)
    return { root, path: [...path, { name, at: node.end - name.length }] }
  }
  if (node.op !== '[]') return { root: node, path: [] }
  const [inner, key] = node.args
  const { root, path } = pathOf(inner)
  const isName = key.op === 'value' && typeof key.args === 'string'
  return {
    root,
    path: [...path, isName ? { name: String(key.args), at: key.start } : { key, at: key.start }],
  }
}

const call = (name: string, ...args: readonly PlainNode[]): PlainNode => ({ op: 'call', args: [name, args] })
const literal = (text = ''): PlainNode => ({ op: 'value', args: text })

/** Returns all names as they are written: `company.name`, `input["Record ID"]`. */
function writtenNames(scope: Scope, before = ''): string[] {
  return Object.entries(scope).flatMap(([name, below]) => {
    const isWord = /^[A-Za-z_]\w*$/.test(name)
    const whole = before === '' ? name : isWord ? `${before}.${name}` : `${before}[${JSON.stringify(name)}]`
    return isLeaf(below) ? [whole] : [whole, ...writtenNames(below, whole)]
  })
}

/** Registers the functions that a rewritten expression has in place of operators. */
function registerFunctions(env: Environment, doubt: { isDoubtful: boolean }): void {
  const mismatched = (): false => {
    doubt.isDoubtful = true
    return false
  }
  const compare = (fits: (order: number) => boolean) => (one: unknown, other: unknown) => {
    const [left, right] = [toOrdered(one), toOrdered(other)]
    return left && right && left.is === right.is
      ? fits(left.value === right.value ? 0 : left.value < right.value ? -1 : 1)
      : mismatched()
  }
  const onText = (fits: (text: string, part: string) => boolean) => (one: unknown, other: unknown) =>
    typeof one === 'string' && typeof other === 'string' ? fits(one, other) : mismatched()
  const functions: Readonly<Record<string, (one: unknown, other: unknown) => unknown>> = {
    fx_get: (value, key) => toPlain(memberOf(value, key)) ?? null,
    fx_eq: isEqual,
    fx_ne: (one, other) => !isEqual(one, other),
    fx_in: (item, list) =>
      Array.isArray(list)
        ? list.some((one) => isEqual(item, one))
        : list instanceof Map
          ? list.has(String(item))
          : isObject(list)
            ? Object.hasOwn(list, String(item))
            : mismatched(),
    fx_lt: compare((order) => order < 0),
    fx_le: compare((order) => order <= 0),
    fx_gt: compare((order) => order > 0),
    fx_ge: compare((order) => order >= 0),
    fx_contains: onText((text, part) => text.includes(part)),
    fx_starts: onText((text, part) => text.startsWith(part)),
    fx_ends: onText((text, part) => text.endsWith(part)),
  }
  for (const [name, work] of Object.entries(functions))
    env.registerFunction(`${name}(dyn, dyn): ${name === 'fx_get' ? 'dyn' : 'bool'}`, work)
  env.registerFunction('fx_bool(dyn): bool', (value: unknown) =>
    typeof value === 'boolean' ? value : mismatched(),
  )
  env.registerFunction('fx_list(dyn): list<dyn>', (value: unknown) => {
    if (!Array.isArray(value)) mismatched()
    return Array.isArray(value) ? value : []
  })
}

/** Returns a number of CEL or of exact JSON as one of JavaScript. */
function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  return isObject(value) && value.isLosslessNumber === true ? Number(String(value)) : value
}

/** Returns a value as it is compared with others that are the same; `undefined` where it has no order. */
function toOrdered(
  value: unknown,
): { readonly is: string; readonly value: number | bigint | string } | undefined {
  const plain = toPlain(value)
  if (typeof plain === 'number' || typeof plain === 'string') return { is: typeof plain, value: plain }
  if (plain instanceof Date) return { is: 'timestamp', value: plain.getTime() }
  return isDuration(plain)
    ? { is: 'duration', value: plain.seconds * 1_000_000_000n + BigInt(plain.nanos) }
    : undefined
}

/** Whether a value is a duration of the library. */
const isDuration = (value: unknown): value is { readonly seconds: bigint; readonly nanos: number } =>
  isObject(value) && typeof value.seconds === 'bigint' && typeof value.nanos === 'number'

/** Returns what an expression gave as JSON has it. */
function toJsonValue(value: unknown): unknown {
  const plain = toPlain(value)
  if (Array.isArray(plain)) return plain.map((one) => toJsonValue(one) ?? null)
  if (plain instanceof Date) return plain.toISOString()
  const entries = plain instanceof Map ? [...plain] : isObject(plain) ? Object.entries(plain) : undefined
  if (entries)
    return Object.fromEntries(entries.map(([name, one]) => [String(name), toJsonValue(one) ?? null]))
  return typeof plain === 'number' && !Number.isFinite(plain) ? undefined : plain
}

/** Returns a value whose objects with a field `constructor` are maps: the library would take it for the type of the object. */
function withoutTypes(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutTypes)
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (!isObject(value) || value.isLosslessNumber === true) return value
  const fields = Object.entries(value).map(([name, inner]) => [name, withoutTypes(inner)] as const)
  if (Object.hasOwn(value, 'constructor')) return new Map(fields)
  return fields.every(([name, inner]) => inner === value[name]) ? value : Object.fromEntries(fields)
}

function memberOf(value: unknown, key: unknown): unknown {
  if (value instanceof Map) return value.get(String(key))
  if (Array.isArray(value)) return value[Number(key)]
  return isObject(value) && Object.hasOwn(value, String(key)) ? value[String(key)] : undefined
}

function isEqual(one: unknown, other: unknown): boolean {
  const [left, right] = [toPlain(one) ?? null, toPlain(other) ?? null]
  const [first, second] = [toOrdered(left), toOrdered(right)]
  if (first && second) return first.is === second.is && first.value === second.value
  if (!Array.isArray(left) || !Array.isArray(right)) return left === right
  return left.length === right.length && left.every((item, at) => isEqual(item, right[at]))
}
