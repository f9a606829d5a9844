import type { Handler } from './handler.js'

/** Whether a messaging app reaches each number; a duplicate number is charged once. */
export const validate: Handler<'messenger.validate'> = async ({ input, source, now }) => {
  const { phone_number, phone_numbers = phone_number === undefined ? [] : [phone_number] } = input
  const reachable = await source.reachable(phone_numbers)
  const checked_at = new Date(now).toISOString()
  return {
    output: {
      results: phone_numbers.map((number) => ({
        phone_number: number,
        reachable: reachable.has(number),
        checked_at,
      })),
    },
    used: { number: reachable.size },
  }
}
