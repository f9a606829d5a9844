import * as z from 'zod'
import { described } from './fields.js'
import * as value from './output-fields.js'

// What signals find with a company: functions, for the same reason as records.

/** The technologies of a company that a search asked for. */
export const technologiesFound = () =>
  described(
    z.array(
      z.object({
        technology_name: value.string('Name'),
        confidence: described(z.enum(['low', 'medium', 'high']), 'How sure it is'),
        job_mentions: value.count('Job postings that mention it'),
      }),
    ),
    'Technologies that match',
  )

const share = (of: string) => described(z.number(), `How alike they are in ${of}, from 0 to 1`)

/** Why a company resembles the ones that were given. */
export const similarity = () =>
  described(
    z.object({
      score: share('all'),
      industry: share('industry'),
      size: share('headcount'),
      country: share('country'),
      technologies: share('technologies'),
      growth: share('growth of the headcount'),
    }),
    'Why it resembles the companies given',
  )
