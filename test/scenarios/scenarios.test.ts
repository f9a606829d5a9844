import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sample } from '../support/effort.js'
import { makeFolder } from '../support/new-folder.js'
import { readScenario } from './read-scenario.js'
import { runScenario } from './run-scenario.js'

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'))

/** The scenarios whose commands are all processes, as they are for users. */
const inProcesses = new Set(sample(files, 16, 2))

describe.concurrent('scenarios', () => {
  for (const file of files) {
    const scenario = readScenario(readFileSync(join(import.meta.dirname, file), 'utf8'))
    it(`${file}: ${scenario.title}`, async () => {
      const folder = makeFolder()
      try {
        expect(await runScenario(scenario, folder, inProcesses.has(file))).toEqual([])
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})
