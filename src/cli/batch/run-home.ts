import { pickFields } from '../../api/values/objects.js'
import { convertFile } from '../../csv/workbook/convert.js'
import type { ListPorts } from '../../runs/lists.js'
import type { RunPorts } from '../../runs/ports.js'
import type { Context, StreamsContext } from '../context/context.js'
import { interruptible } from '../context/io.js'
import { describe, fileNameOf } from '../messages.js'
import { openFile } from '../output/output.js'

export const filePorts = (
  context: StreamsContext,
): Pick<RunPorts, 'openFile' | 'claimFile' | 'convertFile' | 'notify'> => ({
  openFile: (path, name, signal) => openFile(context, path, fileNameOf(name), signal),
  claimFile: (path, name, use) => context.claimFile(path, fileNameOf(name), use),
  notify: (note) => context.notify(typeof note === 'string' ? note : describe(note)),
  convertFile: (path, sheet, openCopy) =>
    interruptible(context.streams, (signal) =>
      convertFile(path, sheet, openCopy, signal, (chosen) =>
        context.notify(describe({ code: 'workbook.sheet', details: { ...chosen } })),
      ),
    ),
})

export const listPorts = (context: Context): ListPorts & Pick<RunPorts, 'openFile' | 'notify'> => ({
  ...pickFields(context, ['home', 'clock', 'ids', 'streams', 'prepareHome', 'onClose']),
  ...filePorts(context),
  records: async function* (source, kind) {
    const { readListRecords } = await import('../call/views.js')
    yield* readListRecords(context, source, kind)
  },
})
