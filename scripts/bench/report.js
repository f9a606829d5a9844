/** Whether a measurement is within its limit. */
export const holds = ({ ratio, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }) =>
  ratio <= atMost && ratio >= atLeast

const limitOf = ({ atMost, atLeast }) =>
  atMost === undefined ? `at least ${atLeast.toFixed(2)}` : `at most ${atMost.toFixed(2)}`

const line = (cells) => `| ${cells.join(' | ')} |`

const rowOf = (one) =>
  line([
    one.what,
    one.measured,
    one.baseline,
    one.ratio.toFixed(2),
    limitOf(one),
    holds(one) ? 'yes' : '**no**',
  ])

/** A table of measurements in Markdown. */
export function table(measurements) {
  const head = ['What', 'Measured', 'Baseline', 'Ratio', 'Limit', 'Holds']
  return [line(head), line(head.map(() => '---')), ...measurements.map(rowOf)].join('\n')
}

/** The document `docs/performance.md`. */
export const document = (measurements, machine) => `# Performance

Written by \`npm run bench -- --all\`; \`npm run bench\` measures a dozen of these figures in a few minutes. Every figure stands
beside a baseline: a number that it has to reach, or what was measured on the same machine in the same run.

${machine}

${table(measurements)}

How it is measured:

- Start-up: medians of 31 runs each, the commands in turns. The home folder holds a workspace and a catalogue of 200,000
  companies.
- Import: one run each, whole processes: companies and people at these companies into empty tables, then both once more
  with other texts. Rows have the ten columns of a usual list.
- Batch: whole processes, start-up included. All rows differ; nine of ten are in the catalogue, of the 1,000,000 and 100,000
  rows whose memory is measured two of ten. Every row goes on record before it is sent, and its answer before it is written. The baseline
  reads the file that the command wrote and writes it again. The server that a batch asks is on the same machine.
- HTTP: three rounds of four seconds each, in turns, medians. The load comes from another process. Each answer is one
  charge of one credit, committed to disk before the answer leaves; the run fails unless the balance agrees with the
  number of answers.
- PostgreSQL: the same on a server that is started for the run with shared buffers of 1 GB, on the disk of the machine, and
  flushes every commit. Clients, programs and server share the machine. pgbench makes the same charges, each in a transaction
  of its own. The ratio can be more than 1, because requests that wait share a commit. Batches ask for 20,000 companies of a catalogue of as many; two machines are two homes of this one.
- Search: 1,000,000 people at 200,000 companies. Each preview runs through the engine with every rule on, finds the
  first 25 and counts all. The questions stand in scripts/bench/questions.js; their keywords match 0.01 % to 5 %.
- Memory: the largest resident size of a process.
`
