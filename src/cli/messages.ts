import { ConnectionLost } from '../api/calls/caller.js'
import { ApiError, type Details, errors, type Note, Refusal, type Report } from '../api/calls/errors.js'
import { exitCodes } from '../api/calls/exit-codes.js'
import { formatAge } from '../api/values/duration.js'
import type { Reading } from '../csv/detect-encoding.js'
import type { Footer, SkippedRows } from '../csv/footer.js'
import {
  hintOf,
  isExitPrompt,
  openQuestion,
  report,
  Stop,
  systemReason,
  toFlag,
  unknownHint,
  withoutStop,
} from './context/errors.js'

/** A sentence, in which `{name}` is a detail, `{name,}` a number with its thousands separated, and `{name"}` a list in quotes. */
type Text = string | ((details: Details) => string)

interface Message {
  readonly text: Text
  readonly hint?: Text
  /** By default 2. */
  readonly exit?: number | ((details: Details) => number)
  /** The code in a report, null for none; by default that of the exit code. */
  readonly code?: string | null
}

const encodingHint = 'Name the encoding of the file with --encoding.'
const unpack = 'Unpack it, and give the file that is in it.'
const exportTable = 'Export its table as CSV.'
const noTable = 'Give an .xlsx or CSV file.'
const saveSheet = 'Save it as .xlsx or CSV.'
const saveTable = 'Save its table as .xlsx or CSV.'

/** Files that are no tables: what they are, and what to do with them. */
const fileTypes: Readonly<Record<string, string>> = {
  '7z': `a 7-Zip archive. ${unpack}`,
  arrow: `an Arrow file. ${exportTable}`,
  avro: `an Avro file. ${exportTable}`,
  binary: `a binary file, not text. ${noTable}`,
  bzip2: `a bzip2 file. ${unpack}`,
  doc: `an old Word document (.doc). ${saveTable}`,
  docx: `a Word document. ${saveTable}`,
  encrypted_workbook: 'a workbook with a password. Save it without one, or as CSV.',
  gzip: `a gzip file. ${unpack}`,
  image: `an image. ${noTable}`,
  iwork: 'a Numbers or Pages document. Export it as .xlsx or CSV.',
  json: 'JSON, not CSV. Convert it to CSV or .xlsx; only prospect data import reads JSON.',
  markup: `a web page or XML, not CSV. ${exportTable}`,
  opendocument: `an OpenDocument file (such as .ods). ${saveSheet}`,
  parquet: `a Parquet file. ${exportTable}`,
  pdf: `a PDF document. ${exportTable}`,
  ppt: `an old presentation (.ppt). ${saveTable}`,
  pptx: `a presentation. ${saveTable}`,
  rar: `a RAR archive. ${unpack}`,
  sqlite: `an SQLite database. ${exportTable}`,
  xls: `an old Excel workbook (.xls). ${saveSheet}`,
  xlsb: `a binary Excel workbook (.xlsb). ${saveSheet}`,
  xz: `an xz file. ${unpack}`,
  zip: `a ZIP archive. ${unpack}`,
  zstd: `a Zstandard file. ${unpack}`,
}

/** What we find wrong with a workbook; the rest is said by the library that reads it. */
const damages: Readonly<Record<string, string>> = {
  doctype: 'it declares a document type',
  parts: 'it has too many parts',
  sheet: 'its sheet is missing',
}

const wholeNumbers: Readonly<Record<string, string>> = {
  amount: 'An amount of credits',
  balance: 'A balance',
  quota: 'A quota',
  weekly_limit: 'A weekly limit',
}

/** Says which rows of a file are no records: the sums between them, and the footer. */
const describeFooter = ({ sums, end }: Footer): string =>
  [...(sums ? [describeSums(sums)] : []), ...(end ? [describeEnd(end)] : [])].join(' ')

const describeSums = ({ rows, lines, sample }: SkippedRows): string => {
  const shown = `${lines.join(', ')}${rows > lines.length ? ' …' : ''}`
  const what =
    rows === 1 ? `The row on line ${shown} is a sum` : `${count(rows)} rows are sums, lines ${shown}`
  return `${what} ${describeSkipped(rows, sample)}`
}

const describeEnd = ({ rows, firstLine, lastLine, sample }: SkippedRows): string => {
  const lines = `lines ${firstLine}–${lastLine}`
  const one = `The row on line ${lastLine} is a footer`
  return `${rows === 1 ? one : `${count(rows)} rows at the end are a footer, ${lines}`} ${describeSkipped(rows, sample)}`
}

const describeSkipped = (rows: number, sample: string): string =>
  `("${sample}"), and no records: ${rows === 1 ? 'it is' : 'they are'} skipped.`

const receiverHint = ({ receives }: Details) =>
  receives ? 'It is the port of this machine that --public-url leads to.' : ''

const elsewhere = ({ databaseOption }: Details) => (databaseOption ? ', possibly on another machine' : '')

const locked: Readonly<Record<string, (name: unknown) => string>> = {
  run: (id) => (id === undefined ? 'This run' : `Run ${id}`),
  file: (path) => `The file ${path}`,
  lock: (name) => `The lock ${name}`,
  lookups: () => 'Every lock of single lookups',
}

/** The exit code of work that a signal ended. */
const exitOfSignal = ({ signal }: Details) =>
  signal === 'SIGTERM' ? exitCodes.terminated : exitCodes.interrupted

const interruptedWhile = (during: Text): Message => ({
  text: (details) =>
    `${details.signal === 'SIGTERM' ? 'Terminated' : 'Interrupted'} while ${fill(during, details)}.`,
  exit: exitOfSignal,
})

/** The system's codes of an output that could never be written: its folder is missing, or its name is a folder's. */
const misplaced: readonly unknown[] = ['EISDIR', 'ENOENT', 'ENOTDIR']

const providerProblems: Readonly<Record<string, Text>> = {
  aliases: 'an alias (*name) stands for nothing, or for too much. A text that begins with * needs quotes.',
  condition: ({ at, refused, inner }) =>
    describe(new Refusal(refused as Refusal['code'], { ...(inner as Details), option: at })),
  invalid: '{at}: {cause}.',
  missing: '{at} is missing.',
  batch_cost:
    '{at} says what a request of several rows costs. Give what each row costs, in its item: from: item.….',
  header: '{at}: "{name}" is not the name of a header.',
  header_value: '{at} has letters that a header cannot have.',
  no_found: '{at}: no outcome is found, so that nothing would ever be.',
  no_id: ({ at }) => `${at} does not say which work is asked for. Write {id} where its id belongs.`,
  no_key: ({ at }) =>
    at === 'auth.path'
      ? `${at} has no key. Write {key} where it belongs.`
      : `${at} have no key. Write {key}, or {key_base64}, where it belongs.`,
  no_timestamp:
    'auth.sign: a timestamp that is signed must be sent, too: name its header as timestamp, and write {timestamp} or {timestamp_ms} in over.',
  key_in_body: '{at}: the key goes into the body as {field}, and there is no body with fields, nor a form.',
  path_start: '{at}: begin with status, headers, body or item, such as {body.first}.',
  no_request: '{at}: there is no request {word} in requests.',
  idle_request: '{at} is used by no kind. Write request: {word} in the kinds that it serves, or remove it.',
  no_list: '{at}: a request of several rows needs a body with a list of one element, which each row fills.',
  no_result: '{at} needs {wanted}.',
  no_size: '{at}: what a page may cost at most is not known. Write size: the most items of a page.',
  no_row: ({ at }) =>
    `${at}: nothing in the request says which row an item is about. Send {row} with each, or write by: order.`,
  path_field: '{at}: {{field}} is in the path, and not in every set of needs.',
  brace: '{at}: "{written}" has a brace without the other one. Write {{last_name}} for a value of the row.',
  no_items: '{at}: item is an item of the list of a batch, and there is no batch. Begin with body.',
  path_letters: '{at}: "{written}" is not a path. Spaces and # cannot be sent in one.',
  token_url: '{at} must be an address without spaces and braces.',
  whole_address: '{at}: "{written}" is a whole address. Paths are added to base_url: write only the path.',
  no_provider: 'this is no provider. A provider has name, base_url, auth and kinds. See docs/waterfall.md.',
  no_kinds: 'kinds is empty: name what the provider can be asked for.',
  path: '{at}: "{text}" is not a path. Write one such as body.data.email.',
  placeholder: '{at}: {{word}} is not a field that can be sent.',
  reserved: 'name: this is the name of something built in; use another one.',
  syntax: '{cause}.',
  too_long: 'the file is longer than {max,} bytes.',
  unknown: '{at} is not known.',
  value: '{at} must be one of {known}.',
}

const commandHint =
  'It should answer each line that it reads with one line: an object of JSON, or null. If it writes other lines on purpose, add log: true to its step.'

const commandProblems: Readonly<Record<string, (details: Details) => string>> = {
  deep: () => 'wrote a line of JSON with too many levels',
  long: () => 'wrote a line that does not end',
  no_field: ({ fields }) => `wrote an object without ${(fields as string[]).join(', ')}`,
  no_object: () => 'wrote a line that is no object of JSON',
  number: () => 'gave some answers a _row, and others none',
  other_row: () => 'answered a row that has an answer, or was never sent',
  surplus: () => 'wrote more lines than it was given rows',
}

const nearOrAll = ({ meant, known }: Details, what: string): string =>
  meant === undefined ? `${what}: ${(known as string[]).join(', ')}.` : `Did you mean ${meant}?`

/** Returns the option that gives `providers test` what a provider needs. */
const optionOfNeed = (field: string): string =>
  field.startsWith('input.')
    ? `--column '${field.slice('input.'.length)}=…'`
    : `--${field.replaceAll('_', '-')}`

const nearProvider = (details: Details): string =>
  (details.known as string[]).length === 0
    ? 'Add one: prospect providers add FILE'
    : nearOrAll(details, 'There are')

function hintForFile(details: Details): string {
  const { problem, meant, refused, inner } = details
  if (problem === 'unknown' || problem === 'placeholder') return nearOrAll(details, 'Known here')
  if (problem === 'condition') return fill(messages[String(refused)]?.hint ?? '', inner as Details)
  return meant === undefined ? '' : `Did you mean ${meant}?`
}

/** What a budget is for, and what to do when it is used up. */
const budgets: Readonly<Record<string, readonly [of: string, hint: string]>> = {
  run: ['for this run', 'Raise --max-credits, then resume.'],
  profiles: ['for this run', 'Raise --max-profiles, then resume.'],
  day: [
    'a day',
    'Resume tomorrow (UTC), or raise --max-credits-per-day, in a flow budget: per_day in its file.',
  ],
  flow: ['for this flow', 'Raise --max-credits, or budget: credits: in its file, then run it again.'],
}

/** Says why what a day leaves is less than what was spent on it: the clock was ahead. */
export const aheadText = (until: unknown): string =>
  until === undefined
    ? ''
    : `: the clock was ahead, and what was spent under the date ${until} counts until then`

const aheadHint = (until: unknown): string =>
  `Check the clock of this machine. Wait until ${until} (UTC) is over, or raise --max-credits-per-day.`

const truncationReasons: Readonly<Record<string, string>> = {
  profiles: 'the daily profile quota is used up.',
  companies: 'the daily or monthly company quota is used up.',
  credits: 'the credits are used up, or the weekly limit is reached.',
}

const fileNames: Readonly<Record<string, string>> = {
  csv: '--csv',
  out: '-o',
  rejects: '--rejects',
  rejectsBeside: '--rejects (by default OUT.rejects.csv)',
  skipKnown: '--skip-known',
}

/** Returns the option that names a file of a run; otherwise what it is called where it was given. */
export const fileNameOf = (name: unknown): string => fileNames[String(name)] ?? String(name)

/** Why a walk over pages ends early. */
const missingPages: Readonly<Record<string, string>> = {
  beyond_total: 'has sent twice as many rows as it has',
  empty: 'the last one is empty',
  no_cursor: 'gives no cursor for them',
  same_cursor: 'gives a cursor that was used before',
  same_page: 'sends a page that has come before',
  too_many: 'there were {max,} already',
}

/** Everything that is refused below the command line, by code. What the API refuses has its texts in `api/calls/errors.ts`. */
// biome-ignore format: one row, one line
const messages: Readonly<Record<string, Message>> = {
  'crm.as_read': { text: ({ crm, kind, records, ageMs }) => `${crm}: ${records === 1 ? (kind === 'people' ? '1 person' : '1 company') : `${count(records)} ${kind}`}, read ${formatAge(Number(ageMs))} ago. What has changed is read by: prospect crm pull ${crm}` },
  'crm.address': { text: 'Nothing was sent to {crm}: {cause}', hint: ({ cause }) => (String(cause).includes('blocked') ? 'Is it on your own network? Connect it with --allow-target NETWORK.' : 'Connect it with another --base-url.') },
  'crm.base_url': { text: '"{baseUrl}" is no address of an API.', hint: 'It begins with https://' },
  'crm.denied': { text: ({ crm, status, sentence, scopes }) => `${crm} ${status === 401 ? 'does not accept the key' : `does not permit this to the key${(scopes as string[]).length > 0 ? `, which lacks ${(scopes as string[]).join(', ')}` : ''}`}: ${withoutStop(String(sentence))}.`, hint: ({ crm, status }) => (status === 401 ? `Store a valid key: prospect crm connect ${crm}` : 'Add the permission in the settings of the account; nothing more was written.'), exit: exitCodes.key, code: 'key' },
  'crm.key_elsewhere': { text: 'The key of {crm} is not on this machine.', hint: 'Give it: prospect crm connect {crm}', exit: exitCodes.key, code: 'key' },
  'crm.no_base_url': { text: 'Each account of {crm} has an address of its own.', hint: 'Name it with --base-url, such as https://yours.my.salesforce.com' },
  'crm.no_key': { text: 'No key was given for {crm}.', hint: 'Give it with --key-file FILE or --key-stdin.', exit: exitCodes.key, code: 'key' },
  'crm.not_connected': { text: 'No account of {crm} is connected.', hint: 'Connect one: prospect crm connect {crm}' },
  'crm.not_pulled': { text: 'Nothing has been read from {crm} yet.', hint: 'Read it: prospect crm pull {crm}' },
  'crm.plain': { text: '{baseUrl} begins with http://, so that others could read the key.', hint: 'Is it on your own network? Allow that with --allow-target NETWORK.' },
  'crm.refused': { text: '{crm} refused: {sentence}', exit: exitCodes.refused, code: 'refused' },
  'crm.settings': { text: ({ path, field, unknown, reason }) => `${path} has no settings of a push: ${unknown === undefined ? `${field ?? 'it'} ${reason}` : `there is no ${unknown}`}.`, hint: 'It has: mode, map, values, fields, owner, unknown, max_creates.' },
  'crm.spent': { text: ({ crm, unit, perDay }) => `The ${unit} that ${crm} permits in a day${perDay === undefined ? '' : ` (${count(perDay)})`} are used up.`, hint: 'What was done is stored. Run the same command again tomorrow: it goes on there.', exit: exitCodes.budget, code: 'budget' },
  'crm.unknown': { text: 'There is no connection to "{name}".', hint: (details) => nearOrAll(details, 'CRMs') },
  'crm.unreachable': { text: '{crm} cannot be reached: {reason}.', hint: 'What was done is stored. Run the same command again: it goes on there.', exit: exitCodes.unreachable, code: 'unreachable' },
  'crm.apply_dry': { text: '--dry-run and --apply cannot be used together.', hint: 'Use one or the other.' },
  'crm.digest': { text: 'File, mapping or records have changed since the dry run: {apply} is now {digest}. Nothing was written.', hint: 'Look at it again with --dry-run.' },
  'crm.no_owner': { text: '{crm} has no user with the address {email}.', hint: 'It has: {known}.' },
  'crm.no_property': { text: '{crm} has no property "{name}".', hint: ({ meant }) => (meant === undefined ? 'Names are those of the settings of the account, such as jobtitle.' : `Did you mean ${meant}?`) },
  'crm.no_target': { text: 'Say which CRM to write to.', hint: 'Name it with --to: {known}.' },
  'crm.other_account': { text: 'It was written to the account {account} of {crm}, and {now} is connected. Nothing was changed.', hint: 'Connect that account again: prospect crm connect {crm}' },
  'crm.overwrite_fields': { text: 'With --mode overwrite, name what is changed.', hint: 'For example: --fields industry,phone' },
  'crm.read_only': { text: '{crm} does not let "{name}" be written.' },
  'crm.too_many_creates': { text: '{creates,} records would be created, and --max-creates permits {max,}. Nothing was written.', hint: 'See what is new with --dry-run.', exit: exitCodes.budget, code: 'budget' },
  'crm.unconfirmed': { text: 'Nothing was written: nobody can be asked.', hint: 'Look at it with --dry-run, then add --apply {digest}; or --yes.' },
  'crm.unmapped_field': { text: 'No column fills "{name}", which --fields names.', hint: 'Choose one, for example: --map {name}=Column' },
  'csv.cut_off': { text: 'the file ends within a letter of UTF-8, so it seems to be cut off. Save or download it again, or name another encoding with --encoding.' },
  'csv.empty': { text: '{path} is empty. Its first line must name the columns.' },
  'csv.encoding_changes': { text: `this is not {label}, as the lines above are. ${encodingHint}` },
  'csv.encoding_contradicted': { text: 'the lines above may be {label}, but here "{sample}" is {found}. If the whole file is, add --encoding {found}.' },
  'csv.encoding_uncertain': { text: ({ readings }) => `the encoding is not certain: this is ${(readings as Reading[]).map(({ label, sample }) => `"${sample}" in ${label}`).join(', and ')}. Name the right one with --encoding.` },
  'csv.encoding_unknown': { text: 'The encoding "{label}" is not known. Use a name such as utf-8, utf-16le, windows-1252 or shift_jis.' },
  'csv.encoding_wrong': { text: `this is not valid {label}. ${encodingHint}` },
  'csv.encoding_recognised': { text: 'Encoding: {label}, such as "{sample}". If that looks wrong, name the right one with --encoding.' },
  'csv.first_row_is_data': { text: 'The first row looks like data, so it is read as a row, and the columns are column_1 and so on. If it is a header, rename its columns.' },
  'csv.folder': { text: '{path} is a folder. Name a CSV or .xlsx file in it.' },
  'csv.footer': { text: (details) => describeFooter(details as Footer) },
  'csv.no_header_left': { text: '--skip-lines {count} leaves no header in the beginning of the file.' },
  'csv.no_names': { text: 'this should name the columns, but all its cells are empty.' },
  'csv.not_regular': { text: '{path} is not a regular file. Give the path of one, or redirect a pipe to stdin and give - (in a command, --csv -).' },
  'csv.not_text': { text: ({ path = 'This', type }) => `${path} is ${fileTypes[String(type)]}` },
  'csv.not_utf8': { text: ({ found = 'for example windows-1252' }) => `this is not valid UTF-8. If the file has another encoding, name it with --encoding (${found}).` },
  'csv.no_zstd': { text: '{path} is packed with Zstandard, which this version of Node does not read.', hint: 'Unpack it, or use Node 22.15 or later.' },
  'csv.nul': { text: 'there is a NUL character here, so this is no text file, or its encoding must be given with --encoding (for example utf-16le).' },
  'csv.packed_damaged': { text: '{path} cannot be unpacked: it is damaged or was not downloaded to its end ({cause}).', hint: 'Download it again.' },
  'csv.piped_workbook': { text: 'This is a workbook or an archive. Save it as a file, and give its name instead of a pipe.' },
  'csv.quote_continues': { text: 'in this row a quoted cell continues after its closing quote. Close the cell where it ends, and double ("") the quotes within it.' },
  'csv.quote_inside': { text: 'in this row a quote stands in the middle of an unquoted cell. Quote the whole cell, and double ("") the quotes within it.' },
  'csv.quote_open': { text: 'a quote is opened in this row and never closed. Close it, or double it ("") to mean a quote.' },
  'csv.ragged': { text: ({ cells, header }) => `the row has ${cells} ${cells === 1 ? 'cell' : 'cells'}; the header has ${header}` },
  'csv.row_too_long': { text: 'the row that begins here is longer than {limit} bytes. Most often a quote was opened and never closed.' },
  'csv.row_too_wide': { text: 'the row that begins here has {cells,} cells, and {max,} are the most.' },
  'csv.same_names': { text: 'Columns with the name of an earlier one are called {columns"}.' },
  'csv.unpack_failed': { text: '{path} cannot be unpacked: {cause}.' },
  'csv.unpacks_too_large': { text: ({ path, max, size }) => `${path} unpacks to more than ${formatSize(max)}, the limit for a file of ${formatSize(size)}.`, hint: 'If that is right, unpack it, and give the file that is in it.' },
  'csv.unreadable': { text: '{path} cannot be read: {cause}.', hint: ({ isLeft }) => (isLeft ? 'The run that was to write it has stopped: the rows so far are in the file of that name with .partial. See how to go on: prospect runs show --last' : '') },
  'csv.zip_empty': { text: '{path} has no file in it.' },
  'csv.zip_encrypted': { text: '{path} has a password.', hint: 'Unpack it, and give the file that is in it.' },
  'csv.zip_no_table': { text: 'The archive {path} has no CSV or JSON file, but {files"}.', hint: 'Unpack it, and give the file that is in it.' },
  'csv.zip_several': { text: 'The archive {path} has several files: {files"}.', hint: 'Unpack it, and give the one that you mean.' },
  'database.backup_newer': { text: "{file} has schema version {version}, newer than this program's {newest}.", hint: 'Upgrade prospect, then restore.' },
  'database.backup_moved': { text: '{file} is a backup of an engine that had moved to another database by then.', hint: 'Give a backup from before.' },
  'database.catalogue_not_empty': { text: '{file} has records that are not those of the engine that is to move there.', hint: 'Move this file to another folder first. To take its records along, import them where the engine is now: prospect data export and prospect data import.' },
  'database.damaged': { text: '{file} is damaged.', hint: 'Nothing was changed. Use another backup.' },
  'database.emptied': { text: '{file} is empty, but this machine has the key of a workspace that was in it.', hint: 'Delete the empty file, then restore a backup with prospect engine restore, or start again with prospect init.', exit: exitCodes.unreachable, code: 'storage_failed' },
  'database.engine_at_work': { text: 'A server, worker or batch works on this engine.', hint: 'Stop it first. After one was killed, wait 30 seconds.' },
  'database.file_exists': { text: '{file} exists already.', hint: 'Choose another name.' },
  'database.in_memory': { text: 'A database in memory is not a file.', hint: 'It ends with its process.' },
  'database.in_use': { text: 'Another process has {path} open.', hint: 'Stop it first: a server (prospect serve), a batch, or another command.' },
  'database.move_differs': { text: 'What arrived of {table} differs from what was sent. Nothing was moved.', hint: 'Run prospect doctor, then move again.', exit: exitCodes.checkFailed, code: 'check_failed' },
  'database.move_failed': { text: 'Nothing was moved to {place}: {reason}.', hint: 'The engine is where it was. Fix this, then run the same command again.', exit: exitCodes.unreachable, code: 'storage_failed' },
  'database.move_unknown': { text: 'The database was lost at the last step, and whether the engine is in {place} now is not known.', hint: 'Run the same command again: it finds out, and moves the engine if it has not arrived.', exit: exitCodes.unreachable, code: 'outcome_unknown' },
  'database.no_file': { text: 'There is no file {file}.', hint: 'Check the path.' },
  'database.no_room': { text: '{file} cannot be written: the disk is full.', hint: 'Free some space.' },
  'database.no_room_to_rewrite': { text: '{path} cannot be rewritten: the disk is full.', hint: 'Free some space, then run it again.' },
  'database.not_backup': { text: '{file} is not a backup of this database.', hint: 'Give a file that a backup wrote.' },
  'database.not_empty': { text: ({ place, isLeft }) => (isLeft ? `${place} still has the tables that this engine left there when it moved.` : `${place} has an engine or records already.`), hint: 'Name an empty database: nothing there is replaced.' },
  'database.not_one': { text: '{file} is not a database.', hint: 'Check the path.' },
  'database.nul_in_row': { text: 'A row of {table} has the character U+0000, which PostgreSQL cannot hold: {key}. Nothing was moved.', hint: 'Remove the character where the row came from, then move again.' },
  'database.row_refused': { text: 'A row of {table} contradicts other rows, and the new database refuses it. Nothing was moved.', hint: 'Find out more: prospect doctor and prospect engine ledger verify', exit: exitCodes.checkFailed, code: 'check_failed' },
  'database.nothing_to_move': { text: 'There is no engine with a workspace here.', hint: 'Name its database in PROSPECT_DATABASE_URL. The one of this machine needs none.' },
  'database.on_server': { text: 'A PostgreSQL database is not a file.', hint: 'Use the tools of its server: pg_dump copies it, pg_restore brings it back, DROP DATABASE deletes it.' },
  'database.partial_exists': { text: '{file} exists already.', hint: 'Remove it, unless another prospect is writing it.' },
  'database.uncopyable': { text: '{file} cannot be copied ({code}).', hint: 'Check the path.' },
  'database.unusable': { text: '{file} cannot be used ({code}).', hint: 'Check the path and its permissions.' },
  'database.unwritable': { text: '{file} cannot be written ({code}).', hint: 'Choose a place you may write to.' },
  'doctor.problems': { text: 'Something is wrong: {names}.', hint: 'Each problem says what to do.', exit: exitCodes.checkFailed, code: 'check_failed' },
  'engine.expiry_past': { text: "The expiry is in the past; the engine's clock says {now}" },
  'engine.fault_double': { text: (details) => `${toFlag(details.what)} and ${toFlag(details.other)} are two faults.`, hint: 'Add them one after the other.' },
  'engine.fault_empty': { text: 'This says where, not what goes wrong.', hint: ({ isDelivery }) => `Add ${isDelivery ? '--lose, --late, --double, --reorder or --bad-signature' : '--status, --delay, --timeout, --drop, --truncate, --garble or --invalid-session'}.` },
  'engine.fault_late': { text: 'A delivery can be at most 1d late.' },
  'engine.fault_place': { text: ({ option, isDelivery }) => `${toFlag(option)} is for ${isDelivery ? 'calls, not for deliveries' : 'deliveries, not for calls'}.`, hint: ({ isDelivery }) => isDelivery ? 'Name an operation, a group or all.' : 'Write: prospect engine faults add deliveries' },
  'engine.fault_status': { text: ({ status, code, network }) => code === undefined && !network ? `--status ${status} is no status of this API.` : `${code === undefined ? '--network' : `--code ${code}`} is no error with the status ${status}.`, hint: 'Statuses are {statuses}; the errors of each are in docs/api-errors.md.' },
  'engine.fault_where': { text: 'There is no operation "{where}".', hint: ({ near }) => near === undefined ? 'Name an operation such as accounts.enrich, a group such as accounts, all, or deliveries.' : `Did you mean ${near}?` },
  'engine.fault_without_status': { text: (details) => `${toFlag(details.option)} needs --status.` },
  'engine.job_not_failed': { text: 'The job {id} is {state}; only a failed one can be retried' },
  'engine.key_name': { text: 'A key name has 1 to 100 characters on one line.' },
  'engine.last_member': { text: '{email} is the only member.', hint: 'Add another one first: prospect engine members add EMAIL' },
  'engine.ledger_differs': { text: ({ first, more }) => `The ledger does not add up: ${first}${Number(more) > 0 ? `, and ${more} more` : ''}.`, hint: 'Restore a backup: prospect engine restore FILE', exit: exitCodes.checkFailed, code: 'ledger_differs' },
  'engine.list_retry': { text: 'The import of a list cannot be retried.', hint: 'Create the list again: prospect lists create' },
  'engine.member_exists': { text: '{email} is already a member.', hint: 'See: prospect engine members list' },
  'engine.no_area': { text: 'There is no area {wrong}; areas are {areas}' },
  'engine.no_delivery': { text: 'There is no delivery {id}.', hint: 'See: prospect engine deliveries list', exit: exitCodes.notFound },
  'engine.no_job': { text: 'There is no job {id}.', hint: 'See: prospect engine jobs list', exit: exitCodes.notFound },
  'engine.no_key': { text: 'There is no valid key {id}.', hint: 'See: prospect engine keys list', exit: exitCodes.notFound, code: 'not_found' },
  'engine.no_member': { text: 'There is no member {email}.', hint: 'See: prospect engine members list', exit: exitCodes.notFound, code: 'not_found' },
  'engine.no_member_yet': { text: 'The workspace has no member.', hint: 'Add one with: prospect engine members add EMAIL' },
  'engine.no_workspace': { text: 'There is no workspace "{name}".', hint: 'See: prospect engine workspaces list' },
  'engine.no_workspace_yet': { text: 'There is no workspace yet.', hint: 'Create one with: prospect init' },
  'engine.not_email': { text: '"{text}" is not an email address; give one such as ada@example.com' },
  'engine.not_whole': { text: ({ of, min }) => `${wholeNumbers[String(of)]} must be a whole number from ${min} to 1,000,000,000` },
  'engine.plan_name': { text: 'A plan name is 1 to 60 letters, digits or spaces' },
  'engine.records_gone': { text: ({ of }) => `The ${of} of this delivery ${of === 'records' ? 'were' : 'was'} deleted.`, exit: exitCodes.notFound },
  'engine.requester_gone': { text: 'The member who requested it no longer exists' },
  'engine.time': { text: 'Engine time must be from the year 2000 to 2199' },
  'engine.workspace_exists': { text: 'There is already a workspace "{name}"; choose another name' },
  'engine.workspace_name': { text: 'A workspace name is 1 to 100 characters' },

  'explain.column': { text: '--column {column}: {operation} has no such result.', hint: 'It has {known}.' },
  'explain.flow_row': { text: 'Row {row} came to no step of the flow {flow}.', hint: 'Rows are those of its input, counted from 1; it may have fewer, or conditions before its first step.' },
  'explain.no_row': { text: '--row is missing or 0.', hint: 'Rows are counted from 1 after the header.' },
  'explain.no_run': { text: ({ file, run }) => `${file}: no run ${run === undefined ? '' : `${run} `}on record read or wrote this file.`, hint: 'prospect runs list shows the runs of this machine.' },
  'explain.other_rows': { text: ({ file, input }) => `${file} does not have the rows of ${input} one for one.`, hint: 'Name the row there: prospect explain {input} --row N --run {run}' },
  'explain.row': { text: ({ row, rows }) => `--row ${row}: the run has ${count(rows)} ${rows === 1 ? 'row' : 'rows'}.` },
  'explain.runs': { text: '{file}: several runs read this file.', hint: 'Name one with --run: {known}.' },
  'explain.sample': { text: ({ file, run, rows }) => `${file}: run ${run} looked up ${count(rows)} ${rows === 1 ? 'row' : 'rows'} that are spread over this file.`, hint: ({ output }) => (output ? `Name the row of what it wrote: prospect explain ${output} --row N` : 'Write them to a file with -o, and name the row of that.') },
  'flow.aliases': { text: 'Its aliases stand for more than a flow can be.', hint: 'Write out what they repeat.' },
  'flow.command_ended': { text: ({ command, cause, exit }) => (cause === undefined ? `${command} has ended (exit code ${exit ?? 'by a signal'}).` : `${command} cannot be started: ${reasonOf(cause)}.`), hint: ({ cause, command }) => (cause === undefined ? 'It should answer each line that it reads, until its input ends.' : String(command).includes(' ') ? 'Write its arguments apart: [node, score.js]' : '') },
  'flow.command_ending': { text: '{command} has not ended with its input; it is waited for, up to {timeout}, since a further line would show that its answers belong to other rows.', hint: 'Have it answer with the _row that it gets, and end with its input.' },
  'flow.command_late': { text: ({ command, row, given, answered, timeout }) => `${command} ${answered === 0 || given === 1 ? `has not answered row ${row}` : `has answered ${answered} of ${given} rows from row ${row} on, and nothing more`} for ${timeout}.`, hint: 'It should answer each line at once, and keep nothing back: in Python, print(…, flush=True). For a slow program, set timeout: in its step.' },
  'flow.command_line': { text: ({ command, problem, text, fields }) => `${command} ${commandProblems[String(problem)]?.({ fields }) ?? ''}: ${text}`, hint: commandHint },
  'flow.http_refused': { text: ({ url, reason }) => `${url} did not take a request of the flow: ${withoutStop(String(reason))}.`, exit: exitCodes.unreachable },
  'flow.no_variable': { text: 'The variable {variable} with the header {header} is not set.', hint: 'Set it in the environment of the command.' },
  'flow.just_ended': { text: '{flow} was run by another command while this one began, and that one has what is new.', hint: 'Nothing was written. Run it again for what is new since.', exit: exitCodes.locked, code: 'locked' },
  'flow.missing': { text: '{field} is missing.' },
  'flow.no_anchor': { text: 'There is no &{alias} before *{alias}.', hint: 'A text that begins with * needs quotes.' },
  'flow.no_fields': { text: '{operation} takes fields below it.', hint: 'For example: {operation}: { live: false }' },
  'flow.no_file': { text: 'There is no file {path}.', hint: 'Paths are relative to the folder of the flow.' },
  'flow.no_flow': { text: 'This is no flow.', hint: 'A flow has name, input, steps and output. See docs/flows.md.' },
  'flow.no_input': { text: 'The search of the input was refused: {error}.', exit: ({ status }) => (status === 'invalid' ? exitCodes.usage : exitCodes.unreachable) },
  'flow.no_kind': { text: 'This {what} says nothing.', hint: 'It can be: {kinds}' },
  'flow.no_limit': { text: 'limit is missing.', hint: ({ isPriced }) => `Give the most records, such as limit: 3. Each ${isPriced === true ? 'costs credits' : 'counts against a quota'}.` },
  'flow.since_companies': { text: 'since takes people whom no run has looked up, but the first step, {operation}, looks up their companies: a new person at a known company would be left out.', hint: 'Begin with a step that looks up people.' },
  'flow.no_since': { text: 'since needs a step that looks rows up.', hint: 'It leaves out the rows that this step has had.' },
  'flow.no_steps': { text: 'steps needs a list of steps.', hint: 'For example: steps: [accounts.enrich]' },
  'flow.no_table': { text: '{path} writes no CSV file or workbook that can be read.' },
  'flow.only_if_people': { text: 'leads.search makes rows about people of companies, so that no row can pass by it.', hint: 'Put keep: before it, with the same condition.' },
  'flow.other_rows': { text: ({ operation }) => (String(operation).startsWith('leads.search') ? 'leads.search finds the people of companies, and the rows here are people.' : `${operation} is for people, and the rows here are companies.`), hint: ({ operation }) => (String(operation).startsWith('leads.search') ? '' : 'Find people first, with leads.search.') },
  'flow.same_output': { text: 'Another output writes {path}, too.', hint: 'Name another file.' },
  'flow.too_long': { text: 'The file is longer than {max,} bytes.' },
  'flow.two_columns': { text: 'layout chooses the columns itself.', hint: 'Leave out columns, or layout.' },
  'flow.two_kinds': { text: 'This {what} has {key} and {other}, and only one is possible.' },
  'flow.unfilled': { text: 'Nothing in the rows says what {operation} should look up.', hint: 'It needs one of {needed}. Name a field of the rows with: with: { {example}: input.Column }' },
  'flow.unknown': { text: 'There is no {what} {name}.', hint: (details) => (details.near === undefined ? fill('There are: {known}.', details) : fill('Did you mean {near}?', details)) },
  'flow.value': { text: '{reason}.' },
  'flow.workbook_name': { text: '{path} is the name of {named}, and {kind} writes {written}.', hint: 'Name {example}, or write it with another kind of output.' },
  'flow.yaml': { text: '{reason}' },
  'import.array_broken': { text: 'The JSON array is broken or has no closing bracket; complete the file' },
  'import.array_too_long': { text: 'The JSON array is longer than 64 MiB; write one record per line instead' },
  'import.check_interrupted': { text: 'The check was interrupted.', hint: 'Nothing was imported.', exit: exitOfSignal, code: null },
  'import.empty': { text: 'The file is empty. Its first line must name the columns' },
  'import.domain_of_email': { text: ({ columns }) => fill(`Where a company has no website, its domain is that of its address in ${(columns as string[]).length === 1 ? '{columns"}' : 'the first of {columns"} that has one'}.`, { columns }) },
  'import.interrupted': { text: 'The import was interrupted.', hint: 'What was imported is kept. Run the same command again to import the rest.', exit: exitOfSignal, code: null },
  'import.more_columns': { text: ({ keepsAll, ...details }) => fill(keepsAll ? `The numbers in {columns"} are kept as further phones of a person.` : `Where "{column}" is blank, ${(details.columns as string[]).length === 1 ? '{columns"}' : 'the first of {columns"} that is filled'} is read as {field}${details.field === 'email' ? '; a second address is not kept' : ''}. To change that: --map {field}="{column}"`, details) },
  'import.no_column': { text: "There is no column '{column}'; choose one of {known}" },
  'import.no_field': { text: "There is no field '{field}' of {kind}; choose one of {known}" },
  'import.no_source': { text: ({ name, near, ...details }) => fill(near === undefined ? `There is no open data called '${name}'; choose one of {known}` : `There is no open data called '${name}': did you mean ${near}?`, details), hint: 'prospect data sources lists what there is.' },
  'import.header_of_other': { text: 'The header is that of {other}, not of {name}', hint: ({ other }) => `Leave out --source, or give --source ${other}. If the file is of neither: --source own.` },
  'import.other_source': { text: 'The header is not that of {title}: it has no {field}. Expected are {columns"}', hint: ({ field }) => `Name the column: --map ${field}=COLUMN` },
  'import.record_too_long': { text: 'The record that begins here is longer than 16 MiB; split it' },
  'import.rows_rejected': { text: ({ rows, more, rejects, isDryRun }) => `${count(rows)} ${rows === 1 ? 'line' : 'lines'} ${isDryRun ? 'would be' : rows === 1 ? 'was' : 'were'} rejected.${Number(more) > 0 ? ` ${count(more)} more are not shown; ${rejects === undefined ? '--rejects FILE writes all' : `all are in ${rejects}`}.` : ''}`, hint: ({ rows, rejects }) => (rejects === undefined ? `Fix ${rows === 1 ? 'it' : 'them'} and import the file again. Records that exist already are updated.` : `Fix the ${rows === 1 ? 'row' : 'rows'} in ${rejects}, and import that file.`), exit: exitCodes.someFailed, code: 'rows_rejected' },
  'import.unidentified': { text: ({ isNamed, ...details }) => fill(`No column identifies the {kind}: one must be {oneOf}. ${isNamed ? '' : 'If its first row is data, add --no-header. '}Choose it with --map {field}=COLUMN, from {header}`, details) },
  'interrupted.push': interruptedWhile('writing to the CRM; what was written is stored, and the same command goes on'),
  'interrupted.pull': interruptedWhile('reading the CRM; the same command goes on there'),
  'interrupted.converting': interruptedWhile('a workbook was converted'),
  'interrupted.reading': interruptedWhile('{path} had no writer, or an idle one'),
  'interrupted.restoring': { ...interruptedWhile('a backup was restored'), hint: 'Nothing was replaced.' },
  'interrupted.writing': interruptedWhile('{path} had no reader, or an idle one'),
  'expression.nested': { text: '{option}: {name} within another one is not available (character {at}).' },
  'expression.no_condition': { text: '{option}: this is a value, and no condition (character {at}).', hint: () => conditionExample },
  'expression.no_field': { text: '{option}: there is no field {field} (character {at}).', hint: ({ field, meant, names }) => (meant === undefined ? `A text needs quotes: "${field}". The fields are: ${(names as string[]).slice(0, 40).join(', ')}.` : `Did you mean ${meant}?`) },
  'expression.no_function': { text: '{option}: {name} is no function that takes these values (character {at}).' },
  'expression.no_list': { text: ({ option, name, is, at }) => `${option}: ${name} is ${valueNames[String(is)]}, and no list (character ${at}).`, hint: ({ name, is }) => (is === 'text' ? `Write ${name}.contains("…").` : '') },
  'expression.no_text': { text: ({ option, name, is, at }) => `${option}: ${name} is ${valueNames[String(is)]}, and no text (character ${at}).`, hint: ({ name, is }) => (is === 'list' ? `Write "…" in ${name}.` : '') },
  'expression.no_value': { text: '{option}: {name} is never {other} (character {at}).', hint: ({ near, values }) => `${near === undefined ? '' : `Did you mean "${near}"? `}It can be: ${(values as string[]).join(', ')}.` },
  'expression.other_type': { text: ({ option, name, is, of, other, at }) => `${option}: ${name} is ${valueNames[String(is)]}, and ${other} is ${valueNames[String(of)]} (character ${at}).`, hint: otherTypeHint },
  'expression.optional': { text: '{option}: optional fields are not available (character {at}).', hint: 'A missing field is null: write a.b == null.' },
  'expression.pattern': { text: '{option}: matches is not available, as a pattern may take forever (character {at}).', hint: 'Use contains, startsWith or endsWith.' },
  'expression.syntax': { text: ({ option, summary, at }) => `${option}: ${describeSyntax(String(summary))} (character ${at}).`, hint: ({ text }) => conditionHint(String(text)) },
  'expression.too_long': { text: '{option} is longer than {max,} bytes.', hint: 'Write a shorter condition.' },
  'expression.type': { text: '{option}: {summary} (character {at}).' },
  'list.no_column': { text: '--take names the column "{column}", which no --with file has.', hint: (details) => fill(details.near === undefined ? 'They have: {known"}.' : 'Did you mean "{near}"?', details) },
  'list.of_companies': { text: ({ option, source }) => `${fileNameOf(option)} ${source} is a list of companies, and the rows are people.`, hint: ({ option }) => `Give a list of people${option === '--with' ? ', or compare the companies they work at with --kind companies' : ''}.` },
  'list.of_numbers': { text: '--skip-known knows companies and people, and these rows are phone numbers.', hint: 'Leave out --skip-known.' },
  'list.unidentified': { text: (details) => fill(`{name}: no column is recognised as ${details.kind === 'people' ? 'an email address' : 'a domain'}, a profile URL or a name. The file has: {header"}. Choose one, for example: ${mapOption(details, details.kind === 'people' ? 'email' : 'domain', firstName(details))}`, details) },
  'listen.failed': { text: 'Cannot listen on {host}, port {port}: {cause}.' },
  'listen.no_address': { text: '{host} is no address of this machine: choose another with --host.' },
  'listen.not_public': { text: ({ host }) => `${host || 'An empty host'} can be reached from other machines: add --public to permit that.` },
  'listen.port_denied': { text: ({ port, receives }) => `Port ${port} needs more rights: choose one above 1023 with ${receives ? '--receive-port' : '--port'}.`, hint: receiverHint },
  'listen.port_used': { text: ({ port, receives }) => `Port ${port} is in use: choose another with ${receives ? '--receive-port' : '--port, or 0 for a free one'}.`, hint: receiverHint },
  'listen.unknown_host': { text: '{host} is not a known name: choose another with --host.' },
  'map.filled_twice': { text: '--{flag} and the column "{column}" both fill {field}. Leave out --{flag}, or leave the column out with --map {field}=' },
  'map.found_already': { text: '"{column}" has values that may be {field} already, and its rows are looked up, too. To look up only the rows without one: --only-missing {field}="{column}"' },
  'map.first_row': { text: '"{name}" is read as the name of a column. If it is data, add --no-header.' },
  'map.no_column': { text: (details) => fill(`--only-missing {field}: the file has no column "{wanted}". ${details.near === undefined ? 'It has: {header"}.' : 'Did you mean "{near}"?'} Choose one, for example: --only-missing {field}="{example}"`, { ...details, example: details.near ?? firstName(details) }) },
  'map.left': { text: 'No column fills {name}, as --map {name}= says.' },
  'map.not_pair': { text: '--map takes field=Column, such as --map domain=Website, not "{pair}".' },
  'map.others': { text: '{columns"} could be {name} too; "{column}" is used. To change that: --map {name}="{other}"' },
  'map.profiles': { text: (details) => fill(`The mapping fills {field} from the column "{column}", which has the profile URLs of ${details.kind === 'person profile' ? 'people' : 'companies'}, such as {sample}. Choose another column.`, details) },
  'map.same_names': { text: (details) => fill(`Several columns have the name "{name}"; here they are {columns"}. Choose the one for {field}, for example: ${mapOption(details, '{field}', '{name}')}`, details) },
  'map.uncalculated': { text: ({ column, field, cells, first }) => `The column "${column}", for ${field}, has ${Number(cells) === 1 ? 'a formula without a stored value' : `${count(cells)} formulas without stored values`}, from cell ${first} on, so its rows would be blank.`, hint: ({ field, ...details }) => `Open the workbook in a spreadsheet program, save it, and run this again. To leave the column out: ${mapOption(details, String(field), '')}` },
  'map.split': { text: '"{column}" holds full names: each is split into first and last name where that is certain, and other rows are invalid.' },
  'map.unidentified': { text: ({ isNamed, column, isText, ...details }) => fill(isText === true ? `The file reads like text, not like a table. It needs a row for each ${details.isOfPeople === true ? 'person' : 'company'}, below a line with the names of the columns, among them at least one of {names}.` : `No column is recognised as {names}. The file has: {header"}. ${isNamed ? '' : 'If its first row is data, add --no-header; if the header is further down, --skip-lines N. '}${column === undefined ? `None of them looks like one: add such a column, or name the one that is with ${details.isFlow === true ? 'map: { FIELD: COLUMN } beside the file in input' : '--map FIELD=COLUMN'}` : `${isNamed ? 'Choose one' : 'If it names the columns, choose one'}, for example: ${mapOption(details, '{field}', '{column}')}`}`, { ...details, column }), hint: ({ isOfPeople, isText }) => (isOfPeople && !isText ? 'Where the rows are companies, leads search finds their people first.' : '') },
  'map.unknown_name': { text: (details) => fill(`The mapping names the {kind} "{name}", which does not exist.${details.near === undefined ? '' : ' Did you mean "{near}"?'} The {kind}s are: {known"}.`, details) },
  'output.closed': { text: 'The reader of the output has left.', exit: exitCodes.stdoutClosed },
  'output.failed': { text: ({ path, cause, partial }) => `${path} cannot be written: ${reasonOf(cause)}.${partial === undefined ? '' : ` What was written so far is in ${partial}.`}`, exit: ({ cause }) => (misplaced.includes((cause as { code?: unknown } | null)?.code) ? exitCodes.usage : exitCodes.unreachable) },
  'output.field_ambiguous': { text: '--{option} names "{field}", which is ambiguous.', hint: ({ meant }) => `Did you mean ${(meant as string[]).join(' or ')}?` },
  'output.folder': { text: '{path} is a folder; name a file in it.' },
  'output.no_field': { text: ({ option, field, ...more }) => `--${option} names "${field}", which the ${option === 'columns' ? 'output' : 'result'} does not have.${isHinted(option) ? '' : ` ${meantFields(more)}`}`, hint: ({ option, ...more }) => (isHinted(option) ? meantFields(more) : '') },
  'output.no_email': { text: '--only valid is for email addresses, and this result has none.', hint: 'Use --only found.' },
  'output.no_layout': { text: '--layout writes companies or people, and this result has neither.', hint: 'Leave it out; where a search is started, add --wait.' },
  'output.stream_failed': { text: 'The output cannot be written: {cause}.', hint: 'Free some disk space, or choose another location, then run the command again.', exit: exitCodes.unreachable },
  'output.too_many_rows': { text: 'The input has {rows,} rows, and a workbook holds {max,}.', hint: 'Use -o FILE.csv.' },
  'pages.incomplete': { text: (details) => fill(`The server says that there are more pages, but ${missingPages[String(details.reason)]}: {rows,} rows came${typeof details.total === 'number' ? ' of {total,}' : ''}.`, details), hint: 'Try again later; a server that goes on like this has an error.', exit: exitCodes.unreachable, code: 'incomplete' },
  'provider.address': { text: ({ url, reason, cause }) => `${url} cannot be the address of a provider: ${reason === 'query' ? 'it must not have a query (?…).' : reason === 'plain' ? 'it begins with http://, so that others could read the key.' : cause}`, hint: ({ reason, cause }) => (reason === 'plain' || String(cause).includes('blocked') ? 'Is it on your own network? Allow that with --allow-target NETWORK.' : '') },
  'provider.file': { text: (details) => `${details.path}${details.row === undefined ? '' : `:${details.row}:${details.column}`}: ${fill(providerProblems[String(details.problem)] ?? '', details)}`, hint: hintForFile },
  'provider.client': { text: 'The key of {name} must be client_id:client_secret, which become a token.', exit: exitCodes.key, code: 'key' },
  'provider.day_budget': { text: 'A test of {name} may cost {most}, which is more than max_cost_per_day of its file leaves today.', hint: 'Permit more in its file, and add it again; or test it tomorrow (UTC).', exit: exitCodes.budget, code: 'budget' },
  'provider.lacks_kind': { text: '{name} cannot be asked for {kind}.', hint: 'Its file has: {kinds}.' },
  'provider.needs_more': { text: '{name} needs more for {kind}.', hint: ({ needs = [] }) => `Give ${(needs as string[][]).map((set) => set.map(optionOfNeed).join(' ')).join(', or ')}.` },
  'provider.no_answer': { text: '{name} gave no answer that can be read: {reason}.', hint: ({ sent }) => (sent ? 'It may have charged for the request. In a lookup it would not be asked again, and the outcome would be unknown.' : 'The request was not sent, so nothing was charged.'), exit: exitCodes.unreachable, code: 'unreachable' },
  'provider.no_kind': { text: 'There is no kind "{kind}".', hint: (details) => nearOrAll(details, 'Kinds') },
  'provider.only_search': { text: 'The file of {name} has a search only, which a test does not make.', hint: 'See what a flow would ask: prospect providers show {name}' },
  'provider.only_webhook': { text: '{name} sends its answer for {kind} by webhook, which a test does not wait for.', hint: 'Look somebody up while this runs: prospect listen --public-url URL' },
  'provider.webhook_secret': { text: '{name} signs its webhooks as Standard Webhooks, whose secret begins with whsec_.', hint: 'Give it with --webhook-secret-file FILE.', exit: exitCodes.key, code: 'key' },
  'provider.no_search': { text: 'The file of {name} has no search.', hint: 'Add search to it, which brings people or companies page by page.' },
  'provider.none': { text: 'There is no provider {name}.', hint: nearProvider, exit: exitCodes.notFound },
  'proxy.not_address': { text: '{name} is not the address of a proxy, such as http://proxy.example:3128.' },
  'run.budget_reached': { text: ({ budget, max, needed, until }) => `Budget reached: ${count(max)} ${budget === 'profiles' ? 'profile' : 'credit'}${max === 1 ? '' : 's'} ${budgets[String(budget)]?.[0]}${Number(max) > 0 && Number(needed) > Number(max) ? `, and one row can cost ${count(needed)}` : ''}${aheadText(until)}`, hint: ({ budget, until }) => (until === undefined ? (budgets[String(budget)]?.[1] ?? '') : aheadHint(until)), exit: exitCodes.budget, code: 'budget' },
  'run.file_changed': { text: ({ read, run, databaseOption }) => `${read} is not what run ${run} read: it has changed${databaseOption ? ', or this machine has another file there' : ''}.`, hint: 'Put the file back, name the same one with --csv FILE, or start a new run with it.' },
  'run.file_gone': { text: ({ cause, run }) => `${describe(cause as Refusal)} Run ${run} read it there, possibly on another machine.`, hint: 'Give its current location with --csv FILE, or its content on stdin with --csv -.' },
  'run.in_the_way': { text: (details) => fill(`{file} has changed since run {run} read it${elsewhere(details)}, which has {done,} of {total,} rows and is not finished.`, details), hint: (details) => fill(`${details.databaseOption ? 'To resume it with the file that it read: prospect runs resume {run}{databaseOption} --csv FILE' : 'Put the file back to resume it'}; to start a new run instead, add --fresh, or forget it: prospect runs forget {run}{databaseOption}`, details) },
  'run.known_changed': { text: 'A list of --skip-known is not what run {run} read: it has changed.', hint: 'Put it back, or give the whole command again: answers that were paid for are reused.' },
  'run.known_changed_since': { text: 'A list of --skip-known has changed, so that no row is left out as known.' },
  'run.lock_name': { text: '--lock takes a name of letters, digits, dots, - and _.', hint: 'For example: --lock nightly' },
  'run.locked': { text: ({ of, name, holder }) => `${locked[String(of)]?.(name)} is in use by another command${holder === undefined ? '' : ` (${holder})`}.`, hint: ({ freedAfterMs: ms }) => `Wait until it ends, or stop it.${ms === undefined ? '' : ` One that was killed frees it after ${Number(ms) / 1_000} seconds.`}`, exit: exitCodes.locked, code: 'locked' },
  'run.no_baseline': { text: '--since: {run} is no finished run of this operation with the same options.', hint: 'Give the id of one (prospect runs list), or how long ago it was, such as 7d.' },
  'run.other_content': { text: ({ file = 'The input from stdin', read, run }) => `${file} has other content than ${read}, as run ${run} read it.`, hint: 'Give the same file with --csv, or start a new run with this one.' },
  'run.other_target': { text: 'Run {run} is for another target: {target}.', hint: 'Choose that target with --profile, --base-url or --local.' },
  'run.request_too_large': { text: ({ file, limit, is, isCut, max, rows }) => `${file} makes a list of ${isCut ? `more than ${formatAmount(limit, max)}` : formatAmount(limit, is)}; a request holds ${formatAmount(limit, max)}, which is ${count(rows)} rows of this file. Nothing was sent.`, hint: ({ last }) => (last === undefined ? 'Split the file.' : `Split the file after line ${last}.`) },
  'run.in_progress': { text: ({ minutes }) => `The target has said for ${minutes} minutes that a request with the same idempotency key is still running. Its rows have an unknown outcome and may be charged: --retry-unknown sends them again.` },
  'run.results_lost': { text: 'The target accepted a bulk request, but answers 404 when asked for its results. Its rows have an unknown outcome and may be charged: --retry-unknown sends them again.' },
  'run.rows_together': { text: 'Run {run} has sent rows up to {last} together, and waits for their answers.', hint: 'Leave --rows out, or raise it to {last}.' },
  'run.sample_open': { text: 'A sample of this file, run {run}, still waits for answers to some rows.', hint: 'Finish it first: prospect runs resume {run}{databaseOption}' },
  'run.taken_over': { text: 'Another command has taken over this run: nothing was heard from this one for a while.', hint: 'See how far it is: prospect runs list, with --database or --shared as here. What was paid for is not lost.', exit: exitCodes.locked },
  'run.too_many_items': { text: '{path} has more than {max,} companies, the maximum for a list.', hint: 'Split the file.' },
  'run.withdrawn': { text: 'This command no longer has this run: another command has taken it over, or its rows were withdrawn.', hint: 'Check its progress: prospect runs list. Nothing that was paid for is lost.', exit: exitCodes.locked },
  'tools.invalid': { text: ({ field, reason }) => `${field || 'The arguments'}: ${reason}.`, hint: 'See the input schema of the tool.' },
  'tools.no_argument': { text: '{name} is missing or not valid.', hint: 'See the input schema of the tool.' },
  'tools.no_budget': { text: ({ wanted, isMost, left, most, held }) => `Budget reached: ${wanted === undefined ? 'this costs credits' : isMost ? `max_credits is ${count(wanted)}` : `this can cost ${count(wanted)} ${wanted === 1 ? 'credit' : 'credits'}`}, and this server ${left !== 0 ? `may spend ${count(left)} more` : most === 0 ? 'may spend none' : `has none of its ${count(most)} left`}${held === 0 ? '' : `: ${count(held)} ${held === 1 ? 'is' : 'are'} held for what is under way`}.`, hint: ({ held }) => (held === 0 ? 'A person can allow it: prospect mcp --max-credits N, in the configuration of this server.' : 'Wait until that has ended: what it has not spent is left then.'), exit: exitCodes.budget, code: 'budget' },
  'tools.unknown': { text: 'There is no field {name} here.', hint: (details) => nearOrAll({ ...details, meant: details.near }, 'There are') },
  'tools.value': { text: 'values.{field} {wrong}.' },
  'tools.rows_of_run': { text: '{id} is a search, and rows are those of runs.', hint: 'Without row and column, run_status answers the records of the search.' },
  'tools.run_elsewhere': { text: 'Run {run} was not started by this server.', hint: 'Stop it where it runs.' },
  'usage.address': { text: '{option} takes an http or https address.', hint: 'Write it like http://localhost:3000/hooks' },
  'usage.address_fragment': { text: '{option} must not have a fragment (#…).' },
  'usage.address_password': { text: '{option} must not hold a user or password: other users of this machine could see it.' },
  'usage.all_or_page': { text: '{option} and a page cannot be used together: {option} has every page.' },
  'usage.api_key_twice': { text: '--api-key-stdin and --api-key-file cannot be used together.' },
  'usage.backup_exists': { text: '{copy} exists already.', hint: 'Choose another name for the backup.' },
  'usage.below_minimum': { text: '{short}.', hint: 'Buy credits, wait for the reset, or lower the minimum.', exit: exitCodes.checkFailed, code: 'below_minimum' },
  'usage.bytes_left': { text: 'The records are deleted, but their bytes may still be in {files}: another process uses it', hint: 'Stop the server or batch that uses it, then run the same command again.', exit: exitCodes.checkFailed, code: 'busy' },
  'usage.columns_empty': { text: '--columns has an empty name.', hint: 'Write: --columns name,domain' },
  'usage.columns_twice': { text: '--columns and {other} both choose the columns.', hint: 'Use one or the other.' },
  'usage.companies_only': { text: ({ option, kind }) => `${toFlag(String(option))} is for companies, not for ${kind}.`, hint: 'Leave it out.' },
  'usage.config_broken': { text: '{config} is not a JSON object.', hint: 'Correct it, or delete it to start again.' },
  'usage.country': { text: '--{flag}: unknown country "{text}".', hint: 'Use a name or a code, such as Germany or DE.' },
  'usage.csv_or_many': { text: '--csv and --{into} cannot be used together.', hint: 'Put all {into} into the file.' },
  'usage.damaged_keys': { text: '{file} is damaged.', hint: 'Delete it and store the key again.', exit: exitCodes.key, code: 'key' },
  'usage.dashboard_busy': { text: 'The dashboard is already running {most} commands, its maximum.', hint: 'Wait until one has ended, or use a terminal: prospect {command}' },
  'usage.database_address': { text: '--database {problem}.', hint: 'Write it like postgres://role@host/database; the catalogue of this machine needs no option.' },
  'usage.database_of_csv': { text: '--database needs --csv.' },
  'usage.database_password': { text: '{option} must not hold a password: other users of this machine could see it.', hint: ({ option }) => (option === '--to' ? 'Put it in the file that PGPASSFILE names.' : 'Set PROSPECT_DATABASE_URL instead, or put the password in the file that PGPASSFILE names.') },
  'usage.database_place': { text: '{source} {problem}.', hint: 'Write it like postgres://role@host/database, or give the path of a file.' },
  'usage.dir_or_other': { text: '--dir and --{other} cannot be used together.', hint: 'Use one of them.' },
  'usage.direct_dashboard': { text: 'With --direct, credits and keys are those of the server.', hint: 'Leave out --dashboard.' },
  'usage.direct_local': { text: '--direct needs a remote server, but the target is the local engine.' },
  'usage.direct_upstream': { text: '--direct needs a server behind this one.', hint: 'Add --upstream URL.' },
  'usage.document_format': { text: 'The document is JSON.', hint: 'Leave out --format {format}.' },
  'usage.empty_catalogue': { text: 'There is no data {place} to answer from: the catalogue is empty.', hint: 'Load invented companies and people: prospect data sample. Or your own: prospect data import companies FILE' },
  'usage.engine_filter': { text: '--{flag} works only with the engine of this machine, not at a server.', hint: 'Leave it out. To get some people at each company of a file: prospect leads search --csv FILE --limit N' },
  'usage.events_refused': { text: '{failed} of {sent} events were refused.', hint: 'The output shows each answer.', exit: exitCodes.someFailed, code: 'refused' },
  'usage.events_unsent': { text: '{origin} does not accept events: {answer}. Sending stopped at {id}.', hint: 'Start the receiver, then send the remaining events again.', exit: exitCodes.unreachable, code: 'unreachable' },
  'usage.extension': { text: '-o {file}: the extension {extension} is not a known format.', hint: 'Use {known}, or add --format.' },
  'usage.fault_line': { text: '{place}: {reason}', hint: 'See: prospect engine faults add --help' },
  'usage.faults_upstream': { text: '--faults is for a server of the local engine.', hint: 'Start that with --faults, and this one with --upstream.' },
  'usage.field_json': { text: '-f {name} looks like JSON but is not valid.', hint: 'Check its quotes and brackets.' },
  'usage.field_pair': { text: '-f takes key=value, not "{pair}".' },
  'usage.fields_empty': { text: '--fields has an empty name.', hint: 'Write: --fields name,domain' },
  'usage.file_as_word': { text: '"{file}" is a file, and this takes one {field}.', hint: 'For each row of the file: --csv {file}' },
  'usage.file_forgotten': { text: '{option} needs a file, and is followed by {path}.', hint: 'A file of that name is ./{path}' },
  'usage.file_unreadable': { text: '{file} cannot be read: {reason}.' },
  'usage.flow_file': { text: 'There is no file {file}.', hint: 'Give the file of a flow, such as leads.yaml.' },
  'usage.flow_mistakes': { text: '{file} has {mistakes}. Nothing was sent.' },
  'usage.flow_output': { text: '-o is for --until and --rows: the flow names its outputs.' },
  'usage.flow_outward': { text: '{flow} starts programs, or sends rows to addresses or a CRM, which is not permitted here.', hint: 'A person can run it without --no-outward (prospect flow run FILE), or allow it: prospect mcp --allow-commands' },
  'usage.folder_read_only': { text: '{option} {file}: the folder {folder} cannot be written.', hint: 'Name a file elsewhere.' },
  'usage.format_of_rows': { text: 'The format {format} is not for the rows of a file.', hint: 'Use --format csv, tsv, ndjson or json.' },
  'usage.get_body': { text: 'A GET request has no body.', hint: 'Give its query with -f key=value.' },
  'usage.id_ambiguous': { text: '{given} is the beginning of more than one {noun}: {known}{more}.', hint: 'Give more of the id.' },
  'usage.import_folder': { text: '{file} is a folder.', hint: 'Give a CSV or NDJSON file, or - for stdin.' },
  'usage.import_unreadable': { text: '{file} cannot be read: {reason}.', hint: 'Check the path.' },
  'usage.input_json': { text: '--input: {path} is not valid JSON ({reason}).' },
  'usage.input_object': { text: '--input must hold one JSON object: the fields of the request.' },
  'usage.install_place': { text: '--install does not know where {shell} looks for completions.', hint: 'Write it there yourself: prospect completion {shell}' },
  'usage.job_failed': { text: 'The job failed: {reason}', hint: '{kept}{hint}', exit: exitCodes.unreachable, code: 'job_failed' },
  'usage.job_going': { text: 'The job has not finished: {counted} so far', hint: '{hint}', exit: exitCodes.stillRunning, code: 'still_running' },
  'usage.job_stopped': { text: 'The job has not finished: {counted} so far', hint: '{hint}', exit: ({ exit }) => Number(exit), code: 'stopped' },
  'usage.job_truncated': { text: ({ counted, quota }) => `Only ${counted} were imported: ${truncationReasons[String(quota)]}`, hint: ({ quota }) => (quota === 'credits' ? 'Buy credits, then import the rest; see: prospect credits' : 'Quotas reset at 00:00 UTC; see: prospect credits'), exit: ({ quota }) => (quota === 'credits' ? exitCodes.credits : exitCodes.planLimit), code: 'truncated' },
  'usage.jq': { text: '--jq: {problem}.', hint: 'The language is described at https://jqlang.org/manual.' },
  'usage.jq_of_rows': { text: '--jq cannot be used with {command}, which prints rows.', hint: 'Use --format ndjson, and pipe the rows to jq.' },
  'usage.jq_or_other': { text: '--jq and {other} cannot be used together.', hint: 'Use one or the other.' },
  'usage.json_or_format': { text: '--json and --format {format} cannot be used together.', hint: 'Use one or the other.' },
  'usage.keep_input': { text: '--keep-input is for --layout; without it, your columns are always written.' },
  'usage.key_argument': { text: 'API keys are not accepted as arguments: other users of this machine could see them, and the shell history keeps them.', hint: 'Use PROSPECT_API_KEY, --api-key-file FILE or --api-key-stdin.' },
  'usage.key_file_or_stdin': { text: '--key-file and --key-stdin cannot be used together.' },
  'usage.key_of_one_server': { text: 'The API key that is stored for {origin} is not for {other}, too.', hint: ({ profile, addresses }) => `If both serve the same database: prospect login${profile === 'default' ? '' : ` --profile ${profile}`} --base-url ${addresses}`, exit: exitCodes.key, code: 'key' },
  'usage.key_of_rows': { text: '--idempotency-key cannot be used with --csv: each paid row has a key of its own.' },
  'usage.kind_and_person': { text: 'A kind of record and a person are given.', hint: 'Leave out {kind}, or --person.' },
  'usage.last_or_id': { text: '--last and an id cannot be used together.', hint: 'Use one or the other.' },
  'usage.layout_format': { text: '--layout writes a file for an import, and the format {chosen} is for something else.', hint: 'Use csv, tsv or -o FILE.xlsx.' },
  'usage.layout_or_fields': { text: '--layout and --fields both choose the columns.', hint: 'Use one or the other.' },
  'usage.ledger_differs': { text: ({ ledger, target_says: said }) => `This machine recorded ${count(ledger)} ${ledger === 1 ? 'credit' : 'credits'}, but the target reports only ${count(said)}.`, hint: 'Compare the days with prospect ledger --by day. Check that the key belongs to the same workspace as before.', exit: exitCodes.checkFailed, code: 'ledger_differs' },
  'usage.list_name': { text: ({ option, name, known = [] }) => `${option}: ${(known as string[]).length} lists are called "${name}".`, hint: 'Give the id of one: {known}.' },
  'usage.listen_format': { text: 'listen prints one line per event, as text or as JSON.', hint: 'For a file of them: prospect events list -o events.csv' },
  'usage.log_unwritable': { text: '--log: {path} cannot be written: {reason}.', hint: 'Name another file.' },
  'usage.login_local': { text: 'The target is the local engine, whose key is stored automatically.', hint: 'Name the server: --base-url https://api.example.com/api/v2, or --profile NAME' },
  'usage.max_age_direct': { text: '--max-age cannot be used with --direct, which stores no answers.' },
  'usage.mcp_outside': { text: '{name} names a file outside the folder of this server: {path}.', hint: 'Name one in {root}.' },
  'usage.mcp_stdin': { text: '--api-key-stdin cannot be used here: stdin is the protocol.', hint: 'Use --api-key-file FILE.' },
  'usage.mcp_token': { text: 'PROSPECT_MCP_TOKEN needs 16 characters or more.', hint: 'Leave it out, and a token is made.' },
  'usage.method': { text: '"{methodText}" is not a method.', hint: 'Use GET, POST, PUT or DELETE, then the path.' },
  'usage.misplaced': { text: '--{flag} {problem}.', hint: ({ byName }) => (byName === undefined ? '' : `For the name of a company: --${byName}`) },
  'usage.move_nowhere': { text: 'The engine is in {place} already.', hint: 'Name another database with --to.' },
  'usage.name_ambiguous': { text: '{option}: {name} is the beginning of more than one {noun}.', hint: 'Give more of the id.' },
  'usage.no_api_key': { text: 'No API key is given, and there is no terminal to ask for one.', hint: 'Give it with --api-key-stdin, --api-key-file FILE or PROSPECT_API_KEY.', exit: exitCodes.key, code: 'key' },
  'usage.no_base_url': { text: 'The profile is for a remote server and has no base_url.', hint: 'Set it: prospect config set base_url https://api.example.com/api/v2' },
  'usage.no_change': { text: 'There is nothing to change.', hint: 'Add --weekly-limit or --consent-personal-email.' },
  'usage.no_command': { text: '{path} has no command "{word}".', hint: '{guess} See: {path} --help' },
  'usage.no_event': { text: 'There is no event {id}.', hint: 'It may have been purged.' },
  'usage.no_file_name': { text: '{option} needs the name of a file.' },
  'usage.no_folder': { text: '{option} {file}: there is no folder {folder}.', hint: 'Create it, or name another file.' },
  'usage.no_id': { text: '<id> is missing.', hint: 'Give the id of the {noun}, or --last. See: prospect {list}' },
  'usage.no_kind': { text: 'No kind of record is given.', hint: 'Give companies, people, jobs or posts, or a person with --person.' },
  'usage.no_limit': { text: '--limit is missing.', hint: 'Give the most people of each company, such as --limit 3. Each one counts against your daily profiles.' },
  'usage.no_name': { text: ({ option, noun, name, parts, near, some }) => `${option}: no ${noun} is called "${name}".${namesText('It is part of several, among them', parts)}${namesText('Nearest', near)}${namesText('There are, among others', some)}`, hint: ({ meant, command }) => `${meant ? `Did you mean "${meant}"? ` : ''}See: prospect ${command}` },
  'usage.no_option': { text: '--{flag} is missing.', hint: ({ known, isMapped }) => (known ? `Add it; the values are: ${(known as string[]).join(', ')}.` : `Add it${isMapped ? ', or map a column to it with --map' : ''}.`) },
  'usage.no_person': { text: '"{who}" names no person.', hint: 'Give an email address, a profile or its id, or "Jane Doe at acme.example".' },
  'usage.no_profile': { text: 'There is no profile named {wanted}.', hint: 'Known profiles: {known}. To add this one: prospect profiles add {wanted} --base-url URL' },
  'usage.no_provider': { text: '--max-cost: there is no provider {name}.', hint: nearProvider },
  'usage.no_provider_key': { text: 'No key is given, and there is no terminal to ask for one.', hint: 'Give it with --key-file FILE or --key-stdin.', exit: exitCodes.key, code: 'key' },
  'usage.no_quota': { text: 'No quota was given.', hint: 'Add --daily-profiles, --daily-companies or --monthly-companies.' },
  'usage.no_records': { text: 'There are no {kind} {place} to answer from.', hint: 'Load your own: prospect data import {kind} FILE. Or invented ones: prospect data sample' },
  'usage.no_root': { text: '--root {given}: there is no such folder.', hint: 'Name a folder that exists.' },
  'usage.no_run': { text: 'There is no run {id}.', hint: 'It may have been forgotten.' },
  'usage.no_secret': { text: '{source} does not hold a signing secret.', hint: 'It must contain only the secret, which starts with whsec_.' },
  'usage.no_server_key': { text: ({ origin, isInEnv }) => `There is no API key for ${origin}.${isInEnv ? ' PROSPECT_API_KEY goes to the server in PROSPECT_BASE_URL only.' : ''}`, hint: ({ origin, profile }) => `Store one: prospect login${profile === 'default' ? '' : ` --profile ${profile}`} --base-url ${origin}/api/v2, or give one with --api-key-file FILE.`, exit: exitCodes.key, code: 'key' },
  'usage.no_flow': { text: '--from is missing.', hint: 'Choose a flow: {known}.' },
  'usage.no_flow_template': { text: '--from: there is no flow {from}.', hint: (details) => fill(details.near === undefined ? 'There are: {known}.' : 'Did you mean {near}? There are: {known}.', details) },
  'usage.no_session': { text: 'No session was given.', hint: 'Add --network true|false or --premium true|false.' },
  'usage.no_setting': { text: 'There is no setting {name}.', hint: 'Settings: profile, {keyNames}.' },
  'usage.no_sheets': { text: '{file} is not a workbook, so it has no sheets.', hint: 'Leave out --sheet.' },
  'usage.no_skill': { text: 'There is no skill {name}.', hint: 'There are {known}.', exit: exitCodes.notFound, code: 'not_found' },
  'usage.no_step': { text: '--until: there is no step {until}.', hint: 'There are: {names}.' },
  'usage.no_subject': { text: ({ text, isProfile }) => (isProfile ? `--profile-url: "${text}" is not the URL of a person's profile.` : `"${text}" is neither an email address nor the URL of a person's profile.`), hint: 'Write it like jane.doe@example.com or https://www.network.example/in/jane-doe.' },
  'usage.no_suppressible': { text: '"{text}" is no email address, domain, profile URL, phone number, or name with a domain.', hint: 'Write it like jane@acme.example, acme.example, +33612345678 or "Jane Doe at acme.example".' },
  'usage.no_sync_key': { text: 'There is no API key for {other}, the address of the synchronous waterfall.', hint: 'Store one: prospect login --sync', exit: exitCodes.key, code: 'key' },
  'usage.no_sync_url': { text: 'The profile has no sync_base_url for this server.', hint: 'Set it: prospect config set sync_base_url https://api.example.com/v2' },
  'usage.no_template': { text: 'There is no file or template {source}.', hint: 'Templates: {known}.' },
  'usage.no_valid_rows': { text: '{file} has no valid rows.' },
  'usage.no_wait_of_rows': { text: '--no-wait cannot be used with --csv: each row is answered in the output.' },
  'usage.no_webhook': { text: '{command} delivers its result by webhook, so it needs --webhook-url.', hint: 'Give one, such as that of prospect listen; or add --wait or -o FILE, and this command waits for the result itself.' },
  'usage.no_workbook': { text: '{option} writes text, and {file} is the name of a workbook.', hint: ({ option }) => `Name a ${option === '--rejects' ? '.csv' : option === '--log' ? '.ndjson' : '.json'} file.` },
  'usage.no_workspace': { text: 'There is no workspace "{name}".', hint: 'The workspaces are: {known}.' },
  'usage.nobody': { text: 'The catalogue has nobody called {name} at {domain}.', hint: 'Give an email address or a profile: what is stored elsewhere is searched, too.' },
  'usage.not_set_up': { text: 'prospect is not set up in {place}.', hint: 'Run prospect init. If that was done before, HOME or PROSPECT_HOME is another one here.' },
  'usage.not_suppressed': { text: '"{text}" is not suppressed {place}.', hint: 'See: prospect suppress list' },
  'usage.nothing_to_back_up': { text: 'There is no {database} to back up yet.', hint: 'Create it with: prospect init' },
  'usage.number': { text: '--{flag} takes a number.' },
  'usage.not_taken': { text: '{flag} does not take "{names}".', hint: '{reason}' },
  'usage.object_value': { text: '--{flag} takes key=value or a JSON object.' },
  'usage.objects_value': { text: '--{flag} takes JSON objects, or key=value for an object of one key.' },
  'usage.old_workbook': { text: 'prospect does not write {extension} files.', hint: 'Use -o FILE.xlsx or -o FILE.csv.' },
  'usage.one_list_of_stdin': { text: 'Only one list can come from stdin.', hint: 'Give the other one as a file.' },
  'usage.only': { text: '--only does not take "{name}".', hint: (details) => nearOrAll(details, 'It takes') },
  'usage.other_api': { text: '{url} is not a server of this API: GET /credits gave no balance.', hint: 'The key was not stored. Check the address; other APIs cannot be connected.' },
  'usage.other_data': { text: '{source} names a file that holds other data: {engine}.', hint: 'Name another file.' },
  'usage.output_folder': { text: '{option} {file} is a folder.', hint: 'Name a file in it.' },
  'usage.other_starter': { text: ({ run, starter, member }) => (member === undefined ? `Run ${run} was started with another API key than this command has.` : `Run ${run} was started by ${starter}, and this command has the key of ${member}.`), hint: ({ starter, member }) => `Give ${member === undefined ? 'that key' : `a key of ${starter}`} with --api-key-file FILE, or resume it on a terminal, where you are asked. --fresh starts a new run.` },
  'usage.outside_root': { text: '{option} names a file outside {root}.', hint: 'Name a file in it.' },
  'usage.over_budget': { text: ({ most, budget, left, until }) => `Budget reached: ${most === null ? 'What this costs depends on what is found' : `This can cost ${count(most)} ${most === 1 ? 'credit' : 'credits'}`}, and ${budget} leaves ${count(left)}${aheadText(until)}`, hint: ({ setting, until }) => until !== undefined ? aheadHint(until) : `Raise --${String(setting).replaceAll('_', '-')} or the setting ${setting}.`, exit: exitCodes.budget, code: 'budget' },
  'usage.own_data_or_sample': { text: '--own-data and --sample cannot be used together.' },
  'usage.own_file': { text: '{option} names one of prospect\'s own data files: {path}.', hint: 'Name another file.' },
  'usage.paginate': { text: '--paginate works with GET only.', hint: 'Leave it out.' },
  'usage.path_not_url': { text: 'The path must not be a full URL.', hint: 'Write it as /credits.' },
  'usage.port_of_http': { text: '--port needs --http.' },
  'usage.profile_built_in': { text: 'The built-in profile {name} cannot be removed.', hint: 'See the others: prospect profiles list' },
  'usage.profile_exists': { text: 'The profile {name} exists already.', hint: 'Change it with: prospect config set --profile {name}' },
  'usage.profile_name': { text: '"{name}" cannot be the name of a profile.', hint: 'Use letters, digits, - and _.' },
  'usage.provider_key_elsewhere': { text: 'The key of {name} is not on this machine.', hint: 'Add it again with its key.', exit: exitCodes.key, code: 'key' },
  'usage.providers_of_server': { text: 'Providers belong to the engine of this machine; the commands here use a server.', hint: 'Add --local.' },
  'usage.public_url_query': { text: '--public-url must not have a query (?…).', hint: 'prospect adds the rest of the path.' },
  'usage.public_url_wait': { text: '--public-url needs --wait.' },
  'usage.receiver_path': { text: '--path takes 16 to 128 letters, digits, - and _: anyone who guesses it could send events.', hint: 'Leave it out: the path is then the same at every start.' },
  'usage.rows_or_sample': { text: '--rows and --sample cannot be used together.', hint: 'Use one or the other.' },
  'usage.run_elsewhere': { text: 'The run is on another machine ({holder}).', hint: 'Stop it there.' },
  'usage.run_ended': { text: 'The run is not running.', hint: 'It has ended meanwhile.' },
  'usage.run_of_flow': { text: 'Run {id} is {what}.', hint: 'Go on with the flow: prospect flow resume {flow}' },
  'usage.same_file': { text: ({ option, path, other, output, isInput }) => (isInput ? `${output} would overwrite the input file: ${path}.` : `${other} and ${option} name the same file: ${path}.`), hint: ({ output }) => `Name another file with ${String(output).replace(/ .*/, '')}.` },
  'usage.secret_argument': { text: 'Signing secrets are not accepted as arguments: other users of this machine could see them, and the shell history keeps them.', hint: 'Use PROSPECT_WEBHOOK_SECRET or --secret-file FILE.' },
  'usage.server_empty': { text: '{name} is empty.', hint: 'Give one comma between two addresses, and none at the ends.' },
  'usage.server_ending': { text: '{source} must end in {ending}.', hint: 'Write {correct}' },
  'usage.server_http': { text: '{source} is an http address: others could read the key and the data in transit.', hint: 'Use its https address. On a trusted network: add --insecure-http, or prospect config set insecure_http yes' },
  'usage.server_https': { text: '{source} takes an https address.', hint: 'Write it like https://api.example.com/api/v2' },
  'usage.server_other_api': { text: '{source} is not that of a server of this API, which ends in {ending}.', hint: 'Other APIs cannot be connected. If this server has this API, too, write {correct}{sync}' },
  'usage.server_password': { text: '{source} must not hold a user or password.', hint: 'Write {correct} and give the key separately.' },
  'usage.server_sync_ending': { text: '{source} must end in /v2, and not in /api/v2.', hint: 'Write it like https://api.example.com/v2' },
  'usage.server_twice': { text: '{source} has {href} twice.', hint: 'Give each server once.' },
  'usage.setting_value': { text: '{typed} does not take "{value}".', hint: 'It takes {description}, or default.' },
  'usage.shared_database': { text: 'Machines share runs in a PostgreSQL database, and {name} does not name one.', hint: 'For example: --database postgres://prospect@db.example/prospect' },
  'usage.shared_value': { text: '{sentence}.' },
  'usage.since_after_until': { text: '--since is not before --until.', hint: 'Swap them.' },
  'usage.since_of_only': { text: '--since is for --only new or changed.', hint: 'Add one of them.' },
  'usage.skill_file': { text: '{file} cannot be read or written: {reason}.', hint: 'Name another folder with --dir.' },
  'usage.skip_known_result': { text: '--skip-known needs the result.', hint: 'Add -o FILE, or --wait to print it.' },
  'usage.skip_known_stdin': { text: '--skip-known needs the name of a file: the rows of a run are read more than once.' },
  'usage.snapshot_future': { text: '--snapshot {snapshot} is in the future.', hint: 'Give the day that the open data is of.' },
  'usage.source_whole': { text: '--source cannot be used with {other}.', hint: 'Open data is forgotten as a whole: leave the other out.' },
  'usage.spelling_twice': { text: '--{flag} is another spelling of {name}.', hint: 'Give it once.' },
  'usage.stdin_twice': { text: '{one} and {other} cannot both read stdin.' },
  'usage.suppressed': { text: 'This person is suppressed, so no provider is asked about them.', hint: 'Nothing was sent. See: prospect suppress list' },
  'usage.take_empty': { text: '--take has an empty name.', hint: 'Write: --take "Record ID"' },
  'usage.too_long': { text: '{name} holds more than {limit} bytes.' },
  'usage.two_people': { text: 'Two people are given.', hint: 'Give an email address or --profile-url, one at a time.' },
  'usage.unconfirmed': { text: '{loss}', hint: 'Nothing was changed. Add --yes to confirm.' },
  'usage.unwritable': { text: '{file} cannot be written: {reason}.' },
  'usage.webhook_secret': { text: '--webhook-secret-file: the file of {name} does not say that its webhooks are signed.', hint: 'Add sign to webhook in it, or leave the option out.' },
  'usage.upstream_options': { text: '--public-url and --secret-file need a server behind this one.', hint: 'Add --upstream URL.' },
  'usage.value': { text: '--{flag} does not take "{text}".', hint: ({ near, known = [] }) => `${near ? `Did you mean ${near}? ` : ''}It takes: ${(known as string[]).join(', ')}.` },
  'usage.value_ambiguous': { text: '--{flag}: "{text}" is ambiguous.', hint: 'Did you mean {names}?' },
  'usage.vendor_limits': { text: '--max-cost and --accept are for providers of this machine; a server has its own.' },
  'usage.where_unreadable': { text: '{where} cannot be read: {reason}.' },
  'usage.which_id': { text: '{problem}.', hint: 'Give the id of the {noun}. See: prospect {list}' },
  'usage.which_person': { text: 'No person is given.', hint: 'Give an email address or the URL of a profile.' },
  'usage.whole_number': { text: '--{flag} takes a whole number.' },
  'usage.word_and_option': { text: '"{word}" and --{flag} both give the {name}.', hint: 'Give it once.' },
  'usage.word_or_csv': { text: 'Give <{name}> or --csv, not both.' },
  'usage.workbook_format': { text: '{file} is the name of a workbook, and --{option} chooses another format.', hint: 'Leave that option out, or name another file with -o.' },
  'usage.workbook_options': { text: '{file} is a workbook; --from and --encoding are for text files.', hint: 'Leave out --from and --encoding.' },
  'usage.worker_database': { text: 'There is no database {engine}.', hint: 'Give the database of prospect serve, or leave --database out to use that of this machine.' },
  'workbook.beyond_columns': { text: 'The cell {cell} is beyond the last column of a sheet, XFD.' },
  'workbook.cell_too_full': { text: 'Row {row} has {length,} characters in column "{column}", and a cell of a workbook holds {max,}. Write CSV instead.' },
  'workbook.cell_too_long': { text: 'A cell has more than {max} characters.' },
  'workbook.damaged': { text: ({ path, cause }) => `${path} is a damaged workbook (${damages[String(cause)] ?? cause}). Open it in a spreadsheet program and save it again.` },
  'workbook.encrypted': { text: '{path} is protected with a password. Save it without one, or as CSV.' },
  'workbook.ended': { text: 'The conversion of the workbook ended unexpectedly ({how}).' },
  'workbook.interrupted': { text: 'The conversion of the workbook was interrupted.' },
  'workbook.memory': { text: 'The workbook needs more memory than a conversion may take. Save the sheet as CSV.' },
  'workbook.no_cells': { text: '{path} has no sheet with cells.' },
  'workbook.no_sheet': { text: (details) => fill(`{path} has no sheet "{name}". It has: {names"}${details.more === 0 ? '' : ', and {more} more'}.`, details) },
  'workbook.none': { text: `{path} is no workbook. ${noTable}` },
  'workbook.not_one': { text: '{path} is not a workbook, so it has no sheets.', hint: 'Leave out --sheet.' },
  'workbook.not_text': { text: '{path} is a workbook, and --{field} is for text files.', hint: 'Leave out --{field}.' },
  'workbook.out_of_order': { text: 'The rows of the sheet are out of order at row {row}. Save it again.' },
  'workbook.row_too_long': { text: 'The row is longer than {max} bytes.' },
  'workbook.sheet': { text: 'The sheet "{sheet}" is read. To read another ({others"}), add --sheet.' },
  'workbook.text_missing': { text: 'The sheet refers to text {number}, which the workbook lacks.' },
  'workbook.texts_too_long': { text: 'The texts in {path} take more than {max} MiB. Save the sheet as CSV.' },
  'workbook.too_large': { text: ({ path, unpacked, row, max, size }) => `${path} ${unpacked === undefined ? `becomes more than ${formatSize(max)} of CSV by row ${count(row)}` : `unpacks to ${formatSize(unpacked)}`}, and ${formatSize(max)} is the limit for a workbook of ${formatSize(size)}. Delete what is not needed in it, or save the sheet as CSV.` },
  'workbook.too_large_to_write': { text: 'The workbook would be larger than 4 GiB. Write CSV instead.' },
  'workbook.too_many_rows': { text: 'A sheet has at most {max,} rows, and there are more. Write CSV instead.' },
  'workbook.uncalculated': { text: ({ columns }) => `Formulas without a stored value are blank: ${(columns as { column: string; cells: number; first: string }[]).map(({ column, cells, first }) => `${count(cells)} in "${column}" (from ${first} on)`).join(', ')}. To have their values, open the workbook in a spreadsheet program and save it.` },
  'workbook.unreadable': { text: '{path} cannot be converted: {cause}.' },
}

/** Returns how a column is chosen for a field, or with an empty one none is: by an option, or in the file of a flow. */
const mapOption = ({ isFlow }: Details, field: string, column: unknown): string => {
  if (isFlow === true) return `map: { ${field}: "${column}" } beside the file in input`
  return `--map ${field}=${column === '' ? '' : `"${column}"`}`
}

const namesText = (title: string, names: unknown): string =>
  (names as readonly string[]).length > 0
    ? ` ${title}: ${(names as readonly string[]).map((name) => `"${name}"`).join(', ')}.`
    : ''

const firstName = ({ header }: Details) => (header as string[]).find((name) => name !== '') ?? 'Column'

const isHinted = (option: unknown): boolean => option === 'fields' || option === 'columns'

const valueNames: Readonly<Record<string, string>> = {
  text: 'a text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
}

function otherTypeHint({ name, is, of, other }: Details): string {
  if (is === 'list') return `Write ${other} in ${name}.`
  if (is === 'number' && of === 'text') return `Write numbers without quotes: ${name} >= 50`
  return is === 'text' && of === 'number' ? `Where it holds numbers, write double(${name}).` : ''
}

const conditionExample = 'For example: headcount >= 50 && country == "DE"'

function describeSyntax(summary: string): string {
  if (/limit|exceeded/i.test(summary)) return 'the condition is too large'
  if (summary.includes('EOF')) return 'the condition ends too early'
  return summary.charAt(0).toLowerCase() + summary.slice(1)
}

/** Returns what to write instead, where a person wrote another language. */
function conditionHint(text: string): string {
  const code = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""')
  if (/\b(?:and|or|not)\b/i.test(code)) return 'Write && for and, || for or, and ! for not.'
  if (/[^=!<>]=(?!=)/.test(code)) return 'Write == to compare.'
  return code.includes('<>') ? 'Write != for not equal.' : conditionExample
}

const meantFields = ({ meant, names }: Details): string => {
  const [near, all] = [meant as string[], names as string[]]
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `It has: ${all.join(', ')}.`
}

const count = (value: unknown): string => Number(value).toLocaleString('en-US')

/** Returns a size in KiB or MiB, rounded up. */
export const formatSize = (bytes: unknown): string =>
  Number(bytes) < 2 ** 20
    ? `${Math.ceil(Number(bytes) / 2 ** 10)} KiB`
    : `${count(Math.ceil(Number(bytes) / 2 ** 20))} MiB`

const formatAmount = (limit: unknown, amount: unknown): string =>
  limit === 'bytes' ? formatSize(amount) : `${count(amount)} values`

function fill(text: Text, details: Details): string {
  if (typeof text === 'function') return text(details)
  return text.replace(/\{(\w+)([,"]?)\}/g, (_, name: string, how: string) => {
    const value = details[name]
    if (Array.isArray(value)) return value.map((one) => (how === '"' ? `"${one}"` : one)).join(', ')
    if (how === ',') return count(value)
    return value instanceof Error ? reasonOf(value) : String(value ?? '')
  })
}

/** Returns the sentence of a refusal, or of a note. */
export function describe(what: Refusal | Note): string {
  const { code, details } = what
  const known = messages[code]
  if (!known) return what instanceof Refusal ? what.message : code
  const { option } = details
  const isOption = code.startsWith('expression.') && !/^(?:keep|only_if)$|\./.test(String(option))
  const text = fill(known.text, isOption ? { ...details, option: `--${option}` } : details)
  return details.line === undefined ? text : `Line ${details.line}: ${text}`
}

/** Returns what an error says, as the end of a sentence. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Refusal ? describe(error) : systemReason(error)
  return text.endsWith('.') ? text.slice(0, -1) : text
}

/** Returns the report of an error; `undefined` when the error is a bug. */
export function reportOf(error: unknown): Report | undefined {
  if (error instanceof Stop) return report(error.message, error.code, null, error.exit, error.hint)
  if (error instanceof ApiError) {
    const row: { readonly exit: number; readonly code?: string } = errors[error.code]
    return report(error.message, row.code ?? error.code, error.status, row.exit, hintOf(error.code))
  }
  if (error instanceof Refusal) return reportOfRefusal(error)
  // A prompt throws this at Ctrl-C.
  if (isExitPrompt(error))
    return report('Cancelled at the prompt; nothing was done.', null, null, exitCodes.interrupted, '')
  if (error instanceof ConnectionLost) return reportOfLoss(error)
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError'))
    return report(
      'Stopped before the answer came.',
      'timeout',
      null,
      exitCodes.unreachable,
      'Raise --timeout.',
    )
  return undefined
}

const codes: Readonly<Record<number, string>> = {
  [exitCodes.usage]: 'usage',
  [exitCodes.notFound]: 'not_found',
}

function reportOfRefusal(refusal: Refusal): Report | undefined {
  const known = messages[refusal.code]
  if (!known) return undefined
  const { exit: rule = exitCodes.usage, hint = '', code } = known
  const exit = typeof rule === 'function' ? rule(refusal.details) : rule
  const name = code === undefined ? (codes[exit] ?? 'output') : code
  return report(describe(refusal), name, null, exit, fill(hint, refusal.details))
}

/** Returns the report of a request without a reply. */
function reportOfLoss({ message, unknown }: ConnectionLost): Report {
  if (unknown)
    return report(`${message}. ${openQuestion}`, 'outcome_unknown', null, exitCodes.unreachable, unknownHint)
  const hint = 'Check the address and the network; this request was not charged.'
  return report(message, 'unreachable', null, exitCodes.unreachable, hint)
}
