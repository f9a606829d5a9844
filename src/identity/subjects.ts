import { type Fields, getOrMake } from '../api/values/objects.js'
import { contradict, type Key, keysOf, type Sort, type SubjectKind } from './keys.js'

interface Subject {
  keys: readonly Key[]
  /** What its records say, the first of each field. */
  fields: Fields
  /** The one that it turned out to be. */
  into?: Subject
}

const none: readonly never[] = []

/** A key that so many have who are not one says nothing, and one with so many keys is nobody: those are placeholders. */
const most = 100

/**
 * Tells which records are about the same subject, in any order. A key joins records unless a surer one differs. A name joins
 * all who have it or none: of several people it does not say which one. All records are added before the first is completed.
 */
export class Subjects {
  readonly #bySort = new Map<Sort, Map<string, readonly Subject[]>>()
  readonly #names = new Set<string>()
  /** Those of which nothing but a name is known, by all their keys: equal ones are one, or all are unknown. */
  readonly #onlyNamed = new Map<string, Subject>()

  constructor(private readonly kind: SubjectKind) {}

  /** Adds a record; returns its keys. */
  add(record: Fields): readonly Key[] {
    const keys = keysOf(this.kind, record)
    const subject: Subject = { keys, fields: record }
    if (keys.every(({ sort }) => sort === 'name')) {
      const names = JSON.stringify(keys)
      const known = this.#onlyNamed.get(names)
      if (known) {
        addFields(latest(known), record)
        return keys
      }
      this.#onlyNamed.set(names, subject)
    }
    for (const key of keys) this.#addKey(key, subject)
    return keys
  }

  #addKey(key: Key, subject: Subject): void {
    const others = this.#with(key)
    if (key.sort === 'name') this.#names.add(key.value)
    else
      for (const other of others)
        if (other.keys.length < most && !contradict(latest(subject).keys, other.keys, key.sort))
          join(other, latest(subject))
    if (others.length >= most) return
    const all = others.length === 0 ? [subject] : [...others, subject]
    getOrMake(this.#bySort, key.sort, () => new Map()).set(key.value, all)
  }

  get isEmpty(): boolean {
    return this.#bySort.size === 0
  }

  clear(): void {
    this.#bySort.clear()
    this.#names.clear()
    this.#onlyNamed.clear()
  }

  /** Returns a record with what the others about its subject say beside it. */
  completed(record: Fields, keys = keysOf(this.kind, record)): Fields {
    this.#joinNames()
    for (const key of keys) {
      const found = this.#with(key).filter((one) => !contradict(keys, one.keys, key.sort))
      if (found.length > 0) return found.length === 1 ? { ...found[0]?.fields, ...record } : record
    }
    return record
  }

  #with({ sort, value }: Key): readonly Subject[] {
    const all = this.#bySort.get(sort)?.get(value) ?? none
    if (all.length > 1) return [...new Set(all.map(latest))]
    return all[0]?.into ? [latest(all[0])] : all
  }

  #joinNames(): void {
    for (const value of this.#names) {
      const [first, ...others] = this.#with({ sort: 'name', value })
      if (!first || others.length === 0) continue
      const all = [first, ...others]
      const isOne =
        all.length < most &&
        all.every((one, at) => all.slice(at + 1).every((other) => !contradict(one.keys, other.keys, 'name')))
      if (isOne) for (const other of others) join(first, other)
    }
    this.#names.clear()
  }
}

/** Returns the one that a subject turned out to be; whoever led to it leads there at once from now on. */
function latest(subject: Subject): Subject {
  let last = subject
  while (last.into) last = last.into
  for (let one = subject; one.into && one.into !== last; ) {
    const next = one.into
    one.into = last
    one = next
  }
  return last
}

function join(one: Subject, other: Subject): void {
  if (one === other) return
  const isNew = (key: Key) => !one.keys.some(({ sort, value }) => sort === key.sort && value === key.value)
  one.keys = [...one.keys, ...other.keys.filter(isNew)]
  addFields(one, other.fields)
  other.into = one
}

/** Adds what a subject did not say; what its own record says is not changed for others. */
function addFields(subject: Subject, more: Fields): void {
  const fields: Record<string, unknown> = { ...subject.fields }
  for (const name in more) fields[name] ??= more[name]
  subject.fields = fields
}
