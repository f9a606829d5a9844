import list from './countries.json' with { type: 'json' }

/** A country in which the sample has companies and people. */
export interface SampleCountry {
  readonly code: string
  readonly name: string
  readonly language: string
  readonly currency: string
  readonly cities: readonly { readonly city: string; readonly region: string }[]
  readonly forms: readonly string[]
  /** Numbers reserved for fiction in E.164, `x` for a digit; empty when a country reserves none. */
  readonly phones: readonly string[]
}

/** Countries of the invented companies, with their legal forms and phone numbers. */
export const countries: readonly SampleCountry[] = list

const otherNames = new Intl.DisplayNames('en', { type: 'region' })

/** Returns a country by its code. One outside the list has no phone numbers and English names. */
export const getCountry = (code: string): SampleCountry =>
  countries.find((one) => one.code === code) ?? {
    ...{ code, name: otherNames.of(code) ?? code, language: 'en', currency: 'EUR' },
    ...{ cities: [], forms: [], phones: [] },
  }
