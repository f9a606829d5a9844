import { expect, it } from 'vitest'
import { closeAfterTest } from '../client/listeners.js'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { addProvider, fakeFile, fakeVendor, vendorNames } from '../support/vendors.js'

const here = perTest(machine)

it('a value that completes a file comes with who gave it now, and the notes of an earlier run go', async () => {
  const vendor = closeAfterTest(await fakeVendor())
  const dns = closeAfterTest(await vendorNames())
  await ends(here.run('init --yes'), 0)
  await addProvider(here, fakeFile(vendor.origin))
  const rows = [
    'Ada,King,acme.example,,,older,acmemail: budget',
    'Ada,Nobody,acme.example,,,,acmemail: budget',
    'Ada,Known,acme.example,mine@acme.example,valid,older,acmemail: budget',
  ]
  here.write(
    'people.csv',
    `First name,Last name,Website,email,email_status,email_source,not_asked\n${rows.join('\n')}\n`,
  )
  await ends(
    here.run('contacts waterfall --csv people.csv --enrichment-type email --only-missing email -o out.csv', {
      env: { PROSPECT_DNS: dns.address },
    }),
    0,
  )
  const [header = ''] = here.read('out.csv').split('\n')
  expect(header).not.toMatch(/result\.(?:email|not_asked)/)
  const said = here
    .rows('out.csv')
    .map((row) => [row.email, row.email_status, row.email_source, row.not_asked])
  expect(said).toEqual([
    ['king@acme.example', 'valid', 'acmemail', ''],
    ['', '', '', ''],
    ['mine@acme.example', 'valid', 'older', 'acmemail: budget'],
  ])
})
