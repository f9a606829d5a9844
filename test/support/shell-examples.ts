import { readFileSync } from 'node:fs'
import { wordsOf as splitWords } from './command.js'

/** A command line of a page, without its comment. */
export interface ExampleLine {
  readonly text: string
  /** What the page says it exits with: `# exit 12`. */
  readonly exitCode: number
}

/** A shell example of a page. */
export interface Example {
  readonly lines: readonly ExampleLine[]
  /** Why it cannot run here, such as a key that it needs. */
  readonly notRun: string | undefined
  /** What its last line prints on a terminal, where the page shows that below it. */
  readonly result: string | undefined
}

const block =
  /^((?:<!-- (?:before|not run): [^\n]*-->\n)*)```sh\n([\s\S]*?)^```(?:\n\n```text\n([\s\S]*?)^```)?/gm

/**
 * Returns the shell examples of a page in their order. Comments that a reader does not see may stand above one:
 * `<!-- before: COMMAND -->` for what has happened before, `<!-- not run: REASON -->` for what a test cannot do.
 */
export function examplesOf(path: string): Example[] {
  const text = readFileSync(path, 'utf8').replaceAll('\r', '')
  return [...text.matchAll(block)].map(([, notes = '', script = '', result]) => {
    const before = [...notes.matchAll(/<!-- before: (.*?) -->/g)].map(([, line = '']) => line)
    return {
      lines: [...linesOf(before.join('\n')), ...linesOf(script)],
      notRun: /<!-- not run: (.*?) -->/.exec(notes)?.[1],
      result,
    }
  })
}

/** A command that writes the lines below it to a file, up to the word that ends them. */
const hereDocument = /^(.*<<'END'\n[\s\S]*?^END\n)/m

/** Returns the lines of a script. A script of its own (`#!`), and what spans several lines, is one. */
function linesOf(script: string): ExampleLine[] {
  if (script.startsWith('#!')) return [{ text: script, exitCode: 0 }]
  return script
    .replaceAll('\\\n', ' ')
    .split(hereDocument)
    .flatMap((part) => (hereDocument.test(part) ? [part.trim()] : part.split('\n')))
    .map((line) =>
      line.includes('\n')
        ? { text: line, exitCode: 0 }
        : {
            text: line.replace(/(^|\s)#\s.*$/, '').trim(),
            exitCode: Number(/\s#.*\bexit (\d+)/.exec(line)?.[1] ?? 0),
          },
    )
    .filter(({ text }) => text !== '')
}

/** Returns the words of a line that has nothing for a shell to do but to divide it; `undefined` for any other. */
export function wordsOf(line: string): readonly string[] | undefined {
  if (/[|&;<>$`()*]/.test(line.replace(/'[^']*'|"[^"$`]*"/g, ''))) return undefined
  return splitWords(line)
}
