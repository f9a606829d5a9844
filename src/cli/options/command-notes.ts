import type { OperationId } from '../../api/operations/table.js'
import examples from '../program/examples.json' with { type: 'json' }
import texts from './command-notes.json' with { type: 'json' }

type CommandNotes = Partial<Readonly<Record<'examples' | 'first' | 'note', readonly string[]>>>

const notes: Readonly<Record<string, CommandNotes>> = texts.notes

const otherWords: Readonly<Record<string, readonly string[]>> = texts.otherWords

/** Returns the examples and notes in the help of a command, without the leading `prospect`. */
export const notesOf = (path: string): CommandNotes => notes[path] ?? {}

/** Returns examples of an operation, without the leading `prospect`; each one parses as it stands. */
export const examplesOf = (id: OperationId): readonly string[] => examples[id]

/** Returns the commands that somebody means with a word of another program. */
export const commandsMeantBy = (word: string): readonly string[] => otherWords[word.toLowerCase()] ?? []
