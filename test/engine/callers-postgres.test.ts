import { describeCaller } from '../conformance/caller.js'
import { openBench } from '../support/engine.js'
import { emptySchema } from '../support/postgres.js'

describeCaller('the engine over PostgreSQL', async () => {
  const schema = await emptySchema()
  const bench = await openBench(schema.url)
  const close = async () => {
    await bench.caller.close()
    await schema.drop()
  }
  return { caller: bench.caller, bench, close }
})
