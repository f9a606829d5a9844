const lineFeed = 10
const carriageReturn = 13

/** Counts the lines of a text that passes by in pieces. Lines end with LF or CRLF, or with CR where a piece has no LF. */
export class Lines {
  #line = 1

  /** The line that the next byte is on, counted from 1. */
  get line(): number {
    return this.#line
  }

  /** Goes past the bytes before `end`. */
  pass(bytes: Uint8Array, end = bytes.length): void {
    const mark = bytes.includes(lineFeed) ? lineFeed : carriageReturn
    for (let at = bytes.indexOf(mark); at >= 0 && at < end; at = bytes.indexOf(mark, at + 1)) this.#line++
  }
}
