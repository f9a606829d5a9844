/** Filters of people that only the network itself can honour. */
export const liveOnlyFilters = [
  'connections_of_profile',
  'relationship',
  'follows_your_company',
  'viewed_your_profile',
  'with_shared_experiences',
  'posted_on_linkedin',
  'past_colleague',
] as const
