import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { answering, ends, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { workbookOf } from '../support/workbooks.js'

const here = perFile(machine)
const nobody = { status: 404, body: { error: 'not_found', message: 'Nothing' } }

/** Returns the XML of a cell: a text, or a formula as some programs write it, without a value. */
const cell = (at: string, text: string): string =>
  text.startsWith('<')
    ? `<c r="${at}"${text.includes(' t=') ? ' t="str"' : ''}>${text.replace(' t=', '')}</c>`
    : `<c r="${at}" t="inlineStr"><is><t>${text}</t></is></c>`

const sheet = (...rows: readonly (readonly string[])[]): string =>
  rows
    .map(
      (cells, at) =>
        `<row r="${at + 1}">${cells.map((text, column) => cell(`${'ABCD'[column]}${at + 1}`, text)).join('')}</row>`,
    )
    .join('')

const write = (rows: string) =>
  writeFileSync(here.path('book.xlsx'), workbookOf({ sheets: { Companies: rows } }))

const header = ['Company', 'Website', 'Note']
const link = '<f>HYPERLINK("x")</f>'
const empty = '<f>LOWER(C2)</f><v></v>'

describe('formulas of a workbook that no program calculated', () => {
  it.each([link, empty])(
    'in a column that says which company is meant are refused before anything is sent: %s',
    async (formula) => {
      write(sheet(header, ['Acme', formula, 'a'], ['Birch', formula, 'b']))
      const target = answering(nobody)
      const { stderr } = await ends(
        here.run('accounts enrich --csv book.xlsx -o out.csv', { caller: target }),
        2,
      )
      expect(stderr).toContain(
        'The column "Website", for domain, has 2 formulas without stored values, from cell B2 on',
      )
      expect(target.asked).toEqual([])
      await ends(here.run('match book.xlsx --with book.xlsx'), 2)
      await ends(here.run('suppress import book.xlsx'), 2)
      await ends(here.run('data import companies book.xlsx'), 2)
    },
  )

  it('are refused in a flow, too, with what its file says to leave the column out', async () => {
    write(sheet(header, ['Acme', link, 'a'], ['Birch', link, 'b']))
    const flow = (map: string) =>
      here.write(
        'book.flow.yaml',
        `name: book\ninput: { xlsx: book.xlsx${map} }\nsteps:\n  - accounts.enrich: {}\noutput: { csv: out.csv }\n`,
      )
    flow('')
    const told = 'To leave the column out: map: { company_domain: "" } beside the file in input'
    const { stderr } = await ends(here.run('flow check book.flow.yaml'), 2)
    expect(stderr).toContain(told)
    expect(stderr).not.toContain('--map')
    flow(', map: { company_domain: "" }')
    const left = await ends(here.run('flow check book.flow.yaml'), 2)
    expect(left.stderr).toContain(
      'Choose one, for example: map: { domain: "Company" } beside the file in input',
    )
  })

  it('elsewhere are blank, and a sentence counts them by column', async () => {
    write(
      sheet(header, ['Acme', 'acme.example', link], ['Birch', link, empty], ['Cedar', 'cedar.example', 'x']),
    )
    const target = answering(nobody)
    const { stderr } = await here.run('accounts enrich --csv book.xlsx -o out.csv --fail-on none', {
      caller: target,
    })
    expect(target.asked.map(({ input }) => input)).toEqual([
      { name: 'Acme', domain: 'acme.example' },
      { name: 'Birch' },
      { name: 'Cedar', domain: 'cedar.example' },
    ])
    expect(stderr).toContain(
      'Formulas without a stored value are blank: 1 in "Website" (from B3 on), 2 in "Note" (from C2 on). To have their values, open the workbook in a spreadsheet program and save it.',
    )
  })

  it('are imported without their values, which is said', async () => {
    await here.setUp()
    write(sheet(['Company', 'Website', 'City'], ['Acme', 'acme.example', link]))
    const { stderr } = await ends(here.run('data import companies book.xlsx'), 0)
    expect(stderr).toContain('1 in "City" (from C2 on)')
  })

  it('are none where their value is an empty text', async () => {
    write(sheet(header, ['Acme', 'acme.example', '<f>IF(TRUE,"","")</f><v></v> t=']))
    const { stderr } = await here.run('accounts enrich --csv book.xlsx -o out.csv --fail-on none', {
      caller: answering(nobody),
    })
    expect(stderr).not.toContain('Formulas')
  })
})
