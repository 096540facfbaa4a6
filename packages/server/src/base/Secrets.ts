/**
 * Encrypts webhook secrets and the credentials of connections at rest with AES-256-GCM.
 *
 * Guarantees:
 * - A sealed text contains the id of its key. A key is rotated by putting the new one first in `SECRETS_KEYS`.
 * - It opens for its own row only: kind and id of the row are associated data.
 * - A process without a key that its database uses does not start. The database has the id of each key in `secrets_keys`: from the
 *   first start that seals with it, until `secrets reseal` has found nothing that is sealed with it.
 *
 * `SECRETS_KEYS` is a comma separated list of 32 byte keys in base64: the first seals, all open. Without it the first start on the
 * embedded database generates a key in `<DATA_DIR>/secrets.key`.
 *
 * Why: docs/decisions/0017-sealed-secrets.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { join } from "node:path"
import { generatedSecret } from "./GeneratedSecret.ts"
import { Settings } from "./Settings.ts"

export class SecretsError extends Schema.TaggedError<SecretsError>()("SecretsError", { message: Schema.String }) {}

/** The row that a secret belongs to. A copy of the secret, as in a delivery, keeps this owner. */
export interface SecretOwner {
  readonly kind: "charge" | "payout" | "webhook" | "connection" | "sign-in" | "approval" | "position" | "alert-channel"
  readonly id: string
}

export class Secrets extends Context.Service<
  Secrets,
  {
    readonly seal: (secret: string, owner: SecretOwner) => string
    /** Throws where no key opens it, or where it was sealed for another row. */
    readonly open: (sealed: string, owner: SecretOwner) => Redacted.Redacted<string>
    /** The id of the key that seals. */
    readonly keyId: string
  }
>()("@pix-payments/server/base/Secrets") {
  static readonly layer = Layer.effect(
    Secrets,
    Effect.gen(function* () {
      const settings = yield* Settings
      const text = Option.isSome(settings.secretsKeys)
        ? Redacted.value(settings.secretsKeys.value)
        : yield* keyOfDataDir(settings.dataDir)
      const keys = yield* parseKeys(text)
      yield* checkAgainstDatabase(keys)
      return Secrets.of({
        seal: (secret, owner) => seal(keys, secret, owner),
        open: (sealed, owner) => open(keys, sealed, owner),
        keyId: keys[0].id
      })
    })
  )
}

interface Key {
  readonly id: string
  readonly bytes: Buffer
}

type Keys = readonly [Key, ...Array<Key>]

/** `<id of the key>.<base64 of nonce, encrypted text and tag>`. */
const seal = ([key]: Keys, secret: string, owner: SecretOwner): string =>
  `${key.id}.${encrypted(key, secret, associatedData(owner))}`

/** The id of the key that sealed a text. */
export const keyOfSealed = (sealed: string): string => sealed.slice(0, sealed.indexOf("."))

const open = (keys: Keys, sealed: string, owner: SecretOwner): Redacted.Redacted<string> => {
  const [id, encoded = ""] = sealed.split(".")
  const key = keys.find((candidate) => candidate.id === id)
  if (key === undefined) throw new Error("a stored secret was sealed with a key that is not in SECRETS_KEYS")
  return Redacted.make(decrypted(key, encoded, associatedData(owner)))
}

const associatedData = ({ id, kind }: SecretOwner): Buffer => Buffer.from(`${kind}:${id.toLowerCase()}`)

const encrypted = (key: Key, text: string, associated: Buffer): string => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(associated)
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64")
}

const decrypted = (key: Key, encoded: string, associated: Buffer): string => {
  const bytes = Buffer.from(encoded, "base64")
  const decipher = createDecipheriv("aes-256-gcm", key.bytes, bytes.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(associated)
  decipher.setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString("utf8")
}

const parseKeys = Effect.fnUntraced(function* (text: string) {
  const [first, ...others] = text.split(",").map((part) => Buffer.from(part.trim(), "base64"))
  if (first === undefined || [first, ...others].some((bytes) => bytes.length !== 32)) {
    return yield* new SecretsError({
      message: "SECRETS_KEYS must be a comma separated list of 32 byte keys in base64."
    })
  }
  return [keyOf(first), ...others.map(keyOf)] as const satisfies Keys
})

/** The ids of the keys in a value of `SECRETS_KEYS`. */
export const keyIdsOf = (text: string) => Effect.map(parseKeys(text), (keys) => keys.map(({ id }) => id))

const keyOf = (bytes: Buffer): Key => ({ id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes })

const FILE = "secrets.key"

const keyOfDataDir = (dataDir: string) =>
  Effect.tryPromise({
    try: () => generatedSecret(dataDir, FILE, () => randomBytes(32).toString("base64")),
    catch: () =>
      new SecretsError({
        message: `The key file ${join(dataDir, FILE)} cannot be read or created. Set SECRETS_KEYS or DATA_DIR.`
      })
  })

/** Stores the id of the key that seals, unless the database uses one that is missing. Starts at once do so one after the other. */
const checkAgainstDatabase = Effect.fnUntraced(function* (keys: Keys) {
  const sql = yield* SqlClient
  const used = sql<{ id: string }>`SELECT id FROM secrets_keys`
  const check = Effect.flatMap(used, (rows) => {
    const missing = rows.filter(({ id }) => !keys.some((key) => key.id === id))
    return missing.length === 0 ? Effect.succeed(rows) : Effect.fail(new SecretsError({ message: missingKey(missing) }))
  })
  const known = yield* check
  if (known.some(({ id }) => id === keys[0].id)) return
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtext('secrets_keys'))`
      yield* check
      yield* sql`INSERT INTO secrets_keys (id) VALUES (${keys[0].id}) ON CONFLICT DO NOTHING`
    })
  )
})

const missingKey = (missing: ReadonlyArray<{ readonly id: string }>): string =>
  `The webhook secrets and the credentials of connections in this database are sealed with a key that this process does not have (${missing.map(({ id }) => id).join(", ")}). Add it to SECRETS_KEYS, behind a newer one: one that an earlier start generated is in <DATA_DIR>/secrets.key there. It can be dropped after "secrets reseal" (docs/operations/secrets.md).`
