import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'

const persona = () =>
  z.object({
    id: value.uuid('Identifier'),
    uuid: value.uuid('The same identifier'),
    name: value.string('Name'),
    job_titles: value.strings('Job titles'),
    excluded_job_titles: value.strings('Job titles to exclude'),
    functions: value.strings('Ids of functions'),
    seniority_levels: value.strings('Ids of seniority levels'),
    created_at: value.moment('When it was created'),
    updated_at: value.moment('When it was last changed'),
  })

export const shapes = field.declare({
  'personas.list': () => ({
    input: field.pages(),
    checks: [field.cursorOrPage()],
    output: () => ({
      personas: value.list(persona(), 'Personas, newest first'),
      pagination: record.pagination(),
    }),
  }),
  'personas.get': () => ({
    input: { uuid: field.pathId('Identifier of the persona') },
    output: () => persona(),
  }),
  'personas.create': () => ({
    input: {
      name: field.text('Name'),
      job_titles: field.texts('Job titles').optional(),
      excluded_job_titles: field.texts('Job titles to exclude').optional(),
      functions: field.functions().optional(),
      seniority_levels: field.seniorities().optional(),
    },
    output: () => persona(),
  }),
  'personas.delete': () => ({
    input: { uuid: field.pathId('Identifier of the persona') },
    output: () => ({ message: value.string('Persona deleted') }),
  }),
})
