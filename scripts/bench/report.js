/** Whether a measurement is within its limit; one without a limit always is. */
export const holds = ({ ratio, atMost, atLeast }) =>
  (atMost === undefined || ratio <= atMost) && (atLeast === undefined || ratio >= atLeast)

const limitOf = ({ atMost, atLeast }) =>
  atMost !== undefined
    ? `at most ${atMost.toFixed(2)}`
    : atLeast !== undefined
      ? `at least ${atLeast.toFixed(2)}`
      : '–'

const line = (cells) => `| ${cells.join(' | ')} |`

const rowOf = (one) =>
  line([
    one.what,
    one.measured,
    one.baseline,
    Number.isNaN(one.ratio) ? '–' : one.ratio.toFixed(2),
    limitOf(one),
    limitOf(one) === '–' ? '–' : holds(one) ? 'yes' : '**no**',
  ])

/** A table of measurements in Markdown. */
export function table(measurements) {
  const head = ['What', 'Measured', 'Baseline', 'Ratio', 'Limit', 'Holds']
  return [line(head), line(head.map(() => '---')), ...measurements.map(rowOf)].join('\n')
}

/**
 * The document with these measurements in place of its own of the same; those that it does not have are left out. What is
 * compared with several baselines has a row for each, in the same order.
 */
export function update(text, measurements) {
  const left = [...measurements]
  return text
    .split('\n')
    .map((row) => {
      const at = left.findIndex(({ what }) => row.startsWith(`| ${what} |`))
      return at === -1 ? row : rowOf(left.splice(at, 1)[0])
    })
    .join('\n')
}

/** The document `docs/performance.md`. */
export const document = (measurements, machine) => {
  const [postgres, others] = [true, false].map((is) => measurements.filter((one) => isPostgres(one) === is))
  return withPostgres(withoutPostgres(others, machine), postgres, machine)
}

const isPostgres = ({ what }) => what.includes('PostgreSQL')
const isOfSearch = (measurements) => measurements.some(({ what }) => what.startsWith('Preview'))
const heading = '\n## PostgreSQL\n'

const withPostgres = (text, measurements, machine) => `${text}${heading}
${machine}

${table(measurements)}

- The server is started for the run with shared buffers of 1 GB, on the disk of the machine, and flushes every commit. Clients, programs and
  server share the machine. What is measured runs in turns with pgbench, three rounds of five seconds each, medians; the
  run fails unless there is a charge for every answer.
- Every answer of ours is a whole request over HTTP: the key is looked up, the company is found in the catalogue of the
  same server, the balance is checked, the charge is committed. pgbench runs the statements of the charge only, as the server logged them, with the same locks, and sends
  those together that need no answer of each other. Each of its connections brings one charge at a time, as each of ours
  brings one request. The ratio is to the faster of its two numbers of connections.
- More than 1 is possible because requests that wait together share a commit.
${isOfSearch(measurements) ? '- Search: the same questions about the same people as above, in a catalogue that was copied to the same server. One after\n  the other, ten times each; pgbench sends what the server was asked for each, over one connection with our settings.\n' : ''}`

const withoutPostgres = (measurements, machine) => `# Performance

Written by \`npm run bench\`. Every figure stands beside a baseline of the same machine and the same run, measured in
turns with it; only the ratios travel to other machines.

${machine}

${table(measurements)}

How it is measured:

- Start-up: medians of 31 runs each, the four commands in turns. The home folder holds a workspace and a catalogue of
  200,000 companies.
- HTTP: five rounds of four seconds each, in turns, medians. The load comes from another process. Each answer is one
  charge of one credit, committed to disk before the answer leaves; the run fails unless the balance agrees with the
  number of answers.
- CSV: medians of three rounds, whole processes, start-up included. All rows differ; nine of ten are in the catalogue.
  The second measurement asks for those alone.
  Every row goes on record before it is sent, and its answer before it is written.
  The baseline reads the file that the command wrote and writes it again.
- Import: one run each, whole processes: companies into an empty catalogue, people at these companies into an empty
  table, indexes included; then all of both once more with other texts. Rows have the ten columns of a usual list, and
  then all twenty-one. One baseline only reads the file; the other is how many usual rows a second there must be.
- Search: 1,000,000 people at 200,000 companies. Each preview runs through the engine with every rule on, finds the
  first 25 and counts all. The questions stand in scripts/bench/questions.js; their keywords match 0.01 % to 5 %.
- Extraction: one run each, from the request to the last answer of the receiver, a process of its own; every step is
  committed to disk. The source costs next to nothing, so that the engine is measured. The loop posts with the same HTTP
  client, unsigned, and keeps nothing.
- Workbooks: the process that converts, alone; then a whole run that is killed and resumed, of which another reader finds
  every row, with each company paid once. Nine of ten are in the catalogue.
- Memory: the largest resident size of the process. All rows differ; two of ten are in the catalogue.
`
