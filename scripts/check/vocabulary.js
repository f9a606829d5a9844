import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { root } from '../run.js'

/** Identifiers and file names that the glossary in docs/architecture.md replaced, by area. */
const replaced = {
  api: ['honoursKeys', 'networkUrl', 'parsedUrl'],
  batch: [],
  catalogue: [],
  cli: [],
  client: [],
  csv: [],
  engine: [
    'Alarm',
    'Answering',
    'Attempted',
    'Crew',
    'Fence',
    'ForgetReads',
    'ForgetWrites',
    'ForgottenWork',
    'NotAsked',
    'Presence',
    'SpreadPorts',
    'SpreadRun',
    'SpreadRunPorts',
    'Trade',
    'checkMeans',
    'forgetInWork',
    'forget-job',
    'guardedBy',
    'guardedFor',
    'meansOf',
    'presenceOf',
    'run-rows',
    'shared-clock',
    'takePart',
  ],
  http: [],
  storage: [],
  test: [],
}

/** Comments and the text of strings: the glossary is about names. */
const prose = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g

/** Returns the places where a replaced name is used, one sentence each. */
export function vocabularyProblems() {
  const words = new Set(Object.values(replaced).flat())
  const files = ['src', 'test', 'scripts'].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.[tj]s$/.test(path) && path !== 'scripts/check/vocabulary.js'),
  )
  return files.flatMap((path) => {
    const name = basename(path).replace(/(\.test)?\.[tj]s$/, '')
    const names = new Set(
      readFileSync(root + path, 'utf8')
        .replace(prose, '')
        .match(/[\w$-]+/g),
    )
    return [...words]
      .filter((word) => word === name || names.has(word))
      .map((word) => `${path}: ${word} was replaced; see the glossary in docs/architecture.md`)
  })
}
