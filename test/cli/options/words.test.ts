import { expect, it } from 'vitest'
import { answering, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'

const here = perTest(machine)

it.each(casesOf<[string, Record<string, unknown>]>('cli/options/words/sets-the-field-that'))(
  '%s sets the field that the argument stands for',
  async (line, input) => {
    const caller = answering({ body: { id: 'x' } })
    const { code } = await here.run(line, { caller })
    expect([code, caller.asked.map((asked) => asked.input)]).toEqual([0, [input]])
  },
)
