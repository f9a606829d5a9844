import { readdirSync, readFileSync } from 'node:fs'
import { root } from '../run.js'

/** Files that read the messages of commander, zod, jq, undici, PostgreSQL, or a workbook's library, which give nothing else. */
const readingForeign = [
  'src/api/validation/fits.ts',
  'src/cli/options/command-environment.ts',
  'src/cli/output/print.ts',
  'src/client/connection.ts',
  'src/csv/workbook/archive.ts',
  'src/http/forwarder.ts',
  'src/storage/driver/postgres/errors.ts',
]

/** A message that is compared, searched or rewritten instead of being shown. */
const readBack =
  /\b[mM]essage\)?\s*(?:[!=]==|\.(?:replace|replaceAll|includes|startsWith|endsWith|match|matchAll|search|split|slice|at)\b)|\.(?:test|exec|match)\((?:[\w.?]*\.)?message\)/

/** An option, or a command of ours with what follows, in a text. */
const optionName =
  /['"`\s]--(?!max-old-space|max-semi-space|encoding=|template=)[a-z][a-z-]+|['"`][^'"`]*\bprospect (?!key|engine')[a-z]+/

const isComment = (line) => /^\s*(?:\*|\/\*\*|\/\/)/.test(line)
const isUpper = (file) => /^src\/(?:cli|dashboard|mcp)\//.test(file)

/** Returns where a message of ours is read back as data, and where options are named below the command line. */
export function messageProblems() {
  const files = readdirSync(`${root}src`, { recursive: true })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.tsx?$/.test(name))
  return files.flatMap((file) =>
    readFileSync(root + file, 'utf8')
      .split('\n')
      .flatMap((line, at) => {
        if (isComment(line)) return []
        const reads = readBack.test(line) && !readingForeign.includes(file)
        const names = optionName.test(line) && !isUpper(file)
        return [
          ...(reads ? [`${file}:${at + 1} reads a message back; its code and details say the same`] : []),
          ...(names ? [`${file}:${at + 1} names an option or command; src/cli/messages.ts may`] : []),
        ]
      }),
  )
}
