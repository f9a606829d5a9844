import { expect, it } from 'vitest'
import { once } from '../../../src/api/values/objects.js'

it('remembers a result, and tries again after a failure', async () => {
  let asked = 0
  const work = once(async () => {
    asked += 1
    if (asked < 3) throw new Error(`failure ${asked}`)
    return asked
  })
  const [one, other] = [work(), work()]
  expect(one).toBe(other)
  await expect(one).rejects.toThrow('failure 1')
  await expect(work()).rejects.toThrow('failure 2')
  expect(await work()).toBe(3)
  expect(await work()).toBe(3)
})
