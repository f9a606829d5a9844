import type { Identity } from '../../api/operations/facts.js'

/** Fields of which a row needs at least one to be looked up at all, by what a row is about. */
export const identifying: Readonly<Record<Identity, readonly string[]>> = {
  company: [
    'company_network_url',
    'network_url',
    'company_network_id',
    'domain',
    'company_domain',
    'name',
    'company_name',
  ],
  person: ['network_url', 'network_profile_url', 'linkedin_url', 'first_name', 'last_name'],
  contact: ['network_url', 'linkedin_url', 'first_name', 'firstname', 'last_name', 'lastname'],
  email: ['email'],
  number: ['phone_number', 'phone_numbers'],
}

/** Fields that say which company or person a row is about where they are there, without being enough. */
export const describing: readonly string[] = [
  'name',
  'company_name',
  'domain',
  'company_domain',
  'email',
  'full_name',
  'first_name',
  'last_name',
  'firstname',
  'lastname',
]
