import { convertSheet } from '../../csv/workbook/convert.js'
import type { ListPorts } from '../../runs/lists.js'
import type { RunHome, RunPorts } from '../../runs/ports.js'
import type { Context, StreamsContext } from '../context/context.js'
import { prepareHome } from '../context/home.js'
import { interruptible } from '../context/io.js'
import { describe, fileNameOf } from '../messages.js'
import { openFile } from '../output/output.js'

export const filePorts = (
  context: StreamsContext,
): Pick<RunPorts, 'openFile' | 'claimFile' | 'convertSheet' | 'notify'> => ({
  openFile: (path, name, signal) => openFile(context, path, fileNameOf(name), signal),
  claimFile: (path, name, use) => context.claimFile(path, fileNameOf(name), use),
  notify: (note) => context.notify(typeof note === 'string' ? note : describe(note)),
  convertSheet: (path, sheet, openCopy) =>
    interruptible(context.streams, (signal) => convertSheet(path, sheet, openCopy, signal)),
})

export const listPorts = (context: Context): ListPorts & Pick<RunPorts, 'openFile' | 'notify'> => ({
  ...toRunHome(context),
  ...filePorts(context),
  streams: context.streams,
  records: async function* (source, kind) {
    const { readListRecords } = await import('../call/views.js')
    yield* readListRecords(context, source, kind)
  },
})

export const toRunHome = (context: Context): RunHome => ({
  home: context.home,
  clock: context.clock,
  ids: context.ids,
  prepareHome: () => prepareHome(context.home),
  onClose: (work) => context.onClose(work),
})
