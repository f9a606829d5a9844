import * as z from 'zod'
import { describe } from './fields.js'

/** A text that is always present. */
export const string = (description: string, more?: z.GlobalMeta) => describe(z.string(), description, more)
/** A text that may be unknown. */
export const maybe = (description: string, more?: z.GlobalMeta) => string(description, more).nullable()
/** An identifier the service made. */
export const uuid = (description: string) => string(description, { format: 'uuid' })
export const moment = (description: string) => string(description, { format: 'date-time' })
/** A URL that may be unknown, with the letters of any language as it was imported. */
export const address = (description: string) => maybe(description, { format: 'iri' })
export const count = (description: string) => describe(z.int(), description)
/** A whole number that may be unknown. */
export const maybeCount = (description: string) => count(description).nullable()
/** The state of work that was just accepted. */
export const processing = () => describe(z.literal('processing'), 'Always processing')
export const yesNo = (description: string) => describe(z.boolean(), description)
/** Yes, no or unknown. */
export const maybeYesNo = (description: string) => yesNo(description).nullable()
export const list = <S extends z.ZodType>(item: S, description: string) =>
  describe(z.array(item), description)
export const strings = (description: string) => list(z.string(), description)
export const object = <S extends z.ZodRawShape>(description: string, shape: S) =>
  describe(z.object(shape), description)
/** What to know of a search that was accepted all the same. */
export const note = () =>
  string('Which of the companies in filters are unknown; absent when all are known').optional()
export const objects = <S extends z.ZodRawShape>(description: string, shape: S) =>
  list(z.object(shape), description)
export const echo = () =>
  describe(z.record(z.string(), z.unknown()), 'Your own values, as given with the request').optional()
