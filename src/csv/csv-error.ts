/** A file that cannot be read as a table; `line` counts from 1 as an editor does. */
export class CsvError extends Error {
  /** Exit code of a command that ends with it. */
  readonly exit = 2
  /** What is wrong, without the line. */
  readonly sentence: string
  readonly line: number | undefined

  constructor(sentence: string, line?: number) {
    super(line === undefined ? sentence : `Line ${line}: ${sentence}`)
    this.name = 'CsvError'
    this.sentence = sentence
    this.line = line
  }
}
