const lineFeed = 10
const carriageReturn = 13

/** Counts the lines of a text that passes by in pieces; CR, LF and CRLF each end one. */
export class Lines {
  #line = 1
  #afterReturn = false

  /** The line that the next byte is on, counted from 1. */
  get line(): number {
    return this.#line
  }

  /** Goes past the bytes before `end`. */
  pass(bytes: Uint8Array, end = bytes.length): void {
    let line = this.#line
    let afterReturn = this.#afterReturn
    for (let at = 0; at < end; at++) {
      const byte = bytes[at] as number
      if (byte > carriageReturn) afterReturn = false
      else {
        if (byte === carriageReturn || (byte === lineFeed && !afterReturn)) line++
        afterReturn = byte === carriageReturn
      }
    }
    this.#line = line
    this.#afterReturn = afterReturn
  }
}
