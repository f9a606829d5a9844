import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isLong, patience } from './test/support/effort.js'

/** The files that take longest with `--long`, then those that do without, the longest first. */
const longest = [
  'providers/killed',
  'providers/vendors',
  'flows/killed',
  'flows/stray-answers',
  'flows/command',
  'cli/runs/twice',
  'cli/runs/two-servers',
  'providers/frozen',
  'cli/runs/members',
  'mcp/tools',
  'runs/input/generated-tables',
  'cli/runs/every-target',
  'crm/each-crm',
  'flows/vendor-search-killed',
  'crm/killed',
  'crm/kills',
  'cli/killed-batch',
  'catalogue/suppression/histories',
  'catalogue/suppression/exits',
  'spec/compatibility/replies',
  'reference/shell-examples',
  'cli/commands/engine/move',
  'cli/commands/failover',
  'flows/run',
  'mcp/agents',
  'cli/commands/serve/upstream',
  'providers/polled',
  'cli/call/stored-lookups',
  'providers/many-vendors',
  'cli/commands/data-shared',
  'providers/stray-answers',
  'cli/target/data-source',
  'cli/runs/shared',
  'crm/push',
  'cli/commands/serve/shared-work',
  'dashboard/catalogue',
  'http/fuzz',
  'cli/killed-runs',
  'cli/killed-anywhere',
  'reference/tools',
  'engine/postgres',
  'engine/jobs/processes',
  'cli/control-characters',
  'scenarios/scenarios',
  'engine/processes',
  'cli/examples',
  'flows/examples',
  'dashboard/work',
  'mcp/clients',
  'cli/runs/workbooks',
  'storage/driver/postgres/driver',
  'catalogue/postgres',
]

/** Starts the longest files first, so that none of them runs alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return place === -1 ? longest.length : place
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

/** Makes a `.sql` file a module with its text, as the build does. */
export const sqlAsText: NonNullable<ViteUserConfig['plugins']>[number] = {
  name: 'sql-as-text',
  transform: (text, id) => (id.endsWith('.sql') ? `export default ${JSON.stringify(text)}` : undefined),
}

export default defineConfig({
  plugins: [sqlAsText],
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts', 'test/support/programs.ts'],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // More than the cores of a small machine, because many tests wait for processes and databases.
    maxWorkers: 4,
    // The cores are busy: the threads of a parallel collection would mostly wait for one another. And the old objects of a worker,
    // nearly all of them code, are looked through once there are so many: that took a seventh of its time. New ones, too, are
    // looked through less often: a twentieth.
    execArgv: [
      '--single-threaded-gc',
      '--initial-old-space-size=512',
      '--min-semi-space-size=32',
      '--max-semi-space-size=64',
    ],
    // Files of a worker share what they import: a third of the time would go into loading it anew for each.
    isolate: false,
    // The slowest take 10 s on two cores beside three others, because they start a program ten times; a machine that is three
    // times slower takes 30. One that does the work of others as well, and gives a process a tenth of a core, came to 100. With
    // `--long` they try ten times as much.
    testTimeout: isLong ? 1_800_000 : 120_000,
    hookTimeout: isLong ? 1_800_000 : 120_000,
    // What a test waits for comes at once on an idle machine; on a busy one, later, and well within its time: it says what lacked.
    expect: { poll: { timeout: patience } },
    retry: 0,
    // With `npm test -- --coverage`. What runs only in child processes of the tests is not counted.
    coverage: { provider: 'v8', include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
