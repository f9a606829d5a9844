import * as z from 'zod'
import {
  functions as functionLabels,
  seniorities as seniorityLabels,
  companySizes as sizes,
} from './enumerations.js'
import { bounds, country, describe, type FieldRefusal, id, industry, orNumber, text } from './fields.js'

/** Several items, in the order given. */
export const of = <S extends z.ZodType>(
  item: S,
  description: string,
  max: number = bounds.items,
): z.ZodArray<S> =>
  describe(z.array(item).check(z.maxLength(max, `must have at most ${max} items`)), description)

/** At least so many items, and at most a hundred. */
export const bulk = <S extends z.ZodType>(item: S, description: string, min = 2): z.ZodArray<S> => {
  const error = { error: `must have ${min} to 100 items`, abort: true }
  return describe(z.array(item).check(z.minLength(min, error), z.maxLength(100, error)), description)
}

/** At least one item. */
export const some = <S extends z.ZodType>(
  item: S,
  description: string,
  max: number = bounds.items,
): z.ZodArray<S> =>
  describe(
    z
      .array(item)
      .check(
        z.minLength(1, { error: 'must have at least one item', abort: true }),
        z.maxLength(max, `must have at most ${max} items`),
      ),
    description,
  )

/** Several words or phrases. */
export const texts = (description: string) => of(text('One of them'), description)
/** Several ids or slugs. */
export const ids = (description: string) => of(id('Id', orNumber), description)
/** Several words that each stand for an id, or are one. */
export const idWords = (words: readonly string[], description: string) =>
  of(describe(z.enum(words), 'Id', orNumber), description)
const companyText = 'Name, network id, domain or profile URL'
/** Several companies. */
export const companies = (description: string) =>
  of(describe(text(companyText), companyText, orNumber), description)
/** Several industries. */
export const industries = (description: string) => of(industry('Id or name'), description)
/** Several countries. */
export const countries = (description: string) => of(country('Country code'), description)

/** Company sizes by number of employees. */
export const companySizes = () => of(z.enum(sizes), 'Company sizes by number of employees')

const known = (labels: Readonly<Record<string, string>>, what: string) =>
  z.check<string[]>(({ value, issues }) => {
    const unknown = value.filter((one) => !Object.hasOwn(labels, one))
    if (unknown.length === 0) return
    const all = Object.entries(labels).map(([key, label]) => `${key} ${label}`)
    const message = `has unknown ids: ${unknown.slice(0, 10).join(', ')}. Known ${what}: ${all.join(', ')}`
    issues.push({
      code: 'custom',
      input: value,
      message,
      params: { error: 'invalid' } satisfies FieldRefusal,
    })
  })

/** Functions (departments) by id. */
export const functions = () => ids('Functions, by id or name').check(known(functionLabels, 'functions'))
/** Seniority levels by id. */
export const seniorities = () =>
  ids('Seniority levels, by id or name').check(known(seniorityLabels, 'seniority levels'))
