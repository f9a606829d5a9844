import type { OperationId } from '../../api/operations/table.js'

/** Examples for each operation's help, without the leading `prospect`; each one parses as it stands. */
export const examples: Readonly<Record<OperationId, readonly string[]>> = {
  'accounts.extract': [
    "accounts extract --search-url 'https://www.network.example/sales/search/company?query=(keywords:solar)' --name Solar --webhook-url https://hooks.example/in",
    "accounts extract 'https://www.network.example/sales/search/company?query=(keywords:solar)' --name Solar --limit 200 --wait -o accounts.csv",
  ],
  'accounts.search': [
    'accounts search --included-industries 96 --company-size 51-200,201-500 --webhook-url https://hooks.example/in',
    'accounts search --keyword software --limit 50 --wait -o accounts.csv',
  ],
  'accounts.search_preview': ['accounts search --preview --keyword \'"solar panel" AND NOT retail\''],
  'accounts.enrich': [
    'accounts enrich --domain example.com',
    'accounts enrich --name "Acme GmbH" --country DE --format json',
  ],
  'accounts.bulk_enrich': ['accounts enrich --bulk --accounts domain=example.com --accounts name=Acme'],
  'accounts.count_profiles': [
    'accounts count-profiles --company-network-id 1234 --title-to-include "Head of Sales"',
  ],
  'accounts.headcount': ['accounts headcount --company-domain example.com --departments Sales'],
  'accounts.hiring': ['accounts hiring --company-domain example.com --posted-within-days 30 --limit 10'],
  'accounts.stack': ['accounts stack --company-domain example.com'],
  'accounts.technologies': ['accounts technologies react', 'accounts technologies --query react --limit 5'],
  'leads.extract': [
    "leads extract --search-url 'https://www.network.example/search/results/people/?keywords=cto' --name CTOs --limit 100",
    "leads extract --search-url 'https://www.network.example/search/results/people/?keywords=cto' --limit 500 --wait -o leads.csv",
  ],
  'leads.advanced_search': [
    'leads advanced-search --job-titles "Head of Sales" --company-size 51-200 --webhook-url https://hooks.example/in',
    'leads advanced-search --job-titles "Head of Sales" --limit 100 --wait 300 -o leads.ndjson',
  ],
  'leads.advanced_search_preview': [
    'leads advanced-search --preview --job-titles "Head of Sales" --seniority-levels 220',
  ],
  'leads.search': ['leads search --company-domain example.com --functions 25 --seniority-levels 220,300'],
  'leads.enrich': [
    'leads enrich --network-url https://www.network.example/in/jane-doe',
    'leads enrich --first-name Jane --last-name Doe --domain example.com',
  ],
  'leads.bulk_enrich': ['leads enrich --bulk --input people.json'],
  'contacts.enrich': [
    'contacts waterfall --first-name Jane --last-name Doe --domain example.com --enrichment-type email',
    'contacts waterfall --network-url https://www.network.example/in/jane-doe --enrichment-type email,phone --wait',
    'contacts waterfall --csv people.csv --enrichment-type email -o found.csv',
  ],
  'contacts.enrich_sync': [
    'contacts waterfall --sync --network-url https://www.network.example/in/jane-doe --enrichment-type email,phone',
  ],
  'contacts.bulk_enrich': [
    'contacts waterfall --bulk --input contacts.json',
    'contacts waterfall --bulk --input contacts.json --wait -o found.csv',
  ],
  'contacts.get': ['contacts get 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'],
  'contacts.get_enrichment': ['contacts get 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11 --enrichment'],
  'contacts.reverse_lookup': ['contacts reverse-lookup jane.doe@example.com'],
  'contacts.check_data_availability': ['contacts check-data-availability --input contacts.json'],
  'intents.hiring': [
    'intents hiring --selected-titles "Data Engineer" --webhook-url https://hooks.example/in',
    'intents hiring --selected-titles "Data Engineer" --limit 20 --wait -o hiring.ndjson',
  ],
  'intents.stack': [
    'intents stack --stacks react,kubernetes --stack-match and --webhook-url https://hooks.example/in',
  ],
  'intents.stack_preview': ['intents stack --preview --stacks react --countries FR,DE'],
  'intents.growth': [
    'intents growth --min-headcount-growth-percentage 20 --webhook-url https://hooks.example/in',
  ],
  'intents.lookalikes': [
    'intents lookalikes --company-network-url https://www.network.example/company/acme --webhook-url https://hooks.example/in',
  ],
  'intents.post_engagers': [
    'intents post-engagers --post-url https://www.network.example/posts/1 --engagement comments --webhook-url https://hooks.example/in',
  ],
  'intents.track_job_changes': [
    'intents track-job-changes --lead-list-id 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11 --webhook-url https://hooks.example/in',
  ],
  'messenger.validate': ['messenger validate +33612345678 +33612345679'],
  'searches.list': ['searches list --no-enriched --per-page 20'],
  'searches.get': ['searches get 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11 -o leads.csv'],
  'searches.delete': ['searches delete 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'],
  'lists.create': [
    'lists create --name Targets --csv companies.csv --wait',
    'lists create --input list.json',
  ],
  'lists.list': ['lists list --format csv'],
  'lists.get': ['lists get 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'],
  'lists.rename': ['lists rename 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11 --name "Targets 2027"'],
  'personas.list': ['personas list'],
  'personas.get': ['personas get 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'],
  'personas.create': ['personas create --name Buyers --job-titles "Head of Sales" --seniority-levels 220'],
  'personas.delete': ['personas delete 2f1f7c7e-5f0a-4b8e-9a53-0f6b8a3f8a11'],
  'titles.suggest': ['titles suggest "Head of Sales"'],
  'locations.find': ['locations find Lyon --source database'],
  'credits.show': ['credits', 'credits --min 500 --quiet'],
  'credits.consumption': ['credits consumption --start-date 2026-01-01 --end-date 2026-01-31'],
  'account.show': ['account'],
}
