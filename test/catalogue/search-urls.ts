/** Urls as the address bar shows them: the nested query encoded once, texts in it twice, parentheses bare. */

export const host = 'https://www.linkedin.com'

/** A premium people search. */
export const people = (query: string): string =>
  `${host}/sales/search/people?query=${encodeURIComponent(query)}`
/** A premium company search. */
export const companies = (query: string): string =>
  `${host}/sales/search/company?query=${encodeURIComponent(query)}`
/** A plain people search. */
export const plainPeople = (query: string): string => `${host}/search/results/people/?${query}`
/** A plain company search. */
export const plainCompanies = (query: string): string => `${host}/search/results/companies/?${query}`

/** A query of one filter. */
export const filter = (type: string, ...values: string[]): string =>
  `(filters:List((type:${type},values:List(${values.map((value) => `(${value})`).join(',')}))))`

const pages = { people, companies, plainPeople, plainCompanies }

/** A url of a fixture: whole, or the name of a page and its query. */
export function urlOf(text: string): string {
  const [name = '', query = ''] = text.split(/ (.*)/)
  return name in pages ? pages[name as keyof typeof pages](query) : text
}
