import { describe, expect, it } from 'vitest'
import { DurabilityCheckpoint } from '../../../src/runs/journal/journal.js'
import { newJournal } from '../fakes.js'

describe('a durability checkpoint', () => {
  const opened = async (report?: (before: number) => void) => {
    const reports: number[] = []
    const checkpoint = new DurabilityCheckpoint(await newJournal(), async (before) => {
      report?.(before)
      reports.push(before)
    })
    return { checkpoint, reports }
  }

  it('reports nothing where no row is kept', async () => {
    const { checkpoint, reports } = await opened()
    await checkpoint.reported()
    expect(reports).toEqual([])
  })

  it('reports after 2,048 rows, and the others at the end', async () => {
    const { checkpoint, reports } = await opened()
    for (const before of [2_047, 2_048, 2_500]) await checkpoint.note(before)
    await checkpoint.reported()
    expect(reports).toEqual([2_048, 2_500])
  })

  it.each([100, 2_048])('rejects when the report of %i rows failed', async (before) => {
    const { checkpoint } = await opened(() => {
      throw new Error('the target is gone')
    })
    await checkpoint.note(before)
    await expect(checkpoint.reported()).rejects.toThrow('the target is gone')
    await expect(checkpoint.note(before + 1)).rejects.toThrow('the target is gone')
  })
})
