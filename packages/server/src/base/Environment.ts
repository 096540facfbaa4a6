/**
 * The environment that the programs read their settings from.
 *
 * Guarantees:
 * - An empty variable counts as unset.
 * - Each secret can come from a file: `X_FILE` names the file that has `X`. A line break at its end is not part of the secret.
 * - A secret that is set twice, and a file that cannot be read, end the start. No message contains a secret.
 */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { readFile } from "node:fs/promises"

export type Environment = Readonly<Record<string, string>>

export class EnvironmentError extends Schema.TaggedError<EnvironmentError>()("EnvironmentError", {
  message: Schema.String
}) {}

/** Variables that can come from a file. */
export const secretVariables = [
  "DATABASE_URL",
  "MIGRATIONS_DATABASE_URL",
  "TARGET_DATABASE_URL",
  "OPERATOR_TOKEN",
  "SECRETS_KEYS",
  "OIDC_CLIENT_SECRET",
  "SMTP_URL"
] as const

export const readEnvironment = Effect.fnUntraced(function* (given: Readonly<Record<string, string | undefined>>) {
  const set: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) if (value) set[name] = value
  for (const name of secretVariables) {
    const path = set[`${name}_FILE`]
    if (path === undefined) continue
    if (set[name] !== undefined) {
      return yield* new EnvironmentError({ message: `${name} and ${name}_FILE are both set. Remove one.` })
    }
    const text = yield* contentOf(name, path)
    if (text === "") return yield* new EnvironmentError({ message: `${name}_FILE: ${path} is empty.` })
    set[name] = text
  }
  return set as Environment
})

/** Settings from the environment of this process. */
export const layer = Layer.unwrap(
  Effect.map(
    Effect.suspend(() => readEnvironment(process.env)),
    (env) => ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
  )
)

const contentOf = (name: string, path: string) =>
  Effect.tryPromise({
    try: async () => (await readFile(path, "utf8")).replace(/\r?\n$/, ""),
    catch: (error) =>
      new EnvironmentError({
        message: `${name}_FILE: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"}).`
      })
  })
