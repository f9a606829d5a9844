import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createLayout,
  explodedColumns,
  joinedColumns,
  listColumns,
  type OutputRow,
} from '../../../src/runs/output/columns.js'
import { rowFormats } from '../../../src/runs/output/formats.js'
import { selected } from '../../../src/runs/output/select.js'
import { outputRow } from '../fakes.js'

const output = z.object({
  total: z.number(),
  tags: z.array(z.string()),
  jobs: z
    .array(z.object({ title: z.string(), company: z.object({ name: z.string() }).nullable() }))
    .default([]),
})
const jobs = { field: 'jobs', keyedBy: '' }
const byDepartment = z.record(z.string(), z.object({ now: z.number() }))
const departments = { field: undefined, keyedBy: 'department' }

const row = (body: unknown, more: Partial<OutputRow> = {}) => outputRow(['a'], body, { credits: 2, ...more })
const two = row({
  total: 5,
  tags: ['t'],
  jobs: [
    { title: 'A', company: { name: 'X' } },
    { title: 'B', company: null },
  ],
})

describe('a row with several results', () => {
  test('is kept as one row when its reply has none', () => {
    for (const [many, body] of [
      [departments, {}],
      [jobs, { total: 0, tags: [], jobs: [] }],
    ] as const) {
      const format = selected(rowFormats.ndjson.create(createLayout(['in'], [])), undefined, many)
      expect(
        format
          .rows([row(body)])
          .trim()
          .split('\n'),
      ).toHaveLength(1)
    }
  })

  test('has its results as JSON in one cell, after a column with their number', () => {
    const columns = listColumns(output, jobs)
    expect(columns.map(({ name }) => name)).toEqual(['total', 'tags', 'jobs_count', 'jobs'])
    const layout = createLayout(['in'], columns)
    expect(layout.cells(two)[3]).toBe('2')
    expect(JSON.parse(layout.cells(two)[4] ?? '')).toHaveLength(2)
    expect(Object.keys(layout.record(two))).toEqual(expect.arrayContaining(['total', 'tags', 'jobs']))
    expect(layout.record(two)).not.toHaveProperty('jobs_count')
    expect(layout.cells(row(undefined, { status: 'not_found' })).slice(1, 5)).toEqual(['', '', '', ''])
  })

  test('has one column for each field of its results when they are joined', () => {
    const columns = joinedColumns(output, jobs)
    expect(columns.map(({ name }) => name)).toEqual(['total', 'tags', 'title', 'company.name'])
    const layout = createLayout([], columns)
    expect(layout.cells(two)[2]).toBe('A; B')
    expect(layout.record(two).jobs).toEqual(two.body && (two.body as { jobs: unknown }).jobs)
  })

  test('becomes one row for each result when exploded, and only the first of them has the credits', () => {
    const layout = createLayout(['in'], explodedColumns(output, jobs))
    const format = selected(rowFormats.csv.create(layout), undefined, jobs)
    const none = row({ total: 0, tags: [], jobs: [] }, { credits: 0 })
    const lost = row(undefined, { status: 'not_found', credits: 0 })
    expect(format.head + format.rows([two, none, lost])).toBe(
      [
        'in,total,title,company.name,_status,_error,_credits,_source',
        'a,5,A,X,found,,2,lookup',
        'a,5,B,,found,,0,lookup',
        'a,0,,,found,,0,lookup',
        'a,,,,not_found,,0,lookup',
        '',
      ].join('\n'),
    )
  })

  test('keeps the credits with the first result that a filter leaves', () => {
    const isB = ({ body }: OutputRow) => (body as { title?: string }).title === 'B'
    const layout = createLayout([], explodedColumns(output, jobs))
    const format = selected(rowFormats.csv.create(layout), { keeps: isB, written: 0, doubtful: 0 }, jobs)
    expect(format.rows([two])).toBe('5,B,,found,,2,lookup\n')
  })

  test('has a column for the key when its results are keyed', () => {
    const columns = explodedColumns(byDepartment, departments)
    const format = selected(rowFormats.ndjson.create(createLayout([], columns)), undefined, departments)
    const text = format.rows([row({ All: { now: 7 }, Sales: { now: 2 } })])
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { department: 'All', now: 7, _credits: 2 },
      { department: 'Sales', now: 2, _credits: 0 },
    ])
  })
})
