import type { VendorKind } from '../api/operations/facts.js'
import { needsWords } from '../api/operations/table.js'
import type { Vendors } from '../api/ports/ports.js'
import { isObject } from '../api/values/objects.js'
import { listCalls, listProviders, type ProviderCall } from '../engine/tables/providers.js'
import type { Driver } from '../storage/driver/connection.js'
import { type CompiledKind, compileStored } from './compile.js'
import { type ColumnField, isColumnField, type Subject, type SubjectField } from './definition.js'
import { identityOf, subjectOf } from './subject.js'

/** A lookup whose data vendors are wanted: what it was about, for what it may have asked them, and when. */
interface AskedLookup {
  readonly query: Parameters<Vendors['ask']>[1]
  readonly kinds: readonly VendorKind[]
  /** Ids of the runs in which it was made. */
  readonly runs: readonly string[]
  readonly from: number
  readonly until: number
}

/** Returns what the data vendors of a workspace were asked about whom a lookup was about, until its answer, in order. */
export async function callsAbout(
  store: Driver,
  workspaceId: string,
  { query, kinds, runs, from, until }: AskedLookup,
): Promise<readonly ProviderCall[]> {
  const about = subjectOf(query)
  const { network_handle, network_url, email, domain, company_name, last_name, full_name } = about
  // A check of an address sends the address, of which the domain is a part.
  const words = [network_handle ?? network_url, email, domain, company_name, last_name ?? full_name]
  const calls = await store.read((tx) =>
    listCalls(
      tx,
      workspaceId,
      until,
      words.filter((word) => word !== undefined),
    ),
  )
  const asked = calls.filter(({ kind }) => kinds.includes(kind as VendorKind))
  const sure = asked.filter(({ subject }) => isAbout(about, subject as Subject, kinds))
  // The catalogue may have said where somebody works whose profile was given, and only that was sent.
  const during = asked.filter(
    (call) => runs.includes(call.run) && call.askedAt >= from && !sure.includes(call),
  )
  const named = during.filter(({ subject }) => hasSameName(about, subject as Subject))
  const places = new Set(
    named.map(({ subject }) => {
      const { domain: at, company_name: of } = subject as Subject
      return at ?? of
    }),
  )
  const found = new Set(places.size === 1 ? [...sure, ...named] : sure)
  const addresses = [...found].flatMap(({ answer }) => addressesIn(answer))
  const isOfAddress = ({ kind, subject }: ProviderCall) =>
    kind === 'verify' && addresses.some((address) => isSame({ email: address }, subject as Subject, 'email'))
  return calls.filter((call) => found.has(call) || isOfAddress(call))
}

/** Returns the data vendors that could not be asked about somebody, because what they need is not known, and what that is. */
export async function vendorsLacking(
  store: Driver,
  workspaceId: string,
  query: AskedLookup['query'],
  { kinds, until }: Pick<AskedLookup, 'kinds' | 'until'>,
): Promise<readonly { readonly provider: string; readonly kind: VendorKind; readonly reason: string }[]> {
  const about = subjectOf(query)
  const stored = await store.read((tx) => listProviders(tx, workspaceId))
  const then = stored.filter(({ enabled, createdAt }) => enabled && createdAt <= until)
  const all = await Promise.all(
    then.map(async (one) => {
      const compiled = await compileStored(one)
      return kinds.flatMap((kind) => {
        const own = compiled.kinds[kind]
        if (!own || own.fieldsOf(about)) return []
        return [{ provider: one.name, kind, reason: lackingText(own, about) }]
      })
    }),
  )
  return all.flat()
}

/** Returns what a vendor needs for a kind and is not known of somebody, as the reason why it was not asked. */
export function lackingText({ file: { needs } }: Pick<CompiledKind, 'file'>, about: Subject): string {
  const [least = []] = needs
    .map((set) => set.filter((field) => !about[field]))
    .sort((some, others) => some.length - others.length)
  return `${needsWords}${least.map(withArticle).join(' and ')}`
}

const withArticle = (field: SubjectField | ColumnField): string => {
  if (isColumnField(field)) return `the column ${field.slice('input.'.length)}`
  const words = /^network_/.test(field) ? 'profile URL' : field.replaceAll('_', ' ')
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`
}

const addressesIn = (answer: unknown): readonly string[] =>
  isObject(answer) ? [answer.email, answer.personal_email].filter((one) => typeof one === 'string') : []

const isSame = (one: Subject, other: Subject, field: keyof Subject): boolean | undefined => {
  const [value, sent] = [one[field], other[field]]
  if (value === undefined || sent === undefined) return undefined
  return identityOf({ [field]: value } as Subject) === identityOf({ [field]: sent } as Subject)
}

const hasSameName = (one: Subject, other: Subject): boolean =>
  isSame(one, other, 'full_name') ??
  (isSame(one, other, 'first_name') === true && isSame(one, other, 'last_name') === true)

/** Whether what was sent is about somebody: what both say is the same, and it is enough to know them by. */
function isAbout(about: Subject, sent: Subject, kinds: readonly VendorKind[]): boolean {
  const same = (field: keyof Subject) => isSame(about, sent, field)
  const surest = [same('network_url'), same('network_handle'), same('email')].filter(
    (one) => one !== undefined,
  )
  if (surest.length > 0) return surest.every(Boolean)
  const isPlaced = same('domain') ?? same('company_name') ?? false
  return isPlaced && (kinds.includes('company') || hasSameName(about, sent))
}
