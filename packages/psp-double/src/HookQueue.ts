/**
 * The hooks to be sent, with their due times. Pure, so that a simulation can send them itself.
 *
 * Guarantees
 * - A hook that is not answered 2xx is sent again after each delay of `retriesMs`, and dropped after the last.
 */
import type { Faults } from "./Faults.ts"

export interface Hook {
  readonly id: number
  readonly url: string
  /** The objects of `pix`. */
  readonly pix: ReadonlyArray<unknown>
  readonly attempt: number
}

export interface HookQueueOptions {
  readonly now: () => number
  readonly faults: Faults
  /** Delays before each further attempt. */
  readonly retriesMs: ReadonlyArray<number>
  /** How late a `hook-late` is. */
  readonly lateMs: number
  /** How many notifications that are due together share a hook. */
  readonly batch: number
}

export interface HookQueue {
  /** `name` identifies the notification; its fault depends on the seed and the name. */
  readonly add: (name: string, url: string, pix: unknown) => void
  /** Removes and returns what is due. */
  readonly takeDue: () => ReadonlyArray<Hook>
  readonly failed: (hook: Hook) => void
  readonly nextDueAtMs: () => number | undefined
}

interface Waiting extends Hook {
  readonly dueAtMs: number
}

export const makeHookQueue = ({ now, faults, retriesMs, lateMs, batch }: HookQueueOptions): HookQueue => {
  let waiting: Array<Waiting> = []
  let ids = 0

  const add = (url: string, pix: unknown, dueAtMs: number) => {
    waiting.push({ id: ++ids, url, pix: [pix], attempt: 0, dueAtMs })
    waiting.sort((a, b) => a.dueAtMs - b.dueAtMs)
  }

  return {
    add: (name, url, pix) => {
      const fault = faults.ofHook(name)
      if (fault === "hook-never") return
      add(url, pix, fault === "hook-late" ? now() + lateMs : now())
      if (fault === "hook-twice") add(url, pix, now())
    },
    takeDue: () => {
      const due = waiting.filter(({ dueAtMs }) => dueAtMs <= now())
      waiting = waiting.filter(({ dueAtMs }) => dueAtMs > now())
      const batches: Array<Hook> = []
      for (const { dueAtMs: _, ...hook } of due) {
        const open = batches.findIndex(
          ({ url, pix, attempt }) => hook.attempt === 0 && attempt === 0 && url === hook.url && pix.length < batch
        )
        if (open < 0) batches.push(hook)
        else batches[open] = { ...batches[open]!, pix: [...batches[open]!.pix, ...hook.pix] }
      }
      return batches
    },
    failed: (hook) => {
      const delay = retriesMs[hook.attempt]
      if (delay === undefined) return
      waiting.push({ ...hook, attempt: hook.attempt + 1, dueAtMs: now() + delay })
      waiting.sort((a, b) => a.dueAtMs - b.dueAtMs)
    },
    nextDueAtMs: () => waiting[0]?.dueAtMs
  }
}
