import { expect, it } from 'vitest'
import { answering, ends, practiceMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(practiceMachine)

/** A target that knows every domain but one, for a credit each. */
const companies = () =>
  answering((_, { domain }) =>
    domain === 'none.example'
      ? { status: 404, body: { error: 'No company found' } }
      : { body: { name: `Name of ${domain}` }, credits: 1 },
  )

const run = async (input: string, output: string, options = '', code = 0) => {
  const given = { caller: companies() }
  await ends(here.run(`accounts enrich --csv ${input} -o ${output} --yes ${options}`, given), code)
}

it('explains each row of an output by what is recorded of it, and charges nothing', async () => {
  here.write('in.csv', 'domain\na.example\nnone.example\na.example\n""\n')
  await run('in.csv', 'out.csv', '', 11)
  const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs list')
  const explained = (row: number, file = 'out.csv') => here.json(`explain ${file} --row ${row}`)
  expect(await explained(1)).toMatchObject({
    run: id,
    operation: 'accounts.enrich',
    row: 1,
    status: 'found',
    source: 'lookup',
    credits: 1,
    age_days: 0,
    why_empty: null,
    values: { name: 'Name of a.example' },
  })
  expect(await explained(2)).toMatchObject({ status: 'not_found', credits: 0, why_empty: 'No company found' })
  expect(await explained(3, 'in.csv')).toMatchObject({
    source: 'duplicate',
    credits: 0,
    from_run: id,
    from_row: 1,
    values: { name: 'Name of a.example' },
  })
  expect(await explained(4)).toMatchObject({ credits: 0, why_empty: expect.any(String), values: {} })
  const text = (await ends(here.run('explain out.csv --row 1 --column industry --format table'), 0)).stdout
  expect(text).toContain('Cost: 1 credit\n')
  expect(text).toContain('industry: empty (the answer has no value for it)\n')
  here.write('other.csv', 'domain\nb.example\na.example\n')
  await run('other.csv', 'again.csv')
  expect(await explained(2, 'again.csv')).toMatchObject({
    source: 'reused',
    credits: 0,
    from_run: id,
    from_row: 1,
    values: { name: 'Name of a.example' },
  })
})

it('says of an answer to a single lookup that it is of no run', async () => {
  await ends(here.run('accounts enrich --domain a.example', { caller: companies() }), 0)
  here.write('in.csv', 'domain\na.example\n')
  await run('in.csv', 'out.csv')
  const explained = await here.json('explain out.csv --row 1')
  expect(explained).toMatchObject({ source: 'reused', from_run: null, from_row: null })
  const text = (await ends(here.run('explain out.csv --row 1 --format table'), 0)).stdout
  expect(text).toContain('Status: found (reused, the answer to a lookup outside of runs)\n')
})

it('says which run, row or column there is not, and asks for the run where several read a file', async () => {
  here.write('in.csv', 'domain\na.example\n')
  await run('in.csv', 'out.csv')
  await run('in.csv', 'again.csv', '--fresh')
  const refused = async (options: string) => (await ends(here.run(`explain ${options}`), 2)).stderr
  expect(await refused('in.csv --row 1')).toContain('several runs read this file. Name one with --run: ')
  expect(await refused('none.csv --row 1')).toContain('no run on record read or wrote this file')
  expect(await refused('out.csv --row 2')).toContain('--row 2: the run has 1 row.')
  expect(await refused('out.csv')).toContain('--row is missing')
  expect(await refused('out.csv --row 1 --column emial')).toContain(
    '--column emial: accounts.enrich has no such',
  )
  const runs = await here.json<{ id: string }[]>('runs list')
  expect(await here.json(`explain in.csv --row 1 --run ${runs[1]?.id}`)).toMatchObject({ run: runs[1]?.id })
})
