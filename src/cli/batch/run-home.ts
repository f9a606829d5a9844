import { Refusal } from '../../api/calls/errors.js'
import { pickFields } from '../../api/values/objects.js'
import { convertFile } from '../../csv/workbook/convert.js'
import type { ListPorts } from '../../runs/lists.js'
import type { RunPorts } from '../../runs/ports.js'
import type { Context, StreamsContext } from '../context/context.js'
import { interruptible } from '../context/io.js'
import { pinFile } from '../context/pinned.js'
import { describe, fileNameOf } from '../messages.js'
import { openFile } from '../output/output.js'

export const filePorts = (
  context: StreamsContext & Pick<Context, 'onClose'>,
): Pick<RunPorts, 'openFile' | 'claimFile' | 'convertFile' | 'notify'> => ({
  openFile: (path, name, signal) => openFile(context, path, fileNameOf(name), signal),
  claimFile: (path, name, use) => context.claimFile(path, fileNameOf(name), use),
  notify: (note) => context.notify(typeof note === 'string' ? note : describe(note)),
  convertFile: async (path, sheet, openCopy) => {
    const pinned = context.root === undefined ? undefined : await pinFile(context.root, 'file', path)
    if (pinned) context.onClose(() => pinned.file.close())
    const read = pinned?.path ?? path
    const converted = await interruptible(context.streams, (signal) =>
      convertFile(read, sheet, openCopy, signal, (chosen) =>
        context.notify(describe({ code: 'workbook.sheet', details: { ...chosen } })),
      ),
    ).catch((error: unknown) => {
      if (!(error instanceof Refusal) || error.details.path !== read) throw error
      throw new Refusal(error.code, { ...error.details, path })
    })
    return converted ?? (pinned && { copy: pinned.file, isSheet: false, uncalculated: [] })
  },
})

export const listPorts = (context: Context): ListPorts & Pick<RunPorts, 'openFile' | 'notify'> => ({
  ...pickFields(context, ['home', 'clock', 'ids', 'streams', 'prepareHome', 'onClose']),
  ...filePorts(context),
  records: async function* (source, kind) {
    const { readListRecords } = await import('../call/views.js')
    yield* readListRecords(context, source, kind)
  },
  mirror: async (crm, kind) => {
    const { openMirror } = await import('../context/crm.js')
    return openMirror(context, crm, kind)
  },
})
