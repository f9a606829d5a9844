/** A table whose records are searched by words. */
export type TextTable = 'companies' | 'people' | 'jobs'

/** The columns of texts of each table, in the order in which a record's texts come. */
export const textColumns: Readonly<Record<TextTable, readonly string[]>> = {
  companies: ['name', 'about'],
  people: ['name', 'title', 'about', 'past_titles', 'past_employers'],
  jobs: ['title', 'description'],
}
