/** A parameter of a url's query; the value is as written, still percent-encoded. */
export interface Parameter {
  readonly name: string
  readonly value: string
}

/** The parameters of a query as people paste it; an `&` that no `name=` follows belongs to the value before it. */
export const parametersOf = (query: string): Parameter[] =>
  query
    .replace(/[\t\r\n]/g, '')
    .split(/&(?=&|[\w.$%~;-]+=|$)/)
    .filter((part) => part !== '')
    .map((part) => {
      const cut = part.includes('=') ? part.indexOf('=') : part.length
      // Urls copied out of a document may have kept its entities.
      return { name: decoded(part.slice(0, cut)).replace(/^amp;/, ''), value: part.slice(cut + 1) }
    })

/** A text without its percent-encoding; what is none stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      try {
        return decodeURIComponent(run)
      } catch {
        return run
      }
    })
  }
}

/** The value of a plain parameter, where `+` is a space, encoded once or twice. */
export function plainValue(value: string): string {
  const once = decoded(value.replaceAll('+', ' '))
  return (/%[0-9a-f]{2}/i.test(once) ? decoded(once) : once).trim()
}

/** The items of a plain parameter: of a JSON array, or the one value it is. */
export function plainItems(value: string): string[] {
  const text = plainValue(value)
  if (!text.startsWith('[')) return text === '' ? [] : [text]
  return [...text.matchAll(/"([^"]*)"|[^\s,"[\]]+/g)].map(([whole, quoted]) => (quoted ?? whole).trim())
}

/** A query in the nested notation, decoded until its structure shows; its texts keep the encoding of their own. */
export function nestedValue(value: string): string {
  // Where even the parentheses are encoded, a form did it, and wrote spaces as `+`.
  let text = decoded(value.includes('(') ? value : value.replaceAll('+', ' '))
  for (let more = 0; more < 2 && !/^\s*\(\s*(?:\w+\s*:|\))/.test(text); more++) text = decoded(text)
  return text
}
