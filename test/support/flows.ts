import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const countries = ['DE', 'FR', 'AT', 'GB'] as const

/** CSV of companies: every fifth is small; their countries take turns. */
export const companiesCsv = (count: number): string =>
  [
    'name,domain,headcount,country,technologies',
    ...Array.from(
      { length: count },
      (_, at) =>
        `Company ${at},company-${at}.example,${at % 5 === 0 ? 7 : 60 + at},${countries[at % 4]},react; python`,
    ),
  ].join('\n')

/** CSV of one head of sales and one engineer for each of them; every third address is not valid. */
const peopleCsv = (count: number): string =>
  [
    'first_name,last_name,title,email,email_status,company_domain,company_name,network_url',
    ...Array.from({ length: 2 * count }, (_, at) => {
      const company = Math.floor(at / 2)
      const title = at % 2 === 0 ? 'Head of Sales' : 'Engineer'
      const status = at % 3 === 2 ? 'invalid' : 'valid'
      const url = `https://www.linkedin.com/in/person-${at}`
      return `First${at},Last${at},${title},p${at}@company-${company}.example,${status},company-${company}.example,Company ${company},${url}`
    }),
  ].join('\n')

/** The records above in a catalogue, with credits to look them up. */
export async function stocked(
  run: (argv: readonly string[], given?: { stdin: string }) => Promise<{ code: number; stderr: string }>,
  count: number,
): Promise<void> {
  const steps = [
    [['init'], ''],
    [['data', 'import', 'companies', '-'], companiesCsv(count)],
    [['data', 'import', 'people', '-'], peopleCsv(count)],
    // Of a company that no list has.
    [
      ['data', 'import', 'jobs', '-'],
      'job_title,company_domain,url\nCook,other.example,https://other.example/1\n',
    ],
    [['engine', 'credits', 'add', '100000'], ''],
  ] as const
  for (const [argv, stdin] of steps) {
    const { code, stderr } = await run(argv, { stdin })
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
  }
}

/** Writes the list of a salesperson: so many companies, some of them twice, some unknown, one without anything. */
export function writeList(folder: string, count: number): void {
  const rows = Array.from({ length: count }, (_, at) =>
    at % 9 === 8
      ? `Again,www.company-${at - 3}.example,${at}`
      : at % 11 === 5
        ? `None,none-${at}.example,${at}`
        : `Company ${at},company-${at}.example,${at}`,
  )
  writeFileSync(join(folder, 'list.csv'), `Company,Website,Record ID\n${rows.join('\n')}\n,,last\n`)
}
