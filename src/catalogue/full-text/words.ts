import { toPlainLetters } from '../../identity/name.js'

const ascii = /^[\0-\x7f]*$/
const plainWord = /[a-z0-9]+/g
/** Texts of people have words of their own, which begin with a character of private use. */
const anyWord = /[\p{L}\p{M}\p{N}\p{Co}]+/gu

/** Returns the words of a text, which searches and both databases agree on: letters and digits, without accents and case. */
export function wordsOf(text: string): readonly string[] {
  const plain = ascii.test(text) ? text.toLowerCase() : toPlainLetters(text)
  return plain.match(ascii.test(plain) ? plainWord : anyWord) ?? []
}

/** Returns a text that FTS5's tokenizer `ascii`, to which all other letters are parts of words, cuts into the same words. */
export const toAsciiTokens = (text: string): string => (ascii.test(text) ? text : wordsOf(text).join(' '))
