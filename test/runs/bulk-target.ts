import {
  type Caller,
  type CallOptions,
  ConnectionLost,
  type Input,
  type Reply,
} from '../../src/api/calls/caller.js'
import { reply } from './fakes.js'

/** Price of an address. */
export const price = 3

/** What a target is like. */
export interface BulkTarget {
  readonly caller: Caller
  /** Requests with their sizes, in order; 1 for single ones. */
  readonly sizes: number[]
  /** Times that each contact was looked up and paid. */
  readonly paid: Map<string, number>
  /** Requests that were refused for lack of credits. */
  refused: number
  credits: number
  /** What may still be spent this week. */
  allowance: number
  /** Credits that are held for work that goes on. */
  held(): number
  spent(): number
}

/** How a target differs from the usual one. */
export interface Habits {
  readonly supportsIdempotency?: boolean
  /** Questions after which accepted work is done. */
  readonly patience?: number
  /** What is answered in place of a bulk request, where that is another reply. */
  readonly bulk?: (contacts: readonly Input[], nth: number) => Reply | 'lost' | undefined
  /** Whether it tells of a whole request by its id, or of each contact alone. */
  readonly tellsWhole?: boolean
  /** Contacts after which work fails. */
  readonly fails?: number
  /** The results as they are told. */
  readonly told?: (contacts: readonly Input[]) => readonly Input[]
}

interface Work {
  readonly id: string
  readonly contacts: readonly Input[]
  readonly most: number
  asked: number
  done: boolean
}

/** Contacts whose domain begins with `no` are not found. */
const isFound = ({ domain }: Input): boolean => !String(domain).startsWith('no')

/** A target that takes contacts together and looks them up later, as the specification has it. */
export function bulkTarget(credits: number, habits: Habits = {}): BulkTarget {
  const works = new Map<string, Work>()
  const replies = new Map<string, { readonly input: string; readonly reply: Reply }>()
  const {
    supportsIdempotency = true,
    patience = 0,
    bulk,
    told = (contacts) => contacts,
    tellsWhole = true,
  } = habits
  const { fails = Number.POSITIVE_INFINITY } = habits
  let requests = 0
  const target: BulkTarget = {
    caller: {
      call: async (id, input, options = {}) => {
        if (id === 'credits.show') return reply(200, { credits: { enrichment: target.credits } })
        if (id === 'contacts.get') return standing(String(input.id))
        if (id === 'contacts.enrich_sync') return once(input, options, () => single(input))
        if (id !== 'contacts.bulk_enrich') throw new Error(`nobody asks for ${id}`)
        const contacts = input.contacts as readonly Input[]
        const other = bulk?.(contacts, ++requests)
        if (other === 'lost') {
          once(input, options, () => accept(contacts))
          throw new ConnectionLost('cut')
        }
        return other ?? once(input, options, () => accept(contacts))
      },
      supportsIdempotency: async () => supportsIdempotency,
      close: async () => {},
    },
    sizes: [],
    paid: new Map(),
    refused: 0,
    credits,
    allowance: Number.POSITIVE_INFINITY,
    held: () => [...works.values()].reduce((sum, { most, done }) => sum + (done ? 0 : most), 0),
    spent: () => [...target.paid.values()].reduce((sum, times) => sum + times * price, 0),
  }
  function once(input: Input, { idempotencyKey = '' }: CallOptions, act: () => Reply): Reply {
    const before = supportsIdempotency ? replies.get(idempotencyKey) : undefined
    if (before && before.input !== JSON.stringify(input))
      return reply(409, { error: 'reused', code: 'idempotency_key_reused' })
    if (before) return { ...before.reply, credits: 0, replayed: before.reply.credits }
    const made = act()
    if (made.status < 300) replies.set(idempotencyKey, { input: JSON.stringify(input), reply: made })
    return made
  }
  function pays(most: number): Reply | undefined {
    if (target.credits >= most && target.allowance >= most) return undefined
    target.refused++
    return target.credits < most
      ? reply(402, { error: 'Insufficient credits', code: 'insufficient_credits' })
      : reply(403, { error: 'Weekly limit', code: 'workspace_limit_exceeded' })
  }
  function charge(contact: Input): number {
    const name = String(contact.domain)
    if (!isFound(contact)) return 0
    target.paid.set(name, (target.paid.get(name) ?? 0) + 1)
    return price
  }
  function single(contact: Input): Reply {
    const refusal = pays(price)
    if (refusal) return refusal
    target.sizes.push(1)
    const cost = charge(contact)
    target.credits -= cost
    target.allowance -= cost
    return reply(200, resultOf(contact, 'single'), cost)
  }
  function accept(contacts: readonly Input[]): Reply {
    const most = contacts.length * price
    const refusal = pays(most)
    if (refusal) return refusal
    target.sizes.push(contacts.length)
    target.credits -= most
    target.allowance -= most
    const id = `work-${works.size}`
    works.set(id, { id, contacts, most, asked: 0, done: false })
    const items = contacts.map(({ custom }, at) => ({ enrichment_id: `${id}-${at}`, custom }))
    return reply(202, { enrichment_id: id, contacts: items })
  }
  function standing(asked: string): Reply {
    const [, id = '', part] = /^(work-\d+)(?:-(\d+))?$/.exec(asked) ?? []
    const work = works.get(id)
    if (work && part !== undefined) {
      finish(work)
      return reply(200, resultOf(work.contacts[Number(part)] ?? {}, asked))
    }
    if (!work || !tellsWhole) return reply(404, { error: 'Not found' })
    if (!work.done && ++work.asked > patience) finish(work)
    const results = work.contacts.map((contact, at) =>
      resultOf(at < fails ? contact : { ...contact, domain: 'not done' }, `${id}-${at}`),
    )
    const status = work.done ? 'finished' : 'pending'
    const finished = Math.min(fails, results.length)
    return reply(200, { enrichment_id: id, status, finished, contacts: told(results) })
  }
  function finish(work: Work): void {
    if (work.done) return
    work.done = true
    const done = work.contacts.slice(0, fails)
    const rest = work.most - done.reduce((sum, contact) => sum + charge(contact), 0)
    target.credits += rest
    target.allowance += rest
  }
  return target
}

function resultOf(contact: Input, id: string): Input {
  const found = isFound(contact)
  return {
    enrichment_id: id,
    status: 'finished',
    domain: contact.domain,
    custom: contact.custom,
    email: found ? `someone@${contact.domain}` : null,
    credits_used: found ? price : 0,
  }
}
