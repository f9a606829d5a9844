import type { Fields } from '../api/values/objects.js'
import { contradict, type Key, keysOf, keyText, type SubjectKind } from './keys.js'

interface Subject {
  readonly keys: Key[]
  /** What its records say, the first of each field. */
  readonly fields: Record<string, unknown>
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
  readonly #byKey = new Map<string, Subject[]>()
  readonly #names = new Set<string>()
  /** Those of which nothing but a name is known, by all their keys: equal ones are one, or all are unknown. */
  readonly #onlyNamed = new Map<string, Subject>()

  constructor(private readonly kind: SubjectKind) {}

  /** Adds a record; returns its keys. */
  add(record: Fields): readonly Key[] {
    const keys = keysOf(this.kind, record)
    const subject: Subject = { keys: [...keys], fields: { ...record } }
    if (subject.keys.every(({ sort }) => sort === 'name')) {
      const names = JSON.stringify(subject.keys)
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
    const text = keyText(this.kind, key)
    const others = this.#with(text)
    if (key.sort === 'name') this.#names.add(text)
    else
      for (const other of others)
        if (other.keys.length < most && !contradict(latest(subject).keys, other.keys, key.sort))
          join(other, latest(subject))
    if (others.length < most) this.#byKey.set(text, [...others, subject])
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0
  }

  /** Returns a record with what the others about its subject say beside it. */
  completed(record: Fields, keys = keysOf(this.kind, record)): Fields {
    this.#joinNames()
    for (const key of keys) {
      const found = this.#with(keyText(this.kind, key)).filter((one) => !contradict(keys, one.keys, key.sort))
      if (found.length > 0) return found.length === 1 ? { ...found[0]?.fields, ...record } : record
    }
    return record
  }

  #with(text: string): readonly Subject[] {
    const all = this.#byKey.get(text) ?? none
    return all.length > 1 ? [...new Set(all.map(latest))] : all.map(latest)
  }

  #joinNames(): void {
    for (const text of this.#names) {
      const [first, ...others] = this.#with(text)
      const all = first ? [first, ...others] : []
      const isOne =
        all.length < most &&
        all.every((one, at) => all.slice(at + 1).every((other) => !contradict(one.keys, other.keys, 'name')))
      if (first && isOne) for (const other of others) join(first, other)
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
  for (const key of other.keys)
    if (!one.keys.some(({ sort, value }) => sort === key.sort && value === key.value)) one.keys.push(key)
  addFields(one, other.fields)
  other.into = one
}

function addFields({ fields }: Subject, more: Fields): void {
  for (const [name, value] of Object.entries(more)) fields[name] ??= value
}
