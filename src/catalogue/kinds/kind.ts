/** What the catalogue holds and files can bring. */
export const kinds = ['companies', 'people', 'jobs', 'posts'] as const

/** One of the kinds of records. */
export type Kind = (typeof kinds)[number]

/** One record by field name, as a file or the sample gives it; absent values are missing, null or blank. */
export type Given = Readonly<Record<string, unknown>>
