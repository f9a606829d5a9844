export const ascii = /^[\x20-\x7e]*$/
/** Characters that nobody sees: joiners, marks of direction, soft hyphens. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu

/**
 * Returns text without what only its look depends on: composed letters and those of full width are the usual ones, and
 * invisible characters are left out, before anything that they kept apart is composed.
 */
export const toPlainText = (text: string): string =>
  ascii.test(text) ? text : text.replace(invisible, '').normalize('NFKC')
