import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, command, folder, keyed, removed } from '../../support/command.js'
import { casesOf } from '../../support/fixtures.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

describe('positional arguments', () => {
  it.each(casesOf<[string, Record<string, unknown>]>('cli/options/words/sets-the-field-that'))(
    '%s sets the field that the argument stands for',
    async (line, input) => {
      const caller = answering({ body: { id: 'x' } })
      const { code } = await command(line.split(' '), { env: keyed(home), caller })
      expect([code, caller.asked.map((asked) => asked.input)]).toEqual([0, [input]])
    },
  )
})
