/** Values of a field that were left out of their records because they were not understood. */
export interface LeftOutValues {
  readonly field: string
  readonly values: number
  /** The first of them. */
  readonly sample: string
}

/** A value that was left out of its record. */
export interface LeftOutValue {
  readonly field: string
  readonly value: unknown
  readonly reason: string
}

/** Leaves a value out of its record, for a reason. */
export type LeaveOut = (field: string, value: unknown, reason: string) => void

const sampleCharacters = 60

/** Counts values that are left out, by field. */
export class LeftOutCounter {
  readonly #counts = new Map<string, { values: number; readonly sample: string }>()

  add(field: string, value: unknown, values = 1): void {
    const known = this.#counts.get(field)
    if (known) known.values += values
    else this.#counts.set(field, { values, sample: toSample(value) })
  }

  /** Adds what another counter has counted. */
  addAll(counts: readonly LeftOutValues[]): void {
    for (const { field, sample, values } of counts) this.add(field, sample, values)
  }

  /** Returns the counts, the field with the most values first. */
  get counts(): LeftOutValues[] {
    return [...this.#counts]
      .map(([field, count]) => ({ field, ...count }))
      .sort((one, other) => other.values - one.values)
  }
}

function toSample(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).trim()
  return text.length > sampleCharacters ? `${text.slice(0, sampleCharacters - 1)}…` : text
}

/** Returns a line for each field: `email_status: 5 values not understood, such as "Extrapolated"`. */
export const describeLeftOut = (counts: readonly LeftOutValues[]): string[] =>
  counts.map(
    ({ field, values, sample }) =>
      `${field}: ${values.toLocaleString('en-US')} ${values === 1 ? 'value' : 'values'} not understood, such as "${sample}"`,
  )
