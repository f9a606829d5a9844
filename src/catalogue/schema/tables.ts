/** The tables of a catalogue with the columns of their primary keys, each after those it refers to. */
export const primaryKeys = {
  companies: ['key'],
  technologies: ['key'],
  company_technologies: ['technology', 'company'],
  headcount_history: ['company', 'department', 'date'],
  headcount_growth: ['company', 'department'],
  people: ['key'],
  phones: ['number', 'person'],
  jobs: ['key'],
  posts: ['key'],
  engagers: ['post', 'profile', 'engagement'],
  origins: ['origin'],
} as const

/** A table of a catalogue. */
export type TableName = keyof typeof primaryKeys
