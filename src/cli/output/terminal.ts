import type { Streams } from '../context/context.js'

type Stream = { readonly isTTY?: boolean; readonly columns?: number }

/** How text may look on a stream. */
export interface Look {
  readonly isTerminal: boolean
  /** Width in characters. */
  readonly width: number
  bold(text: string): string
  dim(text: string): string
}

/** The look of a stream: colours only on a terminal that wants them. */
export function lookOf(stream: Stream, env: Streams['env'], color = true): Look {
  const isTerminal = stream.isTTY === true
  const colorful = isTerminal && color && !env.NO_COLOR && env.TERM !== 'dumb'
  const style = (on: number, off: number) => (text: string) =>
    colorful && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text
  return { isTerminal, width: stream.columns || 80, bold: style(1, 22), dim: style(2, 22) }
}

// Control characters, and the marks that turn the direction of text: what a terminal would obey instead of show.
const hostile = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

const shown = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Text that a terminal shows and does not obey; line breaks and tabs stay. */
export const neutral = (text: string): string => text.replace(hostile, shown)

/** The same on one line. */
export const oneLine = (text: string): string => neutral(text.replace(/\s*[\r\n\t]+\s*/g, ' ')).trim()

/** Columns a text takes on a terminal: two for the wide scripts and emoji, none for combining marks. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += /\p{Mark}/u.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u

/** A number with its thousands set apart, the same in every locale. */
export const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
