import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../src/storage/driver/connection.js'
import { StorageFault } from '../../../src/storage/driver/connection.js'
import { CommitQueue, Mutex, type Session } from '../../../src/storage/driver/group-commit.js'

/** A connection on which every commit fails, and undoing it too. */
const broken: Session = {
  enter: () => ({ connection: {} as Connection, isDirty: () => true }),
  begin: async () => undefined,
  commit: () => {
    throw new Error('the disk is gone')
  },
  rollback: () => {
    throw new Error('and cannot be undone')
  },
}

it('rejects every transaction with the first error and accepts new ones when even the rollback fails', async () => {
  const lane = new CommitQueue(broken, new Mutex())
  const works = () => Promise.allSettled([lane.run(() => 1), lane.run(() => 2)])
  for (const outcome of [...(await works()), ...(await works())])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'the disk is gone' } })
  await lane.drain()
})

/** A connection whose works write with `run`, and whose ways of failing a test sets. */
function fragile(faults: Partial<Pick<Session, 'begin' | 'commit' | 'retry'>>) {
  let isDirty = false
  const connection = {
    run: () => {
      isDirty = true
      return 1
    },
  } as unknown as Connection
  const track: Session = {
    enter: () => {
      isDirty = false
      return { connection, isDirty: () => isDirty }
    },
    begin: async () => undefined,
    commit: () => {},
    rollback: () => {},
    ...faults,
  }
  return new CommitQueue(track, new Mutex())
}

const write = (connection: Connection) => connection.run('')

describe('a group commit', () => {
  it('retries a lost database once per group, not once per transaction', async () => {
    let [begun, waits] = [0, 0]
    const lane = fragile({
      begin: async () => {
        begun++
        if (begun > 1) throw new Error('away')
        return undefined
      },
      retry: (error, failures) => {
        if (!(error instanceof Error) || error.message !== 'away') return undefined
        waits++
        return Promise.resolve(failures < 3)
      },
    })
    const blamed = () =>
      lane.run((connection) => {
        write(connection)
        throw new Error('refused after writing')
      })
    const outcomes = await Promise.allSettled([
      blamed(),
      ...Array.from({ length: 63 }, () => lane.run(write)),
    ])
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'away' } })
    expect(waits).toBe(3)
  })

  it('reports an unknown outcome only to transactions that did not throw', async () => {
    const lane = fragile({
      commit: () => {
        throw new StorageFault('commit_unknown')
      },
    })
    const refused = () => {
      throw new Error('no credits')
    }
    const outcomes = await Promise.allSettled([lane.run(write), lane.run(refused), lane.run(() => 'seen')])
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason)).toEqual([
      expect.any(StorageFault),
      new Error('no credits'),
      expect.any(StorageFault),
    ])
  })
})
