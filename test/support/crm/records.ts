/** The values of a record, by the names that the CRM gives its fields. */
export type Fields = Record<string, unknown>

/** A record of a fake CRM. */
export interface Held {
  readonly id: string
  fields: Fields
  readonly created: number
  modified: number
  isArchived: boolean
  /** Who wrote it last: whoever asks over HTTP, or somebody else. */
  by: 'seed' | 'caller' | 'others'
}

/** How a snapshot describes a record. */
export type Snapshot = ReadonlyMap<string, Fields>

/** A record that is otherwise than in a snapshot. */
export interface Difference {
  readonly id: string
  /** Undefined where the record was not there. */
  readonly before: Fields | undefined
  /** Undefined where it is gone, or archived. */
  readonly after: Fields | undefined
}

/** How a CRM numbers its records, and what it keeps unique. */
export interface Keeping {
  readonly idOf: (position: number) => string
  readonly now: () => number
  /** For how many milliseconds a search does not see what was written. */
  readonly lag: number
  readonly unique: readonly string[]
}

const spelled = (value: unknown): string => String(value).trim().toLowerCase()

/** The records of one type, in the order of their ids. */
export class Records {
  readonly #all: Held[] = []
  readonly #at = new Map<string, number>()
  readonly #unique = new Map<string, Map<string, string>>()
  /** What a search sees: states that are older than its lag. */
  readonly #seen = new Map<string, Held>()
  readonly #unseen: { readonly from: number; readonly state: Held }[] = []

  constructor(private readonly keeping: Keeping) {
    for (const field of keeping.unique) this.#unique.set(field, new Map())
  }

  /** Creates a record, which a search sees at once where it is seeded. */
  add(fields: Fields, by: Held['by'] = 'others'): Held {
    // What is seeded has been there for a month.
    const now = this.keeping.now() - (by === 'seed' ? 30 * 86_400_000 - this.#all.length : 0)
    const id = this.keeping.idOf(this.#all.length)
    const held: Held = { id, fields: kept(fields), created: now, modified: now, isArchived: false, by }
    this.#at.set(held.id, this.#all.length)
    this.#all.push(held)
    this.#claim(held)
    this.#written(held)
    return held
  }

  /** Changes a record. An empty value clears a field. */
  change(id: string, fields: Fields, by: Held['by'] = 'others'): Held {
    const held = this.here(id)
    this.#release(held)
    held.fields = kept({ ...held.fields, ...fields })
    held.modified = Math.max(this.keeping.now(), held.modified + 1)
    held.by = by
    this.#claim(held)
    this.#written(held)
    return held
  }

  archive(id: string, by: Held['by'] = 'others'): void {
    const held = this.here(id)
    this.#release(held)
    held.isArchived = true
    held.modified = Math.max(this.keeping.now(), held.modified + 1)
    held.by = by
    this.#written(held)
  }

  /** Returns a record that is not archived. */
  get(id: string): Held | undefined {
    const held = this.#all[this.#at.get(id) ?? -1]
    return held?.isArchived ? undefined : held
  }

  here(id: string): Held {
    const held = this.get(id)
    if (!held) throw new Error(`No record ${id}.`)
    return held
  }

  /** Returns the record that has a value in a unique field. */
  owner(field: string, value: unknown): Held | undefined {
    return this.get(this.#unique.get(field)?.get(spelled(value)) ?? '')
  }

  /** From now on a field is unique. */
  keepUnique(field: string): void {
    this.#unique.set(field, new Map())
    for (const held of this.live()) this.#claim(held)
  }

  isUnique = (field: string): boolean => this.#unique.has(field)

  /** Returns so many records after a position, with those that are archived. */
  page(from: number, size: number): readonly Held[] {
    return this.#all.slice(from, from + size)
  }

  get size(): number {
    return this.#all.length
  }

  live(): readonly Held[] {
    return this.#all.filter((held) => !held.isArchived)
  }

  /** Returns what a search sees. */
  seen(): readonly Held[] {
    while ((this.#unseen[0]?.from ?? Number.POSITIVE_INFINITY) <= this.keeping.now()) {
      const { state } = this.#unseen.shift() as { state: Held }
      this.#seen.set(state.id, state)
    }
    return [...this.#seen.values()].filter((held) => !held.isArchived)
  }

  /** Returns the values that several records have, in a field or by a function of their fields. */
  duplicates(key: string | ((fields: Fields) => unknown)): readonly string[] {
    const count = new Map<string, number>()
    for (const { fields } of this.live()) {
      const value = spelled((typeof key === 'string' ? fields[key] : key(fields)) ?? '')
      if (value) count.set(value, (count.get(value) ?? 0) + 1)
    }
    return [...count].filter(([, times]) => times > 1).map(([value]) => value)
  }

  snapshot(): Snapshot {
    return new Map(this.live().map(({ id, fields }) => [id, { ...fields }]))
  }

  /** Returns what is otherwise than in a snapshot. */
  diff(before: Snapshot): readonly Difference[] {
    const ids = new Set([...before.keys(), ...this.live().map(({ id }) => id)])
    return [...ids]
      .map((id) => ({ id, before: before.get(id), after: this.get(id)?.fields }))
      .filter(({ before, after }) => JSON.stringify(sorted(before)) !== JSON.stringify(sorted(after)))
  }

  #claim(held: Held): void {
    for (const [field, owners] of this.#unique) {
      const value = held.fields[field]
      if (value !== undefined && !owners.has(spelled(value))) owners.set(spelled(value), held.id)
    }
  }

  #release(held: Held): void {
    for (const [field, owners] of this.#unique) {
      const value = spelled(held.fields[field] ?? '')
      if (owners.get(value) === held.id) owners.delete(value)
    }
  }

  #written(held: Held): void {
    const state = { ...held }
    const lag = held.by === 'seed' ? 0 : this.keeping.lag
    if (lag === 0 && this.#unseen.length === 0) this.#seen.set(held.id, state)
    else this.#unseen.push({ from: this.keeping.now() + lag, state })
  }
}

const sorted = (fields: Fields | undefined) =>
  fields && Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1))

const kept = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== '' && value !== null && value !== undefined),
  )

const first = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Tim', 'Margaret', 'Niklaus']
const last = ['Lovelace', 'Hopper', 'Turing', 'Dijkstra', 'Liskov', 'Knuth', 'Perlman', 'Lee', 'Hamilton']

/** A seeded company. Two of three have no industry, and one of four no number of employees. */
export const seededCompany = (at: number) => ({
  domain: `company-${at}.example`,
  name: `Company ${at}`,
  hasIndustry: at % 3 === 0,
  employees: at % 4 === 0 ? undefined : 10 + (at % 990),
})

/** A seeded person, who works at one of so many companies. Two of three have no title; one of fifty wants no mail. */
export const seededPerson = (at: number, companies: number) => {
  const given = first[at % first.length] ?? ''
  const company = companies > 0 ? at % companies : 0
  return {
    email: `${given.toLowerCase()}.${at}@company-${company}.example`,
    first: given,
    last: `${last[at % last.length]} ${at}`,
    title: at % 3 === 0 ? 'CTO' : undefined,
    company,
    isOptedOut: at % 50 === 49,
  }
}
