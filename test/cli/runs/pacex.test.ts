import { it } from 'vitest'
import { bundled } from '../../helpers/processes.js'
import { pacingBench, secondsOf } from '../../helpers/paced-run.js'
it('measures', async () => {
  const program = await bundled('programs/prospect.ts')
  for (const [processes, rows] of [[1, 60],[3, 20]] as const) {
    const bench = await pacingBench(60)
    const { heard } = await bench.run({ program, command: ['accounts', 'hiring', '--limit', '1'], processes, rows })
    console.log('ideal', processes, heard.filter(h => h.status === 429).length, (secondsOf(heard)/(60/5-1)).toFixed(3))
    bench.remove()
  }
}, 120000)
