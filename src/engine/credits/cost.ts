import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import {
  hasBody,
  isPriced,
  itemsOf,
  type Needs,
  queryOf,
  splitPath,
  type Unit,
} from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { type Fields, isObject } from '../../api/values/objects.js'

export type Used = Partial<Readonly<Record<Unit, number>>>

export function costOf(operation: Operation, used: Used): number {
  let credits = 0
  for (const unit in used) credits += (operation.price[unit as Unit] ?? 0) * (used[unit as Unit] ?? 0)
  return credits
}

/** Returns the credits that a request must be able to pay before any work. */
export function creditsNeeded(operation: Operation, fields: Fields): number {
  return operation.needs === undefined ? 0 : needs[operation.needs](operation, fields)
}

type RequestShape = Pick<Shape, 'input'>

/** Returns the highest cost of a request; null when it depends on the number of matches. */
export function mostCredits(operation: Operation, fields: Fields): number | null {
  if (operation.needs === undefined || !isPriced(operation)) return 0
  const many = operation.needs === 'records' || operation.price.job !== undefined
  if (!many) return creditsNeeded(operation, fields)
  return typeof fields.limit === 'number' ? fields.limit * unitPrice(operation) : null
}

/** The same for a request that may lack fields. Defaults of the schema count: an omitted limit can have a price. */
export const maxCreditsOf = (operation: Operation, { input: schema }: RequestShape, input: Input) =>
  mostCredits(operation, schema.safeParse(input).data ?? input)

/** What a row of a file can cost. */
export interface RowPrice {
  /** Returns the maximum cost of an input in credits. */
  readonly most: (input: Input) => number
  /** Price of one record where `limit` is the maximum number of records. */
  readonly perRecord?: number | undefined
}

export function rowPriceOf({ operation, shape }: { operation: Operation; shape: RequestShape }): RowPrice {
  const { job } = operation.price
  if (job === undefined) return { most: (input) => mostCredits(operation, input) ?? 0 }
  // An omitted limit is a price too.
  const limit = shape.input.shape.limit?.safeParse(undefined).data
  return { most: (input) => mostCredits(operation, { limit, ...input }) ?? 0, perRecord: job }
}

/**
 * Returns what of a request so many credits pay for, of which it can cost `most`: all of it, or with a lower `limit`.
 * `undefined` where they pay for nothing.
 */
export function affordable(operation: Operation, most: number | null, left: number) {
  if (most !== null && most <= left) return { credits: most, limit: undefined }
  const isMany = operation.needs === 'records' || operation.price.job !== undefined
  const limit = isMany ? unitsFor(operation, left) : 0
  return limit > 0 ? { credits: limit * unitPrice(operation), limit } : undefined
}

/**
 * Returns the highest cost of work that a server has accepted, from its reply. It is `undefined` for an import without a
 * limit whose reply does not say how many records match.
 */
export function creditsAccepted(operation: Operation, fields: Fields, reply: unknown): number | undefined {
  if (operation.needs !== 'records') return creditsNeeded(operation, fields)
  const { preview_count: count, total_count: total } = isObject(reply) ? reply : {}
  const known = [fields.limit, count, total].filter((records) => typeof records === 'number')
  return known.length === 0 ? undefined : Math.min(...known) * unitPrice(operation)
}

export function unitPrice({ price }: Operation): number {
  let most = 0
  for (const unit in price) most = Math.max(most, price[unit as Unit] ?? 0)
  return most
}

/** Returns how many units the credits could pay for, at the highest unit price. Only for operations with a price. */
export const unitsFor = (operation: Operation, credits: number) => Math.floor(credits / unitPrice(operation))

const size = (value: unknown): number => (Array.isArray(value) ? value.length : 1)

function typesPrice(operation: Operation, types: unknown): number {
  const asked = Array.isArray(types) ? types : [types]
  return asked.reduce((sum: number, type) => sum + (operation.price[type as Unit] ?? 0), 0)
}

const needs: Readonly<Record<Needs, (operation: Operation, fields: Fields) => number>> = {
  unit: unitPrice,
  items: (operation, fields) => unitPrice(operation) * size(itemsOf(fields)),
  // Known once the matches are counted: the hold checks it.
  records: () => 0,
  types: (operation, fields) => typesPrice(operation, fields.enrichment_type),
  contacts: (operation, fields) => typesPrice(operation, fields.enrichment_type) * size(fields.contacts),
  numbers: (operation, fields) => unitPrice(operation) * size(fields.phone_numbers ?? fields.phone_number),
}

/** What a request sends, and what it can cost. */
export type DryRun = ReturnType<typeof dryRun>

/**
 * Returns what a request would send and cost, without sending it: the path is relative to the base address and has the
 * query; the maximum is null where it depends on what matches.
 */
export function dryRun(operation: Operation, shape: RequestShape, input: Input) {
  const { path, rest } = splitPath(operation, input, (value) => encodeURIComponent(String(value)))
  const price = { min: 0, max: maxCreditsOf(operation, shape, input) }
  const { method } = operation
  if (hasBody(operation)) return { method, path, body: rest, price }
  return { method, path: path + queryOf(rest), body: null, price }
}
