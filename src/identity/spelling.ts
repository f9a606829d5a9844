export const ascii = /^[\x20-\x7e]*$/
/** Characters that nobody sees: joiners, marks of direction, soft hyphens. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu

/**
 * Returns text without what only its look depends on: composed letters and those of full width are the usual ones, and
 * invisible characters are left out, before anything that they kept apart is composed.
 */
export const toPlainText = (text: string): string =>
  ascii.test(text) ? text : text.replace(invisible, '').normalize('NFKC')

/** Splits a cell with a list as an output writes it, `a; b`, or an export of Google, `a ::: b`. A link's parameters are no part. */
export const partsOf = (cell: string): string[] =>
  cell
    .split(/ ::: |;(?!(?:ext|isub|phone-context)=)/i)
    .map((part) => part.trim())
    .filter((part) => part !== '')
