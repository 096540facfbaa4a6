/**
 * The lock on a data folder: a file that names the process that uses it.
 *
 * Guarantees:
 * - one process at a time has the lock, also where several start at the same moment;
 * - the lock of a process that no longer exists is taken over, even where its id was reused.
 */
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import * as Fs from "node:fs/promises"
import type { DataFolder } from "./DataFolder.ts"
import { attempt, codeOf, failure } from "./Failure.ts"
import { readIfPresent, remove, undefinedIfAbsent } from "./Files.ts"
import { startTimeOf } from "./SystemProcess.ts"

/** Locks the folder until the scope closes. Fails if another process has it. */
export const acquire = (folder: DataFolder) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const content = `${process.pid}\n${(yield* startTimeOf(process.pid)) ?? ""}\n`
      const draft = `${folder.lock}.${randomBytes(6).toString("hex")}`
      yield* attempt(`Cannot write to the data folder ${folder.path}`, () => Fs.writeFile(draft, content))
      yield* tryAcquire(folder, draft).pipe(
        Effect.retry({ while: (error) => error === "stale lock removed", times: 5 }),
        Effect.catchIf(
          (error) => error === "stale lock removed",
          () => failure(`Other processes are starting on the data folder ${folder.path}`, { remedies: ["try again"] })
        ),
        Effect.ensuring(remove(draft))
      )
      return content
    }),
    (content) =>
      readIfPresent(folder.lock).pipe(
        Effect.flatMap((current) => (current === content ? remove(folder.lock) : Effect.void)),
        Effect.ignore
      )
  )

/** One attempt. A link is atomic: the lock is either complete or absent. */
const tryAcquire = Effect.fnUntraced(function* (folder: DataFolder, draft: string) {
  const problem = `Cannot lock the data folder ${folder.path}`
  const linked = yield* attempt(problem, () =>
    Fs.link(draft, folder.lock).then(
      () => true,
      (cause: unknown) => (codeOf(cause) === "EEXIST" ? false : Promise.reject(cause))
    )
  )
  if (linked) return
  const current = (yield* readIfPresent(folder.lock)) ?? ""
  const [pid = "", startTime = ""] = current.split("\n")
  const running = yield* startTimeOf(Number(pid))
  if (running !== undefined && (running === startTime || running === "" || startTime === "")) {
    return yield* failure(`The data folder ${folder.path} is in use by another process (${pid})`, {
      remedies: ["stop that process"],
      alternatives: ["another-folder"]
    })
  }
  // The lock is stale: rename it. If another process has replaced it in the meantime, put that one back.
  const renamed = `${draft}.stale`
  yield* attempt(problem, () => undefinedIfAbsent(Fs.rename(folder.lock, renamed)))
  if (((yield* readIfPresent(renamed)) ?? current) !== current) {
    yield* Effect.ignore(attempt(problem, () => Fs.link(renamed, folder.lock)))
  }
  yield* remove(renamed)
  return yield* Effect.fail("stale lock removed" as const)
})
