import { type CompiledProvider, micros } from '../../../providers/compile.js'
import {
  isColumnField,
  type KindFile,
  type ProviderFile,
  type ProviderKind,
  placeholdersIn,
  type RequestFile,
  requestOf,
  targetOf,
} from '../../../providers/definition.js'

/** What is known of a template beside its file. */
interface Origin {
  readonly page: string
  readonly read: string
  readonly unconfirmed: string
}

export type Description = ReturnType<typeof describeProvider>

/** Returns what a provider asks, costs and reads. */
export function describeProvider({ file, kinds, sharing, search }: CompiledProvider, origin?: Origin) {
  const described = (Object.keys(kinds) as ProviderKind[]).map((kind) => {
    const own = file.kinds[kind] as KindFile
    return {
      kind,
      needs: own.needs.map((set) => set.map(needText).join(' + ')),
      asks: asksOf(own),
      rows_per_request: own.batch?.size ?? 1,
      same_request_as: sharing[kind] ?? [],
      reads: Object.keys(own.result),
      cost: costText(own),
      most: (kinds[kind]?.most ?? 0) / micros,
      answers: own.outcomes.map(({ is, when, wait }) => `${is}${wait ? ` (waits ${wait})` : ''}: ${when}`),
    }
  })
  return {
    name: file.name,
    base_url: file.base_url,
    key: keyText(file.auth),
    rates: file.limits?.rates ?? [],
    concurrent: file.limits?.concurrent ?? null,
    max_cost_per_day: file.max_cost_per_day ?? null,
    answers_kept: file.max_age ?? '90d',
    balance: file.balance ? pathText(file.balance) : null,
    kinds: described,
    ...(file.search && search
      ? {
          search: {
            of: file.search.of,
            asks: pathText(requestOf(file.search)),
            query: search.query,
            reads: search.fields,
            rows_per_page: search.size ?? null,
            most: search.kind.most / micros,
          },
        }
      : {}),
    notes: Object.entries(file.kinds).flatMap(([kind, own]) =>
      notesOn(kind, own).map((note) => `${kind}: ${note}`),
    ),
    ...(origin && { read_from: origin.page, read_on: origin.read, not_confirmed: origin.unconfirmed }),
  }
}

const needText = (field: string): string =>
  isColumnField(field) ? `the column ${field.slice('input.'.length)}` : field

/** Returns what a kind of a file may have forgotten: it works, and may cost more than is meant. */
function notesOn(kind: string, { outcomes, cost = {}, needs, request, submit }: KindFile): string[] {
  const sent = placeholdersIn(request ?? submit)
  const unsent = [...new Set(needs.flat())].filter((field) => !sent.has(field))
  const optional = [...sent].filter(isColumnField).filter((field) => !needs.flat().includes(field))
  const has = (word: string) => outcomes.some(({ is }) => is === word)
  const missing = ['rate_limited', 'out_of_credits', 'invalid_key'].filter((word) => !has(word))
  const always = outcomes.findIndex(({ when }) => when.trim() === 'true')
  const hasCost = Object.keys(cost).length > 0
  const saysCost = cost.from !== undefined || cost.header !== undefined
  return [
    ...(optional.length > 0
      ? [
          `it is asked with ${optional.map(needText).join(', ')} of the file of a row, where there is one: other rows, and single lookups, are asked about without it.`,
        ]
      : []),
    ...(unsent.length > 0
      ? [
          `its needs name ${unsent.map(needText).join(', ')}, which the request does not send: rows known by that alone are asked about without it.`,
        ]
      : []),
    // Whoever verifies says something of each address.
    ...(has('not_found') || kind === 'verify'
      ? []
      : ['no outcome is not_found: a success that no outcome fits is unknown, and may count as charged.']),
    ...(missing.length > 0
      ? [
          `no outcome is ${missing.join(', ')}: such a refusal counts as failed, and is asked again for the next row.`,
        ]
      : []),
    ...(always >= 0 && always < outcomes.length - 1
      ? [`the outcomes behind ${outcomes[always]?.is} are never reached: its condition is always true.`]
      : []),
    ...(hasCost ? [] : ['it has no cost: neither a budget nor the ledger will count what it charges.']),
    ...(saysCost && cost.most === undefined && cost.found === undefined
      ? ['its cost has no most: 1 credit is set aside for each answer, whatever it charges.']
      : []),
  ]
}

const pathText = (request: RequestFile): string => {
  const { method, path } = targetOf(request)
  return `${method.toUpperCase()} ${path}`
}

function asksOf({ request, submit, poll, webhook }: KindFile): string {
  if (request) return pathText(request)
  const polled = poll && `${pathText(poll)} every ${poll.every} for up to ${poll.give_up}`
  const sent = webhook && `its answer comes by webhook${webhook.sign ? ', signed' : ''}`
  const then = sent && polled ? `${sent}, or else ${polled}` : (sent ?? polled)
  return `${submit ? pathText(submit) : ''}${then ? `, then ${then}` : ''}`
}

function costText({ cost = {} }: KindFile): string {
  const { found, not_found: missed, from, header, most } = cost
  const said =
    header === undefined ? (from === undefined ? undefined : 'as the answer says') : `as ${header} says`
  const usual = [
    ...(found === undefined ? [] : [`${found} when found`]),
    ...(missed === undefined ? [] : [`${missed} when not found`]),
  ].join(', ')
  if (said === undefined) return usual === '' ? 'nothing' : usual
  return [
    said,
    ...(most === undefined ? [] : [`at most ${most}`]),
    ...(usual === '' ? [] : [`else ${usual}`]),
  ].join(', ')
}

/** Returns where the key is sent. */
function keyText({ header, query, body, path, bearer, headers, oauth, sign }: ProviderFile['auth']): string {
  if (header !== undefined) return `in the header ${header}`
  if (query !== undefined) return `as ${query} in the query`
  if (body !== undefined) return `as ${body} in the body`
  if (path !== undefined) return `in the path ${path}`
  if (bearer) return 'as a bearer token'
  if (headers) return `in the headers ${Object.keys(headers).join(', ')}`
  if (oauth) return `becomes a token at ${oauth.token_url}`
  return `signs each request (${sign?.header})`
}

export function layOutDescription(body: unknown): string {
  const { kinds, notes, read_from, read_on, not_confirmed, ...provider } = body as Description
  const limits = [
    ...provider.rates,
    ...(provider.concurrent === null ? [] : [`${provider.concurrent} at a time`]),
  ]
  const lines = [
    `${provider.name}  ${provider.base_url}`,
    `  The key goes ${provider.key}.`.replace('goes becomes', 'becomes').replace('goes signs', 'signs'),
    `  Requests: ${limits.length === 0 ? 'no limit in its file' : limits.join(', ')}.`,
    ...(provider.max_cost_per_day === null ? [] : [`  It may spend ${provider.max_cost_per_day} a day.`]),
    `  Answers are used again for ${provider.answers_kept}.`,
    `  Balance: ${provider.balance ?? 'not in its file'}.`,
  ]
  for (const one of kinds) {
    const others = one.same_request_as
    lines.push(
      '',
      one.kind,
      `  Needs   ${one.needs.join(', or ')}`,
      `  Asks    ${one.asks}${one.rows_per_request > 1 ? `, up to ${one.rows_per_request} rows at once` : ''}`,
      ...(others.length === 0 ? [] : [`          the request of ${others.join(', ')}: asked and paid once`]),
      `  Reads   ${one.reads.join(', ')}`,
      `  Costs   ${one.cost}`,
      ...one.answers.map((answer, at) => `  ${at === 0 ? 'Answers' : '       '} ${answer}`),
    )
  }
  if (provider.search) {
    const { of, asks, query, reads, rows_per_page, most } = provider.search
    lines.push(
      '',
      `search of ${of}, as the input of flows`,
      `  Asks    ${asks}${rows_per_page === null ? '' : `, up to ${rows_per_page} rows a page`}`,
      ...(query.length === 0 ? [] : [`  Query   ${query.join(', ')}`]),
      `  Reads   ${reads.join(', ')}`,
      `  Costs   ${most === 0 ? 'nothing' : `at most ${most} a page`}`,
    )
  }
  if (notes.length > 0) lines.push('', ...notes.map((note) => `Note: ${note}`))
  if (read_from !== undefined)
    lines.push('', `Read on ${read_on} from ${read_from}`, `Not confirmed there: ${not_confirmed}`)
  return `${lines.join('\n')}\n`
}
