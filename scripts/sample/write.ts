import { writeFileSync } from 'node:fs'
import { brotliCompressSync } from 'node:zlib'
import { sampleData } from './generate.js'

/** Writes the sample that the program is shipped with; its dates are shifted when it is loaded. */
const made = Date.UTC(2026, 2, 10)
const lines = Object.entries(await sampleData({ now: made })).flatMap(([kind, records]) =>
  [...records].map((record) => JSON.stringify([kind, record])),
)
const [file = 'src/catalogue/sample/sample.ndjson.br'] = process.argv.slice(2)
writeFileSync(file, brotliCompressSync(`${JSON.stringify({ made })}\n${lines.join('\n')}\n`))
