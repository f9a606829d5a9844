/** Labels of seniority levels by id. */
export const seniorities: Readonly<Record<string, string>> = {
  '100': 'In Training',
  '110': 'Entry Level',
  '120': 'Senior',
  '130': 'Strategic',
  '200': 'Entry Level Manager',
  '210': 'Experienced Manager',
  '220': 'Director',
  '300': 'Vice President',
  '310': 'CXO',
  '320': 'Owner / Partner',
}

/** Labels of functions (departments) by id. */
export const functions: Readonly<Record<string, string>> = {
  '1': 'Accounting',
  '2': 'Administrative',
  '3': 'Arts and Design',
  '4': 'Business Development',
  '5': 'Community and Social Services',
  '6': 'Consulting',
  '7': 'Education',
  '8': 'Engineering',
  '9': 'Entrepreneurship',
  '10': 'Finance',
  '11': 'Healthcare Services',
  '12': 'Human Resources',
  '13': 'Information Technology',
  '14': 'Legal',
  '15': 'Marketing',
  '16': 'Media and Communication',
  '17': 'Military and Protective Services',
  '18': 'Operations',
  '19': 'Product Management',
  '20': 'Program and Project Management',
  '21': 'Purchasing',
  '22': 'Quality Assurance',
  '23': 'Real Estate',
  '24': 'Research',
  '25': 'Sales',
  '26': 'Customer Success and Support',
}

/** Ranges of years (of experience, in a company, in a position) by id: from, up to and including. */
export const years: Readonly<Record<string, readonly [from: number, to: number | null]>> = {
  '1': [0, 0],
  '2': [1, 2],
  '3': [3, 5],
  '4': [6, 10],
  '5': [11, null],
}

/** Labels of company types by letter. */
export const companyTypes: Readonly<Record<string, string>> = {
  C: 'Public',
  P: 'Private',
  N: 'Non-profit',
  D: 'Educational',
  S: 'Partnership',
  E: 'Self-employed',
  O: 'Self-owned',
  G: 'Government',
}

/** Company sizes, smallest first; the n-th has the n-th letter of the alphabet in search urls. */
export const companySizes = [
  'Self-employed',
  '1-10',
  '11-50',
  '51-200',
  '201-500',
  '501-1000',
  '1001-5000',
  '5001-10000',
  '10001+',
] as const

/** Names of the industries whose ids are known. */
export const industries: Readonly<Record<string, string>> = {
  '4': 'Automotive',
  '6': 'Technology, Information and Internet',
  '12': 'Education',
  '43': 'Financial Services',
  '96': 'Software Development',
}

/** Filters of people that only the network itself can apply. */
export const liveOnlyFilters = [
  'connections_of_profile',
  'relationship',
  'follows_your_company',
  'viewed_your_profile',
  'with_shared_experiences',
  'posted_on_linkedin',
  'past_colleague',
] as const
