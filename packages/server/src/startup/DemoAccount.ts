/**
 * The account of `npm start`, with an API key and an operator token, and where the service listens.
 *
 * Guarantees:
 * - The credentials are created once and stored in `<DATA_DIR>/demo.json`, which only its owner can read.
 * - A key that the database no longer accepts is replaced.
 */
import { allScopes } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { randomBytes } from "node:crypto"
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Accounts } from "../accounts/Accounts.ts"
import { ApiKeys } from "../accounts/ApiKeys.ts"

export class DemoAccount extends Context.Service<
  DemoAccount,
  {
    readonly name: string
    readonly apiKey: string
    readonly credentialsFile: string
    /** Adds the addresses of this start, which `npm run demo` and `pix login` find there. */
    readonly storeAddresses: (addresses: { readonly public: string; readonly operator: string }) => Effect.Effect<void>
  }
>()("@pix-payments/server/DemoAccount") {
  static readonly layer = (dataDir: string) =>
    Layer.effect(
      DemoAccount,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const keys = yield* ApiKeys
        const credentialsFile = join(dataDir, FILE)
        const storeAddresses = (addresses: { readonly public: string; readonly operator: string }) =>
          Effect.promise(async () =>
            write(dataDir, { ...(await read(dataDir)), api_url: addresses.public, operator_url: addresses.operator })
          )
        const stored = yield* Effect.promise(() => read(dataDir))
        const caller = stored.api_key === undefined ? undefined : yield* keys.authenticate(stored.api_key)
        if (stored.api_key !== undefined && caller !== undefined) {
          return DemoAccount.of({ name: caller.account.name, apiKey: stored.api_key, credentialsFile, storeAddresses })
        }
        const account = yield* accounts.create({
          name: "Loja Exemplo",
          legal_name: "Loja Exemplo LTDA",
          document: "11222333000181",
          document_type: "cnpj",
          phone: "+5511999990000"
        })
        const application = yield* accounts.createApplication(account.id, "demo")
        const { key } = yield* keys.create({
          applicationId: application.id,
          name: "demo",
          scopes: allScopes,
          expiresAtMs: undefined
        })
        yield* Effect.promise(() => write(dataDir, { ...stored, api_key: key }))
        return DemoAccount.of({ name: account.name, apiKey: key, credentialsFile, storeAddresses })
      })
    )
}

/** The operator token of the demo, created on the first start. */
export const demoOperatorToken = (dataDir: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const stored = await read(dataDir)
    if (stored.operator_token !== undefined) return stored.operator_token
    const operator_token = randomBytes(24).toString("base64url")
    await write(dataDir, { ...stored, operator_token })
    return operator_token
  })

const FILE = "demo.json"

const Credentials = Schema.fromJsonString(
  Schema.Struct({
    api_key: Schema.optionalKey(Schema.String),
    operator_token: Schema.optionalKey(Schema.String),
    api_url: Schema.optionalKey(Schema.String),
    operator_url: Schema.optionalKey(Schema.String)
  })
)
type Credentials = typeof Credentials.Type

const decode = Schema.decodeUnknownOption(Credentials)

const read = async (dataDir: string): Promise<Credentials> => {
  const text = await readFile(join(dataDir, FILE), "utf8").catch(() => "{}")
  return Option.getOrElse(decode(text), () => ({}))
}

const write = async (dataDir: string, credentials: Credentials): Promise<void> => {
  await mkdir(dataDir, { recursive: true })
  const path = join(dataDir, FILE)
  await writeFile(path, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  await chmod(path, 0o600)
}
