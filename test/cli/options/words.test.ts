import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, command, folder, keyed, removed } from '../../support/command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

describe('positional arguments', () => {
  it.each([
    ['accounts technologies react', { query: 'react' }],
    ['accounts technologies react --limit 5', { query: 'react', limit: 5 }],
    ['accounts technologies --limit 5 react', { query: 'react', limit: 5 }],
    ['accounts enrich acme.example', { domain: 'acme.example' }],
    ['accounts hiring acme.example', { company_domain: 'acme.example' }],
    [
      'leads enrich https://www.network.example/in/ann',
      { network_url: 'https://www.network.example/in/ann' },
    ],
    [
      'leads extract https://www.linkedin.com/search/results/people/?keywords=a',
      { search_url: 'https://www.linkedin.com/search/results/people/?keywords=a' },
    ],
    ['contacts reverse-lookup ann@acme.example', { email: 'ann@acme.example' }],
    ['titles suggest CTO CEO', { job_titles: ['CTO', 'CEO'] }],
    ['messenger validate +33612345678 +33612345679', { phone_numbers: ['+33612345678', '+33612345679'] }],
    ['locations find lyon', { name: 'lyon' }],
  ])('%s sets the field that the argument stands for', async (line, input) => {
    const caller = answering({ body: { id: 'x' } })
    const { code } = await command(line.split(' '), { env: keyed(home), caller })
    expect([code, caller.asked.map((asked) => asked.input)]).toEqual([0, [input]])
  })
})
