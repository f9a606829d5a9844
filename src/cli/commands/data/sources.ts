import { findSet, openSets } from '../../../catalogue/open-data/sets.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { print } from '../../output/print.js'
import { record } from '../../output/table.js'
import type { Look } from '../../output/text.js'

/** Prints the table of open data: all sets, or what there is to know of one. */
export const sourcesCommand: CommandFactory = ({ command }) =>
  command('sources', 'Open data with real companies that can be imported: what it has, and where it is')
    .argument('[name]', 'one of them, with all that is known of it')
    .run(async (context, { args: [name] }) => {
      if (name === undefined) {
        const rows = openSets.map((set) => ({ ...set, command: importing }))
        // An address that is cut leads nowhere, so each set has lines of its own.
        const layout = (_: unknown, look: Look) =>
          openSets.map((set) => record(summaryOf(set), look)).join('\n')
        return print(context, rows, { layout })
      }
      const { header, fields, country, ...set } = findSet(name)
      const body = { ...set, header, fields, country: country ?? null, command: importing }
      const shown = {
        Name: set.name,
        Title: set.title,
        Publisher: set.publisher,
        Has: set.has.join(', '),
        'Does not have': set.lacks.join(', '),
        Rows: set.rows,
        'Published as': set.format,
        Licence: `${set.licence} (${set.licence_url})`,
        Address: set.address,
        Command: body.command,
      }
      await print(context, body, { layout: (_, look) => record(shown, look) })
    })

const summaryOf = ({ name, title, rows, licence, address }: (typeof openSets)[number]) => ({
  Name: name,
  Title: title,
  Rows: rows,
  Licence: licence,
  Address: address,
})

const importing = 'prospect data import companies FILE'
