import { expect, it } from 'vitest'
import type { Connection } from '../../src/storage/driver.js'
import { Lane, type Track, Turn } from '../../src/storage/lane.js'

/** A connection on which every commit fails, and undoing it too. */
const broken: Track = {
  connection: {} as Connection,
  begin: async () => {},
  commit: () => {
    throw new Error('the disk is gone')
  },
  rollback: () => {
    throw new Error('and cannot be undone')
  },
  isDirty: () => true,
  clearDirty: () => {},
}

it('tells every work what went wrong, and goes on, where not even undoing works', async () => {
  const lane = new Lane(broken, new Turn())
  const works = () => Promise.allSettled([lane.run(() => 1), lane.run(() => 2)])
  for (const outcome of [...(await works()), ...(await works())])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'the disk is gone' } })
  await lane.drained()
})
