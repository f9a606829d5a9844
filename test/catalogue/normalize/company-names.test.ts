import { describe, expect, it } from 'vitest'
import { rowsOf } from '../../support/fixtures.js'

const written = rowsOf('company-names/written.tsv')
const different = rowsOf('company-names/different.tsv')

describe('the list of company names as CRMs store them', () => {
  it('has 60 rows or more of each of 15 forms or more, from 25 countries or more', () => {
    const forms = Map.groupBy(written, ([, , , form]) => form)
    expect(written.length).toBeGreaterThan(1_000)
    expect(forms.size).toBeGreaterThanOrEqual(15)
    expect([...forms.values()].filter((rows) => rows.length < 60)).toEqual([])
    expect(new Set(written.map(([, , country]) => country)).size).toBeGreaterThanOrEqual(25)
  })

  it('points each written name at one company, which has one country', () => {
    expect(new Set(written.map(([name]) => name)).size).toBe(written.length)
    const countries = Map.groupBy(written, ([, name]) => name)
    expect([...countries.values()].filter((rows) => new Set(rows.map((row) => row[2])).size > 1)).toEqual([])
  })

  it('has 100 pairs or more of different companies', () => {
    expect(different.length).toBeGreaterThanOrEqual(100)
    expect(different.filter(([one, , other]) => one === other)).toEqual([])
  })

  it('writes no company as the catalogue names another one', () => {
    const names = new Set([
      ...written.map(([, name]) => name),
      ...different.flatMap(([one, , other]) => [one, other]),
    ])
    expect(written.filter(([text]) => names.has(text))).toEqual([])
  })
})
