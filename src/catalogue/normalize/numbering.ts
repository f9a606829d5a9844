import { createRequire } from 'node:module'

// The numbering plans of all countries cost 30 ms to load, and few commands and files need them: they wait for one.
const load = createRequire(import.meta.url)

/** What is known of the numbering plans of all countries, with the kinds of their numbers. */
export const numbering = (): typeof import('libphonenumber-js/max') => load('libphonenumber-js/max')
