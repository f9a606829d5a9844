import { describe, expect, it } from 'vitest'
import { answering, machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)

describe('values of a file that are not understood', () => {
  it('are left out, counted and named, and the rows are looked up without them', async () => {
    const caller = answering({ body: { name: 'Acme' } })
    const stdin =
      'Name,Domain,Country\nAcme,Bob <bob@acme.example>,Narnia\nTikTok,tiktok.com,\nBirch,ada@gmail.com,FR\n'
    const ended = await here.run('accounts enrich --csv -', { caller, stdin })
    expect(caller.asked.map(({ input }) => input)).toEqual([
      { name: 'Acme', domain: 'acme.example' },
      { name: 'TikTok', domain: 'tiktok.com' },
      { name: 'Birch', country: 'FR' },
    ])
    expect(ended.code).toBe(0)
    expect(ended.stderr).toContain('country: 1 value not understood, such as "Narnia"')
    expect(ended.stderr).toContain('domain: 1 value not understood, such as "ada@gmail.com"')
  })

  it('are blank where they only say that nothing is known, but for a family name', async () => {
    const caller = answering({ body: { name: 'Acme' } })
    const stdin = 'Name,Domain,Country\nn/a,N/A,FR\nnone,acme.example,-\nNull,null,#N/A\n'
    const ended = await here.run('accounts enrich --csv - --country DE', { caller, stdin })
    expect(caller.asked.map(({ input }) => input)).toEqual([
      { domain: 'acme.example', country: 'DE' },
      { name: 'Null', country: 'DE' },
    ])
    expect(ended.stdout.split('\n')[1]).toMatch(/^n\/a,N\/A,FR,.*,invalid,.* are empty/)
    expect(ended.stderr).toContain('"Name", such as Null')
    expect(ended.stderr).not.toContain('not understood')
  })
})
