/** Returns a column name without case, accents, spaces and punctuation: `Company Name` and `company_name` are equal. */
export function normaliseName(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/œ/g, 'oe')
    .replace(/æ/g, 'ae')
    .replace(/ø/g, 'o')
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Returns the position of a column by its name, in any spelling; -1 where there is none. */
export function columnNamed(header: readonly string[], name: string): number {
  const exact = header.indexOf(name)
  const plain = normaliseName(name)
  return exact >= 0 || plain === '' ? exact : header.findIndex((column) => normaliseName(column) === plain)
}
