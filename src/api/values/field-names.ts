/** Marks the name of a field in a sentence, so that each edge can write it as people know it there. */
export const markField = (name: string): string => `\ue000${name}\ue001`

/** Marks several names of fields. */
export const markFields = (names: readonly string[]): string => names.map(markField).join(', ')

/** Returns a sentence with the names of its fields as `nameOf` writes them, by default as the API does. */
export const nameFields = (sentence: string, nameOf: (name: string) => string = (name) => name): string =>
  sentence.replace(/\ue000([^\ue001]*)\ue001/g, (_, name: string) => nameOf(name))
