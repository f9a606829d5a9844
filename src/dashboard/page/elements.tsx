import type { JSX, PropsWithChildren } from 'hono/jsx'
import type { Shape } from '../../api/areas/shapes.js'
import type { Input as RequestInput } from '../../api/calls/caller.js'
import { commandOf } from '../../api/operations/table.js'
import { coerceInput, type FieldKind, kindOf } from '../../api/validation/coerce.js'
import { withoutUndefined } from '../../api/values/objects.js'
import type { Fields, Html, View } from './view.js'

/** Returns a number with commas between its thousands; a dash for none. */
export const formatNumber = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',')

export const count = (value: number, noun: string): string =>
  `${formatNumber(value)} ${value === 1 ? noun : /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`}`

/** Returns a duration in its largest unit of which there are at least about two. */
export function formatSeconds(seconds: number): string {
  if (seconds < 90) return count(Math.ceil(seconds), 'second')
  if (seconds < 5_400) return count(Math.round(seconds / 60), 'minute')
  return seconds < 172_800
    ? count(Math.round(seconds / 3_600), 'hour')
    : count(Math.round(seconds / 86_400), 'day')
}

export const none = <span class="none">–</span>

/** A moment in UTC; the script shows how long ago it was as a hint. */
export const Time = ({ at }: Readonly<{ at: number | string | null | undefined }>) =>
  at === null || at === undefined ? (
    none
  ) : (
    <time datetime={new Date(at).toISOString()}>
      {new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC
    </time>
  )

export const Section = ({ title, children, wide }: PropsWithChildren<{ title: string; wide?: boolean }>) => (
  <section class={wide ? 'wide' : ''}>
    <h2>{title}</h2>
    {children}
  </section>
)

/** What a part shows while it has nothing: a sentence, and what to do. */
export const Empty = ({ children, command }: PropsWithChildren<{ command?: string }>) => (
  <p class="empty">
    {children}
    {command !== undefined && <code>prospect {command}</code>}
  </p>
)

const isMoment = (name: string): boolean => /(?:A|_a)t$/.test(name)

/** Returns the name of a field as a title: `Weekly limit`, `Created`, `Network URL`. */
export function titleOf(field: string): string {
  const words = field
    .replace(/(?<=.)(?:_at|At)$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll('_', ' ')
    .replace(/\burl\b/, 'URL')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns a value as the name of its field and its kind say: a moment, a state, a command, a number, a list. */
function cellOf(field: string, value: unknown): Html {
  if (value === null || value === undefined) return none
  if (isMoment(field)) return <Time at={value as number | string} />
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (field === 'state' || field === 'status') return <State state={String(value)} />
  if (field === 'operation') return commandOf(String(value))
  return Array.isArray(value) ? value.join(', ') : String(value)
}

export const factsOf = <Of extends object>(record: Of, ...fields: readonly (keyof Of & string)[]) =>
  Object.fromEntries(fields.map((field) => [titleOf(field), cellOf(field, record[field])]))

/** A column of a table: a field by its name, or what is shown instead. `number` aligns it to the right. */
type Column<Row> =
  | (keyof Row & string)
  | { readonly title: string; readonly number?: boolean; readonly cell: (row: Row) => Html }

const columnOf = <Row,>(column: Column<Row>, rows: readonly Row[]) =>
  typeof column === 'object'
    ? column
    : {
        title: titleOf(column),
        number: !isMoment(column) && rows.some((row) => typeof row[column] === 'number'),
        cell: (row: Row) => cellOf(column, row[column]),
      }

/** A table, which scrolls on its own where the screen is narrow. Its children stand there while it has no rows. */
export function Table<Row>({
  label,
  columns: given,
  rows,
  keyOf,
  foot,
  children,
}: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Returns the id of a row: its focus stays with it when others come before it. */
  readonly keyOf?: (row: Row) => string
  readonly foot?: readonly Html[] | undefined
  readonly children?: Html
}) {
  if (rows.length === 0 && children !== undefined) return <>{children}</>
  const columns = given.map((column) => columnOf(column, rows))
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, number }) => (
              <th scope="col" class={number ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr data-key={keyOf?.(row)}>
              {columns.map(({ cell, number }) => (
                <td class={number ? 'number' : ''}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
        {foot && (
          <tfoot>
            <tr>
              {columns.map(({ number }, at) => (
                <td class={number ? 'number' : ''}>{foot[at]}</td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  )
}

type Tab = Readonly<{ title: string; path: string; isCurrent: boolean }>

export const Tabs = ({ label, tabs }: Readonly<{ label: string; tabs: readonly Tab[] }>) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ title, path, isCurrent }) => (
      <a href={path} aria-current={isCurrent ? 'true' : undefined}>
        {title}
      </a>
    ))}
  </nav>
)

export const State = ({ state }: Readonly<{ state: string }>) => (
  <span class={`state ${stateKinds[state] ?? ''}`}>{state}</span>
)

const stateKinds: Readonly<Record<string, string>> = {
  running: 'active',
  queued: 'active',
  pending: 'active',
  waiting: 'active',
  failed: 'bad',
  stopped: 'bad',
  finished: 'good',
  delivered: 'good',
  verified: 'good',
  valid: 'good',
  frozen: 'active',
}

export const Bar = ({ label, value, max }: Readonly<{ label: string; value: number; max: number }>) => (
  <progress aria-label={label} value={Math.min(value, max)} max={Math.max(max, 1)}>
    {value} of {max}
  </progress>
)

export const Input = ({ label, ...attributes }: JSX.IntrinsicElements['input'] & { label: string }) => (
  <label>
    {label}
    <input {...attributes} />
  </label>
)

/** A choice of one value, or of all. */
export const Select = (props: {
  readonly label: string
  readonly name: string
  readonly values: readonly string[]
  readonly chosen: string | undefined
  /** What stands for all values, and how one is shown. */
  readonly all?: string
  readonly textOf?: (value: string) => string
}) => (
  <label>
    {props.label}
    <select name={props.name}>
      {props.all !== undefined && <option value="">{props.all}</option>}
      {props.values.map((value) => (
        <option value={value} selected={value === props.chosen}>
          {props.textOf?.(value) ?? value}
        </option>
      ))}
    </select>
  </label>
)

export const LinkLine = ({ path, children }: PropsWithChildren<{ path: string }>) => (
  <p>
    <a href={path}>{children}</a>
  </p>
)

export const Facts = ({ facts }: Readonly<{ facts: Readonly<Record<string, Html>> }>) => (
  <dl>
    {Object.entries(withoutUndefined(facts)).map(([name, value]) => (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

type FormProps = PropsWithChildren<{
  /** The view and the name of the action: `jobs/retry`. Without one, the form filters. */
  readonly action?: string
  /** Fields that are sent and not shown. */
  readonly fields?: Fields
  /** The text of its button. */
  readonly label: string
  readonly primary?: boolean
  readonly look?: 'bar' | 'fields' | 'action'
}>

export const Form = ({ action, fields = {}, label, primary, look = 'bar', children }: FormProps) => (
  <form data-action={action} class={look}>
    {Object.entries(fields).map(([name, value]) => (
      <input type="hidden" name={name} value={value} />
    ))}
    {children}
    <button type="submit" class={primary ? 'primary' : ''}>
      {label}
    </button>
  </form>
)

export const ActionButton = (props: FormProps) => <Form {...props} look="action" />

/** A page without any data: the script loads what it shows once the browser is signed in. */
export const Shell = ({ views }: Readonly<{ views: readonly View[] }>) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>Prospect</title>
      <link rel="icon" href="/dashboard/assets/icon.svg" />
      <link rel="stylesheet" href="/dashboard/assets/style.css" />
      <script type="module" src="/dashboard/assets/page.js" />
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/dashboard">
          prospect
        </a>
        <nav aria-label="Views">
          {views.map(({ name, title }) => (
            <a href={pathOf(name)}>{title}</a>
          ))}
        </nav>
        <span id="connection" class="connection" role="status" />
        <button id="theme" type="button" class="quiet">
          Theme
        </button>
      </header>
      <main id="main" tabindex={-1} aria-busy="true">
        <noscript>The dashboard needs JavaScript. The commands show the same: prospect --help</noscript>
      </main>
      <div id="messages" role="status" aria-live="polite" />
      <dialog id="question" aria-labelledby="question-text">
        <form method="dialog">
          <p id="question-text" />
          <menu>
            <button type="submit" value="no">
              Cancel
            </button>
            <button type="submit" value="yes" class="primary" id="question-yes" />
          </menu>
        </form>
      </dialog>
    </body>
  </html>
)

export function pathOf(
  name: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, String(value)] as [string, string]],
  )
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `/dashboard${name === '' ? '' : `/${name}`}${search}`
}

export interface RequestField {
  readonly name: string
  readonly kind: FieldKind
}

/** Returns the fields of a request: required ones first, else in the order of the schema. */
export const requestFields = ({ input }: Pick<Shape, 'input'>): RequestField[] =>
  Object.entries(input.shape as Shape['input']['shape'])
    .map(([name, field]) => ({ name, kind: kindOf(field) }))
    .sort((one, other) => Number(other.kind.required) - Number(one.kind.required))

/** Returns what a form has given. Several values are the lines of one text. Validation refuses those of another kind. */
export function readRequest({ input }: Pick<Shape, 'input'>, texts: Fields): RequestInput {
  const given = requestFields({ input }).flatMap(({ name, kind }) => {
    const text = texts[name]?.trim()
    if (!text) return []
    const isMany = kind.type === 'array' || kind.type === 'object'
    return [[name, isMany ? linesOf(text) : text] as const]
  })
  return coerceInput(input, Object.fromEntries(given))
}

const linesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** With `showsName`, its label has the name of the field in the API, too. */
export const RequestControl = ({
  field: { name, kind },
  value,
  showsName,
}: Readonly<{ field: RequestField; value: string | undefined; showsName?: boolean }>) => (
  <div class="field">
    <label for={`field-${name}`}>
      {kind.description}
      {noteOf(kind)}
      {showsName && (
        <>
          {' '}
          <code>{name}</code>
        </>
      )}
    </label>
    <Control name={name} kind={kind} value={value} />
  </div>
)

function noteOf(kind: FieldKind): string {
  const notes = [
    kind.required ? 'required' : '',
    isObjects(kind)
      ? 'one JSON object per line'
      : kind.type === 'array' && !kind.item?.values
        ? 'one per line'
        : '',
    kind.type === 'object' ? 'JSON, or one key=value per line' : '',
    kind.default === undefined ? '' : `default: ${String(kind.default)}`,
  ].filter((note) => note !== '')
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`
}

const isObjects = ({ type, item }: FieldKind): boolean => type === 'array' && item?.type === 'object'

function Control({ name, kind, value }: RequestField & { readonly value: string | undefined }) {
  const words = kind.type === 'boolean' ? ['true', 'false'] : (kind.values ?? kind.item?.values)
  const chosen = new Set(linesOf(value ?? ''))
  const id = `field-${name}`
  if (words)
    return (
      <select
        id={id}
        name={name}
        multiple={kind.type === 'array'}
        size={kind.type === 'array' ? 3 : undefined}
      >
        {kind.type !== 'array' && <option value="" />}
        {words.map((word) => (
          <option value={word} selected={chosen.has(word)}>
            {word}
          </option>
        ))}
      </select>
    )
  if (kind.type === 'array' || kind.type === 'object')
    return (
      <textarea id={id} name={name} rows={isObjects(kind) || kind.type === 'object' ? 4 : 2}>
        {value ?? ''}
      </textarea>
    )
  const isNumber = kind.type === 'integer' || kind.type === 'number'
  return (
    <input
      id={id}
      name={name}
      type={isNumber ? 'number' : 'text'}
      step={kind.type === 'number' ? 'any' : undefined}
      value={value ?? ''}
    />
  )
}
