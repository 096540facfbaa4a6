/**
 * Where a session of `pix listen` is, on disk: `--resume` continues there. CLI-13.
 *
 * Guarantee: an event whose forward or line may have been interrupted is known, so that it is marked as a repeat.
 */
import { createHash } from "node:crypto"
import { join } from "node:path"
import { readIfPresent, stateFolder, writePrivately } from "../ConfigFile.ts"

interface Position {
  /** Everything up to this event was forwarded and shown. */
  readonly after: string
  /** The event whose forward began or, without a receiver, whose line did. */
  readonly forwarding?: string
}

export interface PositionFile {
  readonly read: () => Position | undefined
  readonly write: (position: Position) => void
}

/** The position of sessions with this service, filter and target. */
export const positionFile = (session: ReadonlyArray<unknown>): PositionFile => {
  const name = createHash("sha256").update(JSON.stringify(session)).digest("hex").slice(0, 32)
  const path = join(stateFolder(), "listen", `${name}.json`)
  return {
    read: () => {
      const text = readIfPresent(path)
      if (text === undefined) return undefined
      try {
        const { after, forwarding } = JSON.parse(text) as Partial<Position>
        return after === undefined ? undefined : { after, ...(forwarding === undefined ? {} : { forwarding }) }
      } catch {
        return undefined
      }
    },
    write: (position) => writePrivately(path, JSON.stringify(position))
  }
}
