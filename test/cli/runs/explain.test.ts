import { rmSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closeAfterTest, answering as listening } from '../../client/listeners.js'
import { answering, ends, practiceMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(practiceMachine)

/** A target that knows every domain but one, for a credit each. */
const companies = () =>
  answering((_, { domain }) =>
    domain === undefined || /none|foo/.test(String(domain))
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
  expect(await explained(4)).toMatchObject({ status: 'invalid', credits: 0, values: {} })
  const text = (await ends(here.run('explain out.csv --row 1 --column industry --format table'), 0)).stdout
  expect(text).toContain('Cost: 1 credit\n')
  expect(text).toContain('Empty: The answer has no value for it.\n')
  expect(text).toContain('industry: empty\n')
  expect(await here.json('explain out.csv --row 1 --column industry')).toMatchObject({
    status: 'found',
    why_empty: 'The answer has no value for it.',
    values: { industry: null },
  })
  expect(await here.json('explain out.csv --row 1 --column name')).toMatchObject({ why_empty: null })
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
  expect(explained).toMatchObject({
    source: 'reused',
    from_run: null,
    from_row: null,
    from_single_lookup: true,
  })
  const text = (await ends(here.run('explain out.csv --row 1 --format table'), 0)).stdout
  expect(text).toContain('Status: found (reused, the answer to a lookup outside of runs)\n')
})

it('takes the column of the input that a run fills in place for the result that it fills it with', async () => {
  here.write('in.csv', 'domain,lead.company\na.example,\n')
  await run('in.csv', 'out.csv', '--only-missing name=lead.company')
  const named = (column: string) => here.json(`explain in.csv --row 1 --column ${column}`)
  expect(await named('lead.company')).toMatchObject({ values: { name: 'Name of a.example' } })
  expect(await named('name')).toMatchObject({ values: { name: 'Name of a.example' } })
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

it('refuses an output that leaves rows out or adds some, whose row N is another one, and names the input', async () => {
  here.write('in.csv', 'domain\nnone.example\na.example\nb.example\n')
  here.write('known.csv', 'domain\na.example\n')
  await run('in.csv', 'few.csv', '--only found')
  const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs list')
  const refused = async (file: string) => (await ends(here.run(`explain ${file} --row 1`), 2)).stderr
  const sentence = (file: string) => `${file} does not have the rows of ${here.path('in.csv')} one for one.`
  expect(await refused('few.csv')).toContain(
    `${sentence('few.csv')} Name the row there: prospect explain ${here.path('in.csv')} --row N --run ${id}`,
  )
  const ofInput = await here.json(`explain in.csv --row 1 --run ${id}`)
  expect(ofInput).toMatchObject({ status: 'not_found', values: {} })
  await run('in.csv', 'where.csv', '--where _credits>0')
  expect(await refused('where.csv')).toContain(sentence('where.csv'))
  await run('in.csv', 'new.csv', '--skip-known known.csv')
  expect(await refused('new.csv')).toContain(sentence('new.csv'))
  here.write('in.csv', 'domain\n""\na.example\n')
  await run('in.csv', 'all.csv', '', 11)
  expect(await refused('all.rejects.csv')).toContain(sentence('all.rejects.csv'))
  // The same run writes each row to one file, and some to another.
  await run('in.csv', 'found.csv', '--only found', 11)
  expect(await refused('found.csv')).toContain(sentence('found.csv'))
  expect(await here.json('explain all.csv --row 2')).toMatchObject({ values: { name: 'Name of a.example' } })
  await ends(here.run('runs export --last --where _credits>0 -o export.csv'), 0)
  expect(await refused('export.csv')).toContain(sentence('export.csv'))
})

it('explains the rows that a stopped run has written so far by the name that the run says', async () => {
  here.write('in.csv', 'domain\na.example\nb.example\nc.example\n')
  await run('in.csv', 'out.csv', '--max-credits 2 --concurrency 1', 12)
  expect(await here.json('explain out.csv.partial --row 2')).toMatchObject({
    status: 'found',
    values: { name: 'Name of b.example' },
  })
  expect((await ends(here.run('explain other.csv.partial --row 2'), 2)).stderr).toContain('no run on record')
  const { stderr } = await ends(here.run('accounts enrich --csv out.csv --dry-run'), 2)
  expect(stderr).toContain('The run that was to write it has stopped: the rows so far are in')
})

it('explains the file that is named where a stopped run has left a .partial beside an earlier output', async () => {
  here.write('first.csv', 'domain\na.example\n')
  here.write('second.csv', 'domain\nb.example\nc.example\n')
  await run('first.csv', 'out.csv')
  await run('second.csv', 'out.csv', '--max-credits 1 --concurrency 1', 12)
  const name = async (file: string) =>
    (await here.json<{ values: { name: string } }>(`explain ${file} --row 1`)).values.name
  expect([await name('out.csv'), await name('out.csv.partial')]).toEqual([
    'Name of a.example',
    'Name of b.example',
  ])
  await run('second.csv', 'out.csv', '--max-credits 2')
  expect(await name('out.csv')).toBe('Name of b.example')
})

it('explains a row of a sample by the output of the sample, since the rows of the input are others', async () => {
  here.write(
    'in.csv',
    `domain\n${['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}.example`).join('\n')}\n`,
  )
  await run('in.csv', 'sample.csv', '--sample 2')
  const [, second = ''] = here.read('sample.csv').trim().split('\n').slice(1)
  expect(await here.json('explain sample.csv --row 2')).toMatchObject({
    values: { name: `Name of ${second.split(',')[0]}` },
  })
  const { stderr } = await ends(here.run('explain in.csv --row 2'), 2)
  expect(stderr).toContain('looked up 2 rows that are spread over this file.')
  expect(stderr).toContain(`prospect explain ${here.path('sample.csv')} --row N`)
})

it('says of a row that was not reached how little the budget was for it', async () => {
  here.write('in.csv', 'network_url\nhttps://www.network.example/in/lenya-hertel-0000\n')
  const command = 'contacts waterfall --enrichment-type phone --csv in.csv --yes --max-credits 24'
  const given = { caller: companies() }
  const quote = await ends(here.run(`${command} --dry-run --format table`, given), 0)
  expect(quote.stdout).toMatch(/Affordable +your budget covers no lookup: one can cost 30 credits/)
  const { stderr } = await ends(here.run(`${command} -o out.csv`, given), 12)
  expect(stderr).toContain('Budget reached: 24 credits for this run, and one row can cost 30.')
  expect(await here.json('explain in.csv --row 1')).toMatchObject({
    status: 'skipped',
    why_empty:
      'It was not reached: the run stopped with 0 of 1 row done. Its budget of 24 credits leaves 24, and the row can cost 30.',
  })
})

it('names the cell of a row that is not understood or read as blank, and says what to write', async () => {
  here.write(
    'in.csv',
    [
      'Company,Website,Land',
      'Acme,not a domain,US',
      ',none of them,US',
      ',foo@bar,US',
      'None,N/A,US',
      'None Such,none.example,Xyz',
    ].join('\n'),
  )
  await run('in.csv', 'out.csv', '--fresh', 11)
  const whyEmpty = async (row: number, file: string) =>
    (await here.json<{ why_empty: string }>(`explain ${file} --row ${row}`)).why_empty
  const noDomain = (cell: string) =>
    `. "${cell}" in "Website" is not a domain: write one, such as acme.example.`
  expect(await whyEmpty(2, 'out.csv')).toMatch(noDomain('none of them'))
  expect(await whyEmpty(3, 'out.csv')).toMatch(noDomain('foo@bar'))
  const blank =
    '"Company", "Website" are empty; "None" in "Company" is read as blank; "N/A" in "Website" is read as blank'
  expect(await whyEmpty(4, 'out.csv')).toBe(blank)
  expect(here.rows('out.csv')[3]).toMatchObject({ _status: 'invalid', _error: blank })
  expect(await whyEmpty(5, 'out.csv')).toBe(
    'No company found. "Xyz" in "Land" was not understood, and was left out.',
  )
  here.write('people.csv', 'First name,Last name,Website\nAda,None,acme.example\nAda,,acme.example\n')
  const people = 'contacts waterfall --enrichment-type email --csv people.csv -o p.csv --yes --fresh'
  await ends(here.run(people, { caller: companies() }), 11)
  const needs = 'Provide a profile URL, or "First name" and "Last name" with "Website" or a company name'
  expect(await whyEmpty(1, 'p.csv')).toBe(`${needs}; "None" in "Last name" is read as blank`)
  expect(await whyEmpty(2, 'p.csv')).toBe(needs)
})

it('does not say of a data vendor that a server has that an option of ours asks it again', async () => {
  here.write('in.csv', 'domain\na.example\n')
  const body = { error: 'lost', code: 'outcome_unknown', answers_lost: ['hunter'] }
  const { origin } = closeAfterTest(
    await listening((_, response) => response.writeHead(502).end(JSON.stringify(body))),
  )
  const given = {
    env: { PROSPECT_BASE_URL: `${origin}/api/v2`, PROSPECT_API_KEY: 'pk_test0test0test0test0' },
  }
  await ends(here.run('accounts enrich --csv in.csv -o out.csv --yes', given), 11)
  expect(await here.json('explain out.csv --row 1')).toMatchObject({
    status: 'unknown',
    why_empty:
      'hunter, which the server asks, may have charged, and the answer was lost: the server asks again when it would not reuse an answer any more.',
  })
})

it('says why a row was not looked up, with the status that the output has of it', async () => {
  await here.json('suppress add b.example')
  here.write('known.csv', 'domain\nc.example\n')
  here.write(
    'in.csv',
    'domain,name,note\na.example,A,\n,,\nb.example,B,\nc.example,C,\n,D,\n,,x\nd.example,E,\ne.example,F,\n',
  )
  const none = answering((_, { domain }) =>
    domain === undefined
      ? { status: 404, body: { error: 'No company found' } }
      : { body: { name: `Name of ${domain}` }, credits: 1 },
  )
  const command = 'accounts enrich --csv in.csv -o out.csv --yes --skip-known known.csv --max-credits 2'
  await ends(here.run(command, { caller: none }), 12)
  const explained = (row: number) =>
    here.json<{ status: string; why_empty: string }>(`explain in.csv --row ${row}`)
  expect(await explained(2)).toMatchObject({
    status: 'skipped',
    why_empty: 'The row is blank, or a footer: it was not looked up.',
  })
  expect(await explained(3)).toMatchObject({
    status: 'suppressed',
    why_empty: 'It is suppressed: it was not looked up.',
  })
  expect(await explained(4)).toMatchObject({
    status: 'known',
    why_empty: 'A list that was to be left out has it: it was not looked up.',
  })
  expect(await explained(5)).toMatchObject({
    status: 'not_found',
    why_empty:
      'No company found. The row gives a name only, which several companies may have: give the domain or the country, too.',
  })
  expect(await explained(6)).toMatchObject({
    status: 'invalid',
    why_empty: expect.stringContaining('domain'),
  })
  expect(await explained(8)).toMatchObject({
    status: 'skipped',
    why_empty: expect.stringMatching(
      /^It was not reached: the run stopped when its budget of 2 credits was spent with \d of 8 rows done\.$/,
    ),
  })
  here.write('in.csv', 'domain\nother.example\n')
  expect(await explained(8)).toMatchObject({ status: 'none', why_empty: expect.stringContaining('its file') })
})

it('does not say of a row of a finished run that it was not reached when the lists that kept it out have changed', async () => {
  await here.json('suppress add b.example')
  here.write('known.csv', 'domain\nc.example\n')
  here.write('in.csv', 'domain\na.example\nb.example\nc.example\n')
  await run('in.csv', 'out.csv', '--skip-known known.csv')
  const explained = (row: number) => here.json(`explain in.csv --row ${row}`)
  expect(await explained(3)).toMatchObject({ status: 'known' })
  const unknown = {
    status: 'none',
    why_empty: expect.stringMatching(/^It was not looked up\. Why is not known any more: a list /),
  }
  here.write('known.csv', 'domain\nz.example\n')
  expect(await explained(3)).toMatchObject(unknown)
  rmSync(here.path('known.csv'))
  expect(await explained(3)).toMatchObject(unknown)
  expect(await explained(2)).toMatchObject({ status: 'suppressed' })
  await here.json('suppress remove b.example')
  expect(await explained(2)).toMatchObject(unknown)
})
