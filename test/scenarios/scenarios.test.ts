import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readScenario } from './read-scenario.js'
import { runScenario } from './run-scenario.js'

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'))

describe.concurrent('scenarios', () => {
  for (const file of files) {
    const scenario = readScenario(readFileSync(join(import.meta.dirname, file), 'utf8'))
    it(`${file}: ${scenario.title}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'prospect-scenario-'))
      try {
        expect(await runScenario(scenario, folder)).toEqual([])
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})
