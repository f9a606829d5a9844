import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'
import { markFields } from '../values/objects.js'

const imports = (of: string) => ({
  limit: field.limit(of).optional(),
  streaming: field.flag('Deliver each record as it is found'),
  custom: field.custom().optional(),
})

/** Filters the companies of growth and lookalike imports. */
const companies = () => ({
  company_size: field.companySizes().optional(),
  included_locations: field.places().optional(),
  excluded_locations: field.places('Countries, regions or cities to exclude').optional(),
  included_industries: field.industries().optional(),
  excluded_industries: field.industries('Industries to exclude').optional(),
})

const stackFilters = () => ({
  stacks: field.ids('Slugs of technologies').optional(),
  stack_match: field.oneOf(['or', 'and'], 'or: any of the technologies; and: all of them').default('or'),
  excluded_stacks: field.ids('Slugs of technologies to exclude').optional(),
  countries: field.countries('Countries of the companies').optional(),
  included_industries: field.industries().optional(),
  excluded_industries: field.industries('Industries to exclude').optional(),
  company_size: field.companySizes().optional(),
})

const someStackFilter = () =>
  field.atLeastOne(
    'stacks',
    'excluded_stacks',
    'countries',
    'included_industries',
    'excluded_industries',
    'company_size',
  )

const growthRanges = ['min_headcount_growth_percentage', 'max_headcount_growth_percentage']
const departmentRanges = [
  'min_department_headcount',
  'max_department_headcount',
  'min_department_headcount_growth_percentage',
  'max_department_headcount_growth_percentage',
]

/** Growth of the whole company, or the size or growth of one department. */
const someGrowth = () =>
  field.rule((fields) => {
    const ofDepartment = departmentRanges.some((name) => field.isGiven(fields[name]))
    if (ofDepartment && !field.isGiven(fields.department)) return field.missing('department')
    const ofCompany = growthRanges.some((name) => field.isGiven(fields[name]))
    return ofCompany || ofDepartment
      ? undefined
      : field.badRequest(`Provide at least one of: ${markFields([...growthRanges, ...departmentRanges])}`)
  })

const started = <S extends z.ZodType>(preview: S) =>
  z.object({
    message: value.string('Status message'),
    id: value.uuid('Identifier of the import'),
    total: value.count('Records that match'),
    preview: value.list(preview, 'The first of them'),
  })

const blurCompany = () =>
  z.object({
    name: value.maybe('Name, blurred'),
    domain: value.maybe('Website domain, blurred'),
    website: value.maybe('Website, blurred'),
    industry: value.maybe('Industry'),
    location: value.maybe('Location in words'),
    city: value.maybe('City'),
    country: value.maybe('Country'),
    network_url: value.maybe('Profile on the network, blurred'),
    technologies_found: record.technologiesFound(),
  })

export const shapes = field.declare({
  'intents.hiring': () => ({
    input: {
      webhook_url: field.webhookUrl(),
      selected_keywords: field.texts('Words in the description').optional(),
      excluded_keywords: field.texts('Words not in the description').optional(),
      selected_titles: field.texts('Titles of the jobs').optional(),
      excluded_titles: field.texts('Titles to exclude').optional(),
      exclude_consulting_recruiting: field.flag('Leave out consulting and recruiting firms'),
      exclude_internships: field.flag('Leave out internships'),
      published_date: field
        .oneOf(
          [
            'last_24_hours',
            'last_7_days',
            'last_15_days',
            'last_30_days',
            'last_90_days',
            'last_180_days',
            'last_360_days',
          ],
          'How old a posting may be',
        )
        .optional(),
      job_min_posted: field.whole('Minimum number of postings of a company that match', 1).optional(),
      company_size: field.companySizes().optional(),
      included_locations: field.places().optional(),
      excluded_locations: field.places('Countries, regions or cities to exclude').optional(),
      included_industries: field.industries().optional(),
      ...imports('companies'),
    },
    output: () => ({
      id: value.uuid('Identifier of the import; absent when nothing matches').optional(),
      preview_count: value.count('Companies that match'),
      message: value.string('Status message'),
    }),
  }),
  'intents.stack': () => ({
    input: { webhook_url: field.webhookUrl(), ...stackFilters(), ...imports('companies') },
    checks: [someStackFilter()],
    output: () => ({
      id: value.uuid('Identifier of the import; absent when nothing matches').optional(),
      total_count: value.count('Companies that match'),
      message: value.string('Status message'),
    }),
  }),
  'intents.stack_preview': () => ({
    input: stackFilters(),
    checks: [someStackFilter()],
    output: () => ({
      total_count: value.count('Companies that match, exactly'),
      preview: value.list(blurCompany(), 'At most 25 of them, blurred'),
    }),
  }),
  'intents.growth': () => ({
    input: {
      webhook_url: field.webhookUrl(),
      min_headcount_growth_percentage: field.number('Minimum growth of the headcount, in percent').optional(),
      max_headcount_growth_percentage: field.number('Maximum growth of the headcount, in percent').optional(),
      department: field.text('Function by name, such as Sales').optional(),
      min_department_headcount: field.whole('Minimum headcount of the department').optional(),
      max_department_headcount: field.whole('Maximum headcount of the department').optional(),
      min_department_headcount_growth_percentage: field
        .number('Minimum growth of the department, in percent')
        .optional(),
      max_department_headcount_growth_percentage: field
        .number('Maximum growth of the department, in percent')
        .optional(),
      ...companies(),
      ...imports('companies'),
    },
    checks: [
      someGrowth(),
      field.notTogether('department', ...growthRanges),
      field.inOrder('min_headcount_growth_percentage', 'max_headcount_growth_percentage'),
      field.inOrder('min_department_headcount', 'max_department_headcount'),
      field.inOrder(
        'min_department_headcount_growth_percentage',
        'max_department_headcount_growth_percentage',
      ),
    ],
    output: () => started(record.accountPreview()),
  }),
  'intents.lookalikes': () => ({
    input: {
      webhook_url: field.webhookUrl(),
      company_network_url: field.profileUrl('Profile of the company to resemble').optional(),
      company_network_urls: field
        .of(field.profileUrl('Profile'), 'Profiles of up to 3 companies to resemble', 3)
        .optional(),
      ...companies(),
      ...imports('companies'),
    },
    checks: [field.exactlyOne('company_network_url', 'company_network_urls')],
    output: () => started(record.accountPreview()),
  }),
  'intents.post_engagers': () => ({
    input: {
      post_url: field.uri('The post'),
      webhook_url: field.webhookUrl(),
      engagement: field
        .oneOf(['reactions', 'comments', 'all'], 'Which people: those who reacted, commented, or both')
        .default('all'),
      ...imports('people'),
    },
    output: () => started(record.leadPreview()),
  }),
})
