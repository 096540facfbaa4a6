/**
 * What `npm start` adds for a newcomer: a demo account with a key, and credentials that are found again.
 *
 * Guarantees: the credentials are made once and kept in `<DATA_DIR>/demo.json`, readable by its owner alone; a
 * key that the database no longer accepts is made anew.
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

/** The demo account, as a newcomer is told of it. */
export class DemoAccount extends Context.Service<
  DemoAccount,
  { readonly name: string; readonly apiKey: string; readonly keptIn: string }
>()("@pix-payments/server/DemoAccount") {
  static readonly layer = (dataDir: string) =>
    Layer.effect(
      DemoAccount,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const keys = yield* ApiKeys
        const keptIn = join(dataDir, FILE)
        const kept = yield* Effect.promise(() => read(dataDir))
        const known = kept.api_key === undefined ? undefined : yield* keys.authenticate(kept.api_key)
        if (kept.api_key !== undefined && known !== undefined) {
          return DemoAccount.of({ name: known.account.name, apiKey: kept.api_key, keptIn })
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
        yield* Effect.promise(() => write(dataDir, { ...kept, api_key: key }))
        return DemoAccount.of({ name: account.name, apiKey: key, keptIn })
      })
    )
}

/** The operator's token of a demo: made on the first start, the same ever after. */
export const demoOperatorToken = (dataDir: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const kept = await read(dataDir)
    if (kept.operator_token !== undefined) return kept.operator_token
    const operator_token = randomBytes(24).toString("base64url")
    await write(dataDir, { ...kept, operator_token })
    return operator_token
  })

const FILE = "demo.json"

const Kept = Schema.fromJsonString(
  Schema.Struct({
    api_key: Schema.optionalKey(Schema.String),
    operator_token: Schema.optionalKey(Schema.String)
  })
)
type Kept = typeof Kept.Type

const decode = Schema.decodeUnknownOption(Kept)

const read = async (dataDir: string): Promise<Kept> => {
  const text = await readFile(join(dataDir, FILE), "utf8").catch(() => "{}")
  return Option.getOrElse(decode(text), () => ({}))
}

const write = async (dataDir: string, kept: Kept): Promise<void> => {
  await mkdir(dataDir, { recursive: true })
  const path = join(dataDir, FILE)
  await writeFile(path, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
  await chmod(path, 0o600)
}
