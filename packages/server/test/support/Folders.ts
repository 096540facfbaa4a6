/** Folders of embedded databases. */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A folder that the user whom PostgreSQL runs as can reach as well. */
export const passableFolder = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await Fs.mkdtemp(join(tmpdir(), "pix-payments-test-"))
    await Fs.chmod(folder, 0o711)
    return folder
  }),
  (folder) => Effect.promise(() => Fs.rm(folder, { recursive: true, force: true, maxRetries: 3 }))
)
