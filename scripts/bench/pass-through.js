/** The least that can be done with a CSV file: parse it, and write it again when a target is named. */
import { createReadStream, createWriteStream } from 'node:fs'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse'
import { stringify } from 'csv-stringify'

const [source, target] = process.argv.slice(2)
const nowhere = () => new Writable({ objectMode: true, write: (_row, _encoding, done) => done() })
const rest = target ? [stringify(), createWriteStream(target)] : [nowhere()]

await pipeline(createReadStream(source), parse({ bom: true }), ...rest)
