import { beforeAll, describe, expect, it } from 'vitest'
import facts from '../../../src/runs/output/crm-layouts.json' with { type: 'json' }
import { ends, machine } from '../../support/command.js'
import { perFile } from '../../support/each.js'
import { loadSample } from '../../support/sample.js'

const here = perFile(machine)
beforeAll(async () => {
  await here.run('init')
  await loadSample(here.home)
  here.write('in.csv', 'Firma,Website,n\nAcme,acme-robotics.example,=1+1\nX,nobody.example,\n')
  here.write(
    'people.csv',
    'first name,Last Name,Website,Mobile\nLenya,Hertel,acme-robotics.example,+33612345678\n',
  )
})

const crms = ['hubspot', 'salesforce', 'pipedrive'] as const

/** Fields that an import does not have or reads from another column. The names of companies are domains here. */
const derived = ['mobile', 'location', 'company_name']

describe('--layout', () => {
  it.each(crms.flatMap((crm) => [[crm, 'companies'] as const, [crm, 'people'] as const]))(
    'writes files for %s of which data import recognises every column of %s',
    async (crm, kind) => {
      const name = `${crm}-${kind}.csv`
      await here.run(['data', 'export', kind, '--layout', crm, '-o', name])
      const { mapping, added, invalid } = (await here.json('data', 'import', kind, name, '--dry-run')) as {
        readonly mapping: Readonly<Record<string, string>>
        readonly added: number
        readonly invalid: number
      }
      expect([added, invalid]).toEqual([0, 0])
      const layout = facts.layouts[crm]
      const wanted = Object.entries({ ...layout[kind], ...layout.custom[kind] })
        .map(([column, field]) => [field, column] as const)
        .filter(([field]) => !derived.includes(field))
      expect(mapping).toMatchObject(Object.fromEntries(wanted))
    },
  )

  it.each(crms)(
    'writes the found results of a batch for %s, and everything in front of the columns of the file with --keep-input',
    async (crm) => {
      const argv = ['accounts', 'enrich', '--csv', 'in.csv', '--layout', crm, '--yes']
      const { stdout } = await here.run([...argv, '-o', `out-${crm}.csv`, '--fresh'])
      expect(stdout).toBe('')
      const { mapping } = (await here.json(`accounts enrich --csv out-${crm}.csv --dry-run`)) as {
        readonly mapping: { readonly columns: readonly { readonly field: string; readonly column: string }[] }
      }
      const name = Object.entries(facts.layouts[crm].companies).find(([, field]) => field === 'name')?.[0]
      expect(mapping.columns).toContainEqual(expect.objectContaining({ field: 'name', column: name }))
      const id = (await here.run('runs list --format ids')).stdout.split('\n')[0] ?? ''
      const again = await here.run(['runs', 'export', id, '--layout', crm, '--keep-input'])
      expect(again.stdout.trimEnd().split('\n').length).toBe(3)
      const found = await here.run(['runs', 'export', id, '--layout', crm])
      expect([found.stdout.trimEnd().split('\n').length, found.stdout.includes('Firma')]).toEqual([2, false])
      expect(again.stdout.split('\n')[0]).toMatch(
        /,Firma,(?:input\.)?Website,n,_status,_error,_credits,_source$/,
      )
      expect(again.stdout).toContain("'=1+1")
    },
  )

  it('completes contacts with the columns of the file, and writes workbooks that are read again', async () => {
    const argv = ['contacts', 'waterfall', '--csv', 'people.csv', '--enrichment-type', 'email', '--yes']
    await here.run([...argv, '--layout', 'hubspot', '-o', 'out.csv'])
    const { stdout } = await here.run(['runs', 'export', (await lastRun()) ?? '', '--layout', 'pipedrive'])
    expect(stdout.split('\n')[1]).toMatch(
      /^Lenya Hertel,Lenya,Hertel,acme-robotics.example,lenya\.hertel@[^,]+,,\+33612345678,/,
    )
  })

  it('refuses kinds without columns in a CRM', async () => {
    await ends(here.run('data export jobs --layout hubspot'), 2, '--layout writes companies or people')
  })

  const lastRun = async () => (await here.run('runs list --format ids')).stdout.split('\n')[0]
})
