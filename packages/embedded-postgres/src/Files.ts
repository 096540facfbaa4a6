/** File operations that treat a missing file as an answer, and paths. */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { attempt, codeOf } from "./Failure.ts"

/** The content of a file, undefined where there is none. */
export const readIfPresent = (path: string) =>
  attempt(`Cannot read ${path}`, () => undefinedIfAbsent(Fs.readFile(path, "utf8")))

/** Removes a file. A failure is ignored. */
export const remove = (path: string) =>
  Effect.ignore(attempt(`Cannot remove ${path}`, () => Fs.rm(path, { force: true })))

/** The result of a file operation, undefined where the file does not exist. */
export const undefinedIfAbsent = <A>(operation: Promise<A>): Promise<A | undefined> =>
  operation.catch((cause: unknown) => (codeOf(cause) === "ENOENT" ? undefined : Promise.reject(cause)))

/** `/a/b/c` and its parents down to `/a`. */
export const foldersBetween = (first: string, last: string): ReadonlyArray<string> =>
  last.length <= first.length ? [first] : [...foldersBetween(first, Path.dirname(last)), last]
