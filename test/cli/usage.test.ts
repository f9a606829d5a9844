import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, command, errorOf, folder, keyed, removed } from '../support/command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

/** What is typed, and a part of the message. */
const wrong: readonly (readonly [string, string])[] = [
  ['acounts', 'Did you mean: prospect accounts?'],
  ['enrich', 'Did you mean: prospect accounts enrich or prospect leads enrich?'],
  ['accounts enrch', 'Did you mean: prospect accounts enrich?'],
  ['account enrich --csv companies.csv', 'Did you mean: prospect accounts enrich?'],
  ['account enrich acme.example', 'Did you mean: prospect accounts enrich?'],
  ['account zzz', 'Too many arguments'],
  ['accounts zzz', 'It has: extract, search, enrich,'],
  ['credits consumtion', 'Did you mean: prospect credits consumption?'],
  ['accounts enrich --domian x', 'Did you mean --domain?'],
  ['accounts enrich --domain', '--domain <text> needs a value.'],
  ['accounts enrich acme.example other.example', 'Too many arguments'],
  ['accounts enrich acme.example --domain other.example', 'both give the domain'],
  ['accounts enrich acme.example --csv companies.csv', 'Give <domain> or --csv, not both.'],
  ['leads extract --search-url x --wait soon', '--wait does not take'],
  ['leads extract --search-url x --wait -1', '--wait does not take'],
  [
    'leads extract --search-url https://www.linkedin.com/search/results/people/?keywords=a --public-url https://x.example',
    '--public-url needs --wait',
  ],
  ['leads extract --search-url x --wait --receive-port 70000', '--receive-port does not take'],
  ['contacts waterfall --csv x.csv --no-wait', '--no-wait cannot be used with --csv'],
  ['lists create --csv x.csv --companies name=x', '--csv and --companies cannot be used together'],
  ['accounts hiring --company-domain x --limit many', '--limit takes a whole number.'],
  ['accounts hiring --company-domain x --limit 1.5', '--limit takes a whole number.'],
  ['accounts search --preview --company-size 11-51', 'Did you mean 11-50?'],
  ['intents stack --preview --stack-match both', '--stack-match does not take'],
  ['lists create --name x --companies oops', '--companies takes JSON objects'],
  ['lists get', '<id> is missing.'],
  ['credits --format xml', '--format does not take \\"xml\\". It takes: table, json'],
  ['credits --timeout 0', 'Give a number above 0.'],
  ['credits --max-wait -1', 'Give 0 or a number above.'],
  ['accounts enrich --live=maybe', 'Unknown option \\"--live\\", or one that takes no value.'],
  ['accounts enrich --network-url x', 'Did you mean --company-network-url?'],
  ['accounts headcount --domain acme.example', 'Did you mean --company-domain?'],
  ['contacts waterfall --name Ada', 'Did you mean --first-name or --last-name or --company-name?'],
  ['leads search --title Buyer', 'Did you mean --job-titles or --excluded-job-titles?'],
  ['credits --jsn', 'Did you mean --json?'],
  ['credits --min ten', 'Give 0 or a number above.'],
  ['engine credits add -5', '<credits> does not take \\"-5\\". Give 0 or a number above.'],
  ['engine keys create', '--member <member> is required.'],
  ['credits --fields a,,b', '--fields has an empty name.'],
  [
    'accounts enrich --input missing.json',
    '--input: missing.json cannot be read: no such file or folder (ENOENT).',
  ],
  ['accounts enrich --input - --csv -', 'cannot both read stdin'],
  ['accounts enrich --csv x.csv --idempotency-key k', 'each paid row has a key of its own'],
  ['accounts enrich --csv nothing.csv', 'nothing.csv'],
  ['accounts enrich --csv nothing.xlsx --sheet Targets', 'no such file or folder'],
  ['data import companies nothing.xlsx --sheet Targets', 'no such file or folder'],
  ['credits --base-url https://api.example', 'https://api.example/api/v2'],
  ['credits --direct', '--direct needs a remote server'],
  ['accounts single_enrich', 'Did you mean: prospect accounts enrich?'],
  ['companies', 'Did you mean: prospect accounts?'],
  ['jobs', 'Did you mean: prospect accounts hiring or prospect engine jobs?'],
  ['search', 'prospect leads advanced-search or prospect accounts search'],
  ['accounts enrich', 'Provide at least one of: --company-network-url, --name, --domain.'],
  ['accounts enrich --name x --country Narnia', 'unknown country'],
  ['leads enrich', 'Provide --network-url, or --first-name and --last-name with --company-name or --domain.'],
  ['contacts waterfall --domain x --enrichment-type email', '--first-name and --last-name'],
  ['contacts waterfall', '--enrichment-type is required.'],
  ['lists create', '--name and --companies are required.'],
  [
    'credits consumption --start-date 2026-01-02 --end-date 2026-01-01',
    '--start-date must not be after --end-date.',
  ],
  ['leads advanced-search --functions 99', '--functions has unknown ids: 99. Known functions: 1 Accounting'],
  ['accounts enrich crm.csv', 'For each row of the file: --csv crm.csv'],
  ['accounts enrich --csv a.csv --csv b.csv', 'Only one file at a time; the other one is a.csv.'],
  ['contacts enrich', 'Did you mean: prospect contacts waterfall?'],
  ['contacts sync-single-enrich', 'Did you mean: prospect contacts waterfall --sync?'],
  ['credits --profile nowhere', 'There is no profile named nowhere.'],
  ['credits --api-key-stdin --api-key-file f', 'cannot be used together'],
  ['credits --api-key-file nofile', '--api-key-file'],
]

describe('a wrong command', () => {
  it.each(wrong)('exits 2 and says what to do for: %s', async (line, said) => {
    const { PROSPECT_API_KEY: _, ...env } = keyed(home)
    const ended = await command(line.split(' '), { env, caller: answering(), cwd: home })
    expect(ended.stderr).toContain(said)
    expect([ended.code, errorOf(ended).exit_code, ended.stdout]).toEqual([2, 2, ''])
  })

  it('prints a usage error in one line on a terminal', async () => {
    const { stderr, code } = await command(['acounts'], { terminal: true, columns: 120 })
    expect(stderr).toBe(
      'prospect has no command "acounts". Did you mean: prospect accounts? See: prospect --help\n',
    )
    expect(code).toBe(2)
  })

  it('refuses two formats', async () => {
    const { code, stderr } = await command(['credits', '--json', '--format', 'csv'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--json and --format csv cannot be used together.'),
    ])
  })

  it('prints a usage error as a sentence on a terminal also where the name of -o chooses no format, or JSON', async () => {
    for (const file of ['out.xls', 'out.json']) {
      const argv = ['accounts', 'enrich', 'acme-robotics.example', '--typo', '-o', file]
      const { stderr, code } = await command(argv, { terminal: true, columns: 120 })
      expect([code, stderr]).toEqual([2, 'Unknown option "--typo". Add --help to see what it takes.\n'])
    }
  })

  it('prints a usage error as one object with --json', async () => {
    expect(errorOf(await command(['acounts', '--json'], { terminal: true }))).toEqual({
      error: 'prospect has no command "acounts".',
      code: 'usage',
      status: null,
      exit_code: 2,
      hint: 'Did you mean: prospect accounts? See: prospect --help',
    })
  })

  it.each([
    ['--input', 'not JSON'],
    ['--input', '[1]'],
    ['--input', 'null'],
  ])('refuses %s with %s', async (option, stdin) => {
    const ended = await command(['accounts', 'enrich', option, '-'], {
      stdin,
      env: keyed(home),
      caller: answering(),
    })
    expect([ended.code, ended.stdout]).toEqual([2, ''])
  })

  it('never repeats the value of an unknown option', async () => {
    const { stderr, code } = await command(['credits', '--apikey=SecretValue1'])
    expect([code, stderr.includes('SecretValue1')]).toEqual([2, false])
  })
})
