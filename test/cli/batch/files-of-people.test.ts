import { describe, expect, it } from 'vitest'
import { answering, ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { textRow, workbookOf } from '../../support/workbooks.js'

const here = perTest(machine)

/** A target that has an answer to everything. */
const everything = () => answering((_, input) => ({ body: { ...input, name: 'Found' }, credits: 1 }))

/** Runs a command over a file. */
const batch = (command: string, csv: string, options: string, caller = everything()) => {
  here.write('in.csv', csv)
  return here.run(`${command} --csv in.csv ${options}`, { caller })
}

describe('a file as people have it', () => {
  it.each(casesOf<[string, string, string, readonly object[]]>('cli/files/sent'))(
    'that %s is looked up by what its cells mean: %s',
    async (_, command, csv, inputs) => {
      const caller = everything()
      await batch(command, csv, '-o out.csv', caller)
      expect(caller.asked.map(({ input }) => input)).toEqual(inputs)
    },
  )

  it('gives its columns names of their own, and says which', async () => {
    const { stderr } = await batch(
      'accounts enrich',
      'Website,City,City\na.example,Rome,Bonn\n',
      '-o out.csv',
    )
    expect(stderr).toContain('Columns with the name of an earlier one are called "City_2".')
    expect(here.read('out.csv')).toMatch(/^Website,City,City_2,.*\na\.example,Rome,Bonn,/)
  })

  it('must say which of two columns of one name is meant, where both could fill a field', async () => {
    const csv = 'Website,Note,Website\na.example,x,b.example\n'
    const says = 'Choose the one for domain, for example: --map domain='
    await ends(batch('accounts enrich', csv, ''), 2, says)
    const caller = everything()
    await ends(batch('accounts enrich', csv, '--map domain=Website_2', caller), 0)
    expect(caller.asked.map(({ input }) => input)).toEqual([{ domain: 'b.example' }])
  })

  it.each([
    ['Name,Mobil,Telefon,Fax', ['+491711234567', '+49307654321', '+49897654321'], '"Mobil", else "Telefon"'],
    [
      'Name,Phone 1 - Value,Phone 2 - Value,Fax',
      ['+491711234567', '+49307654321', '+49897654321'],
      '"Phone 1 - Value", else "Phone 2 - Value"',
    ],
    ['Name,Phone,Phone,Fax', ['+491711234567', '+49307654321', '+49897654321'], '"Phone", else "Phone_2"'],
    [
      'Name,Festnetz,Handy,Fax',
      ['+491711234567', '+49307654321', '+49897654321'],
      '"Handy", else "Festnetz"',
      true,
    ],
  ])(
    'with several columns of phones, %s, is asked with the first that has one, and says so',
    async (header, sent, says, isOther = false) => {
      const rows = [
        ['+49 171 1234567', '+49 30 1234567', '+49 30 99999'],
        ['', '+49 30 7654321', '+49 30 99998'],
        ['siehe Zentrale', '+49 89 7654321', ''],
        ['', '', '+49 30 9612345'],
      ].map(([one, other, fax], at) => [`P${at}`, ...(isOther ? [other, one] : [one, other]), fax].join())
      const caller = everything()
      const { stderr } = await batch(
        'messenger validate',
        `${header}\n${rows.join('\n')}\n`,
        '-o out.csv',
        caller,
      )
      expect(caller.asked.flatMap(({ input }) => input.phone_numbers)).toEqual(sent)
      expect(stderr).toContain(`phone_numbers  <-  ${says}`)
      const [first, second] = says.split(', else ')
      expect(here.read('out.csv')).toContain(
        `${first?.replaceAll('"', '""')} or ${second?.replaceAll('"', '""')} is empty`,
      )
    },
  )

  it('with several columns of email addresses is asked with the first that has one', async () => {
    const csv =
      'E-mail 1 - Value,E-mail 2 - Value,Owner email\na@a.example,b@b.example,me@x.example\n,c@c.example,me@x.example\n'
    const caller = everything()
    const { stderr } = await batch('contacts reverse-lookup', csv, '-o out.csv', caller)
    expect(caller.asked.map(({ input }) => input)).toEqual([
      { email: 'a@a.example' },
      { email: 'c@c.example' },
    ])
    expect(stderr).toContain('email  <-  "E-mail 1 - Value", else "E-mail 2 - Value"')
  })

  it('is asked with one column of phones alone where --map names it', async () => {
    const caller = everything()
    const csv = 'Mobil,Telefon\n+49 171 1234567,+49 30 1234567\n,+49 30 7654321\n'
    await batch('messenger validate', csv, '-o out.csv --map phone_number=Telefon', caller)
    expect(caller.asked.map(({ input }) => input)).toEqual([
      { phone_number: '+49301234567' },
      { phone_number: '+49307654321' },
    ])
  })

  it('is a workbook whose first sheet with names of columns is read, below a cover, and the others are named', async () => {
    const sheets = {
      Cover: textRow('Prepared for Acme') + textRow('2026-11-01'),
      Accounts: textRow('Q3') + textRow('Website', 'Name') + textRow('a.example', 'A'),
      Notes: textRow('x'),
    }
    here.write('in.xlsx', Buffer.from(workbookOf({ sheets })))
    const caller = everything()
    const { stderr } = await here.run('accounts enrich --csv in.xlsx -o out.csv', { caller })
    expect(caller.asked.map(({ input }) => input)).toEqual([{ name: 'A', domain: 'a.example' }])
    expect(stderr).toContain('The sheet "Accounts" is read. To read another ("Cover", "Notes"), add --sheet.')
  })

  it('with names of profiles in a column that was chosen for URLs is imported with URLs', async () => {
    here.write('in.csv', 'Name,Site,handle\nAcme,acme.example,acme-robotics\nBolt,bolt.example,no profile\n')
    const { stdout } = await here.run('data import companies in.csv --map network_url=handle')
    expect(JSON.parse(stdout)).toMatchObject({
      added: 2,
      not_understood: [{ field: 'network_url', values: 1, sample: 'no profile' }],
    })
    const { stdout: exported } = await here.run('data export companies --format ndjson')
    expect(exported).toContain('"network_url":"https://www.linkedin.com/company/acme-robotics"')
  })

  it('with addresses below a name that says nothing is imported with them', async () => {
    here.write('in.csv', 'First name,Last name,Wert\nJo,Doe,jo@a.example\nAl,Roe,al@b.example\n')
    const { stdout } = await here.run('data import people in.csv')
    expect(JSON.parse(stdout)).toMatchObject({ added: 2, mapping: { email: 'Wert' }, ignored: [] })
  })

  it.each(['Supervisor', 'CC', 'Spouse', 'Kollege', 'ADM', 'Team lead'])(
    'with the address of somebody else below %s is not imported, looked up or suppressed with it',
    async (column) => {
      here.write('in.csv', `Vorname;Nachname;Firma;${column}\nLenya;Hertel;Acme;boss@mine.example\n`)
      const { stdout } = await here.run('data import people in.csv')
      expect(JSON.parse(stdout)).toMatchObject({ added: 1, ignored: [column] })
      expect((await here.run('suppress import in.csv')).stdout).toContain('"added": 1')
      expect((await here.run('contacts reverse-lookup --csv in.csv --yes')).code).toBe(2)
      const own = `First name,Last name,${column}\nLenya,Hertel,l.hertel@a.example\nJo,Müller,jmueller@b.example\n`
      here.write('own.csv', `${own}Al,Roe,ar@c.example\n`)
      const { stdout: imported } = await here.run('data import people own.csv')
      expect(JSON.parse(imported)).toMatchObject({ added: 3, mapping: { email: column } })
    },
  )

  it.each(['Betreuer', 'Owner LinkedIn', 'Manager profile', 'Kontakt bei uns', 'Kollege'])(
    'with the profile of somebody else below %s is looked up and imported by the names of its rows',
    async (column) => {
      const caller = everything()
      const profile = 'https://www.linkedin.com/in/lenya-hertel'
      const csv = `Vorname;Nachname;Firma;${column}\nArlene;Gerhold;Acme;${profile}\nLino;Forkel;Beta;${profile}\n`
      await batch('leads enrich', csv, '-o out.csv', caller)
      expect(caller.asked.map(({ input }) => [input.first_name, input.network_url])).toEqual([
        ['Arlene', undefined],
        ['Lino', undefined],
      ])
      const { stdout } = await here.run('data import people in.csv')
      expect(JSON.parse(stdout)).toMatchObject({ added: 2, ignored: [column] })
    },
  )

  it.each(['LinkedIn Konkurrent', 'Parent LinkedIn', 'Agentur Profil', 'Partner'])(
    'with the profile of another company below %s is looked up by the names of its companies',
    async (column) => {
      const caller = everything()
      const csv = `Firma;${column}\nAcme;https://www.linkedin.com/company/other\n`
      await batch('accounts enrich', csv, '-o out.csv', caller)
      expect(caller.asked.map(({ input }) => input)).toEqual([{ name: 'Acme' }])
    },
  )

  it.each(['Telefon Betreuer', 'Owner phone', 'Durchwahl Vertrieb'])(
    'with the phone of somebody else below %s is imported without it',
    async (column) => {
      here.write('in.csv', `Vorname;Nachname;Firma;${column}\nLenya;Hertel;Acme;+49 30 1234567\n`)
      const { stdout } = await here.run('data import people in.csv')
      expect(JSON.parse(stdout)).toMatchObject({ added: 1, ignored: [column] })
    },
  )

  it('with a full name of several words says in its row why it is not looked up', async () => {
    const caller = everything()
    const csv = 'Full Name;Company\nFoo Bar Baz;Acme\nJo Doe;Beta\n;Gamma\nBo;Delta\nSales Team;Echo\n'
    const { stderr } = await batch('leads enrich', csv, '-o out.csv', caller)
    expect(caller.asked).toHaveLength(1)
    expect(stderr).toContain('"Full Name" holds full names')
    const reasons = here
      .read('out.csv')
      .split('\n')
      .map((line) => /""Full Name""[^"]*/.exec(line)?.[0])
    expect(reasons.slice(1, 6)).toEqual([
      '""Full Name"" may be split in several ways: give first and last names columns of their own',
      undefined,
      '""Full Name"" is empty',
      '""Full Name"" is one name alone: a first and a last name are needed',
      '""Full Name"" is not the name of a person',
    ])
  })

  it.each(['leads enrich', 'contacts waterfall --enrichment-type email'])(
    'with the words of a team in columns of first and last names is not asked about it, and says so: %s',
    async (command) => {
      const caller = everything()
      const names = ['Sales;Team', 'Customer;Service', 'Managing;Director', 'Anna;Team', 'Jo;Doe']
      const rows = names.map((name) => `${name};Acme`).join('\n')
      await batch(command, `Vorname;Nachname;Firma\n${rows}\n`, '-o out.csv', caller)
      const asked = caller.asked.flatMap(
        ({ input }) => (input.contacts as Record<string, unknown>[]) ?? [input],
      )
      // The balance is asked for, too.
      expect(asked.flatMap((input) => input.last_name ?? input.lastname ?? [])).toEqual(['Team', 'Doe'])
      const lines = here.read('out.csv').split('\n').slice(1, 4)
      for (const line of lines) expect(line).toContain('""Nachname"" is not the name of a person",0,')
    },
  )

  it('without a column that could be looked up is refused, and no column is proposed that cannot be', async () => {
    const ended = await batch('accounts enrich', 'Kd.-Nr.;Umsatz\n10001;99,00\n10002;12,30\n', '')
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('None of them looks like one')])
    expect(ended.stderr).not.toContain('network_url=')
  })

  it.each([
    ['Nazwa;E-mail;Opiekun', 'A5;biuro@a5.example;kam@mine.example\nB5;;kam@mine.example', 'a5.example'],
    ['Firma;E-Mail;Steuerberater E-Mail', 'A;info@a.example;x@tax.example\nB;;y@law.example', 'a.example'],
    ['Ragione sociale;PEC;Email', 'A3 Srl;a@legalmail.it;info@a3.example\nB3;b@pec.it;', 'a3.example'],
    ['Ragione sociale;Email', 'A3 Srl;info@a3.example\nB3;b@pec.it', 'a3.example'],
  ])('with %s has companies of their own addresses alone', async (header, rows, domain) => {
    here.write('in.csv', `${header}\n${rows}\n`)
    await ends(here.run('data import companies in.csv'), 11)
    const known = await here.json<{ domain: string }>(`accounts enrich --domain ${domain}`)
    expect(known.domain).toBe(domain)
    await ends(here.run('data import companies in.csv --json'), 11, 'Line 3')
  })

  it.each(['Betreuer', 'Zuständig', 'Erstellt von', 'Accountmanager', 'Hoster'])(
    'with names of companies and %s identifies none',
    async (column) => {
      const of =
        column === 'Hoster' ? ['hetzner.example', 'strato.example'] : ['a@mine.example', 'b@mine.example']
      here.write('in.csv', `Firma;${column}\nA;${of[0]}\nB;${of[1]}\n`)
      await ends(here.run('data import companies in.csv'), 2, 'No column identifies the companies')
    },
  )

  it('of companies without a website is imported with the domains of their own addresses', async () => {
    here.write(
      'in.csv',
      'Firma;Website;E-Mail\nAcme;;info@acme.example\nBeta;www.beta.example;x@gmail.com\nCeta;;ceta@gmail.com\n',
    )
    const { code, stdout, stderr } = await here.run('data import companies in.csv')
    expect([code, JSON.parse(stdout)]).toEqual([
      11,
      expect.objectContaining({ added: 2, rejected: [expect.objectContaining({ line: 4 })] }),
    ])
    expect(stderr).toContain('Where a company has no website, its domain is that of its address in "E-Mail".')
    here.write('in.csv', 'Firma;E-Mail\nDelta;kontakt@delta.example\n')
    await ends(here.run('data import companies in.csv'), 0)
    const { stdout: exported } = await here.run('data export companies --format ndjson')
    expect(exported).toMatch(/acme\.example.*beta\.example.*delta\.example/s)
  })

  it('that is cut off within a letter is refused, and not read in another encoding', async () => {
    const csv = Buffer.concat([Buffer.from('Website,Name\na.example,Gr'), Buffer.from([0xc3])])
    here.write('in.csv', csv)
    await ends(here.run('accounts enrich --csv in.csv', { caller: everything() }), 2, 'seems to be cut off')
  })
})
