/** Why the embedded PostgreSQL is not available, and what its user can do about it. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Alternative = Schema.Literals(["another-folder", "another-server"])

/** What the user can configure instead. The program that starts the server knows which setting that is. */
export type Alternative = typeof Alternative.Type

export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()("EmbeddedPostgresError", {
  /** A sentence without its full stop. */
  problem: Schema.String,
  /** Imperatives, any one of which helps. */
  remedies: Schema.Array(Schema.String),
  alternatives: Schema.Array(Alternative)
}) {
  override get message(): string {
    return this.explain({
      "another-folder": "choose another data folder",
      "another-server": "use another PostgreSQL server"
    })
  }

  /** The problem and its remedies as sentences, with the alternatives in the caller's words. */
  explain(words: Readonly<Record<Alternative, string>>): string {
    const advice = [...this.remedies, ...this.alternatives.map((each) => words[each])].join(", or ")
    return advice === "" ? `${this.problem}.` : `${this.problem}. ${advice[0]?.toUpperCase()}${advice.slice(1)}.`
  }
}

/** Both alternatives: most problems are in the folder or in the machine. */
export const elsewhere: ReadonlyArray<Alternative> = ["another-folder", "another-server"]

export const failure = (
  problem: string,
  options: { readonly remedies?: ReadonlyArray<string>; readonly alternatives?: ReadonlyArray<Alternative> } = {}
): EmbeddedPostgresError =>
  new EmbeddedPostgresError({ problem, remedies: options.remedies ?? [], alternatives: options.alternatives ?? [] })

/** Runs an operation of the system. Its failure reads `problem: reason`. */
export const attempt = <A>(problem: string, run: () => Promise<A>): Effect.Effect<A, EmbeddedPostgresError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => failure(`${problem}: ${reasonOf(cause)}`, { alternatives: elsewhere })
  })

/** The `code` of a system or PostgreSQL error. */
export const codeOf = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

export const reasonOf = (cause: unknown): string =>
  reasons[codeOf(cause) ?? ""] ?? (cause instanceof Error ? cause.message : String(cause))

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EEXIST: "a file is in its place",
  ENOTDIR: "a file stands where a folder should be"
}

/** The last lines that PostgreSQL wrote, on one line. A full disk is named first. */
export const lastLines = (output: string): string =>
  (/No space left on device|Check free disk space/.test(output) ? "the disk is full: " : "") +
  output
    .trim()
    .split("\n")
    .slice(-8)
    .map((line) => line.replace(/^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /, "").trim())
    .join("; ")
    .replace(/[.;]+$/, "")
