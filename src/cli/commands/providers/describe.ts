import { type CompiledProvider, micros } from '../../../providers/compile.js'
import {
  type KindFile,
  type ProviderFile,
  type ProviderKind,
  type RequestFile,
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
export function describeProvider({ file, kinds, sharing }: CompiledProvider, origin?: Origin) {
  const described = (Object.keys(kinds) as ProviderKind[]).map((kind) => {
    const own = file.kinds[kind] as KindFile
    return {
      kind,
      needs: own.needs.map((set) => set.join(' + ')),
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
    ...(origin && { read_from: origin.page, read_on: origin.read, not_confirmed: origin.unconfirmed }),
  }
}

const pathText = (request: RequestFile): string => {
  const { method, path } = targetOf(request)
  return `${method.toUpperCase()} ${path}`
}

function asksOf({ request, submit, poll }: KindFile): string {
  if (request) return pathText(request)
  const polled = poll && `, then ${pathText(poll)} every ${poll.every} for up to ${poll.give_up}`
  return `${submit ? pathText(submit) : ''}${polled ?? ''}`
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
  const { kinds, read_from, read_on, not_confirmed, ...provider } = body as Description
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
  if (read_from !== undefined)
    lines.push('', `Read on ${read_on} from ${read_from}`, `Not confirmed there: ${not_confirmed}`)
  return `${lines.join('\n')}\n`
}
