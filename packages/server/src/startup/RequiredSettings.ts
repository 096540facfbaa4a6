/**
 * Settings that a start requires and that have no default.
 *
 * Guarantees:
 * - Which acquirer an installation has is said by somebody: without `--demo` there is no default.
 * - Keys and token of a database that others can reach are kept by somebody, and not in the folder of the process that started first.
 *
 * Rules: OPR-220.
 */
import type { Environment } from "../base/Environment.ts"
import * as Schema from "effect/Schema"

/** A setting is missing. The message says which, and what to do. */
export class SettingMissing extends Schema.TaggedError<SettingMissing>()("SettingMissing", {
  message: Schema.String
}) {}

/** The first setting that is missing. A worker has the `DATABASE_URL` of the process that started it. */
export const missingSetting = (
  env: Environment,
  { isDemo, isWorker }: { readonly isDemo: boolean; readonly isWorker: boolean }
): SettingMissing | undefined => {
  if (isWorker) return undefined
  const message =
    (isDemo || env["ACQUIRER"] !== undefined ? undefined : ACQUIRER) ??
    (env["DATABASE_URL"] === undefined
      ? undefined
      : Object.entries(kept).find(([name]) => env[name] === undefined)?.[1])
  return message === undefined ? undefined : new SettingMissing({ message })
}

const ACQUIRER =
  "ACQUIRER is not set. Set ACQUIRER=connections to work with banks, or ACQUIRER=simulator for an installation that receives and sends no real money."

const kept = {
  SECRETS_KEYS:
    "DATABASE_URL is set, and SECRETS_KEYS is not. Set SECRETS_KEYS (or SECRETS_KEYS_FILE) to the key of this database, and keep a copy elsewhere: without it nothing that is sealed in the database can be read. For a new database: openssl rand -base64 32. One that an earlier start generated is in <DATA_DIR>/secrets.key.",
  OPERATOR_TOKEN:
    "DATABASE_URL is set, and OPERATOR_TOKEN is not. Set OPERATOR_TOKEN (or OPERATOR_TOKEN_FILE) to the same on every machine: openssl rand -base64 32"
}
