import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { writeTo } from '../../../runs/output/writer.js'
import type { Context } from '../../context/context.js'
import { documentsFolder } from '../../context/documents.js'
import { systemReason } from '../../context/errors.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { listOf, type OptionsOf, optionRows } from '../../options/values.js'
import { print } from '../../output/print.js'
import { confirmLoss } from '../../output/prompt.js'
import { countOf, formatPath } from '../../output/text.js'

/** Where each program looks for skills, in a project and below the home folder. */
const programs = {
  claude: '.claude/skills',
  codex: '.agents/skills',
  cursor: '.cursor/skills',
} as const

/** The folder of the open format, which Codex, Cursor and others read. */
const commonFolder = '.agents/skills'

const installOptions = optionRows({
  for: [
    '<programs>',
    `whose folders get them: ${Object.keys(programs).join(', ')} (default: ${commonFolder}, which most programs read)`,
    listOf(Object.keys(programs) as (keyof typeof programs)[]),
  ],
  user: ['', 'for all your projects: below your home folder in place of this folder'],
  dir: ['<folder>', 'a folder of skills, in place of those of a program'],
})

interface Skill {
  readonly name: string
  readonly description: string
  readonly text: string
}

/** Returns the skills in the order of their names. They are in the format of https://agentskills.io. */
function allSkills(): readonly Skill[] {
  const folder = join(documentsFolder(), 'skills')
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder, name, 'SKILL.md'), 'utf8').replaceAll('\r', '')
      return { name, description: /^description: (.+)$/m.exec(text)?.[1] ?? '', text }
    })
}

export const skillsCommand: CommandFactory = ({ command, group }) =>
  group('skills', 'Instructions for coding agents, such as Claude Code, Codex and Cursor', [
    command('install', 'Write the skills where an agent finds them')
      .withOptions(installOptions)
      .run(async (context, { options }) => {
        const files = foldersOf(context, options).flatMap((folder) =>
          allSkills().map(({ name, text }) => ({ name, file: join(folder, name, 'SKILL.md'), text })),
        )
        const found = files.map((one) => ({ ...one, before: readSkill(one.file) }))
        const changed = found.filter(({ before, text }) => before !== undefined && before !== text)
        const names = changed.map(({ file }) => formatPath(file, context.streams)).join(', ')
        if (changed.length > 0)
          await confirmLoss(context, `This replaces what is in ${names}: it is not what this version writes.`)
        const skills = found.map(({ name, file, text, before }) => {
          if (before !== text) writeSkill(file, text)
          const outcome = before === undefined ? 'written' : before === text ? 'unchanged' : 'replaced'
          return { name, outcome, file }
        })
        const others = options.for === undefined && options.dir === undefined
        const hint = others ? 'Claude Code reads .claude/skills: prospect skills install --for claude\n' : ''
        const layout = () =>
          `${skills.map(({ outcome, file }) => `${outcome}: ${formatPath(file, context.streams)}\n`).join('')}${countOf(skills.length, 'skill', 'skills')}. An agent that is running may have to be started again.\n${hint}`
        await print(context, { skills }, { layout })
      }),
    command('list', 'List the skills').printResult(
      async () => allSkills().map(({ name, description }) => ({ name, description })),
      { columns: ['name', 'description'] },
    ),
    command('show', 'Print a skill')
      .argument('<name>', 'its name; without prospect- as well')
      .run(async (context, { args: [name = ''] }) => {
        const skills = allSkills()
        const skill = skills.find((one) => one.name === name || one.name === `prospect-${name}`)
        if (!skill) throw new Refusal('usage.no_skill', { name, known: skills.map((one) => one.name) })
        if (context.globals.json) await print(context, skill)
        else await writeTo(context.streams.stdout, skill.text)
      }),
  ])

function foldersOf({ streams }: Context, { for: named, user, dir }: OptionsOf<typeof installOptions>) {
  if (dir !== undefined && (named !== undefined || user))
    throw new Refusal('usage.dir_or_other', { other: named ? 'for' : 'user' })
  if (dir !== undefined) return [resolve(streams.cwd, dir)]
  const base = user ? (streams.env.HOME ?? homedir()) : streams.cwd
  return [...new Set(named?.map((name) => programs[name]) ?? [commonFolder])].map((path) => join(base, path))
}

const readSkill = (file: string): string | undefined =>
  existsSync(file) ? orRefuse(file, () => readFileSync(file, 'utf8').replaceAll('\r', '')) : undefined

/** Makes a folder and those above it. Node's own way never ends below /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path)
}

const writeSkill = (file: string, text: string): void =>
  orRefuse(file, () => {
    makeFolder(dirname(file))
    writeFileSync(file, text)
  })

function orRefuse<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new Refusal('usage.skill_file', { file, reason: systemReason(error) })
  }
}
