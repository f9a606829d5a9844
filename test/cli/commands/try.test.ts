import { it } from 'vitest'
import { machine } from './run.js'
it('tries', async () => {
  const m = machine()
  const show = async (line: string, stdin?: string) => {
    const o = await m.run(line.split(' ').filter(Boolean), stdin ? { stdin } : {})
    console.log(`$ ${line} -> ${o.code}\n${o.stdout.slice(0, 1500)}\n-- ${o.stderr}`)
  }
  for (const line of (process.env.TRY ?? '').split(';')) await show(line.trim())
  m.remove()
})
