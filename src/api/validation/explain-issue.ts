import type * as z from 'zod'

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  int: 'a whole number',
  number: 'a number',
}

/** Returns what is wrong with a value of a file, such as `must be 0 or more`. */
export function explainIssue(issue: z.core.$ZodIssue): string {
  // A schema may have words of its own.
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return `must be ${typeNames[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be ${issue.values.join(' or ')}`
  if (issue.code === 'invalid_format' && issue.format === 'url')
    return 'must be an address that begins with https:// or http://'
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`
  if (issue.code !== 'too_small') return issue.message
  if (issue.origin === 'string' || issue.origin === 'array') return 'must not be empty'
  return issue.inclusive ? `must be ${issue.minimum} or more` : `must be above ${issue.minimum}`
}
