/**
 * Prints which cell answers what, for a router: a line for each API key (the SHA-256 of the key, as HAProxy computes it) with
 * `keys`, and for each connection with `connections`. Of all cells together it is the map.
 *
 * It contains no secret. It reads the settings of the server.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import * as Environment from "./base/Environment.ts"
import { Settings } from "./base/Settings.ts"
import * as Database from "./database/Database.ts"
import { requireCell } from "./schema/InstalledCell.ts"
import * as StartupMessage from "./startup/StartupMessage.ts"

const CELL = "(SELECT value FROM installation WHERE name = 'cell')"

const statements: Readonly<Record<string, string>> = {
  keys: `SELECT k.hash || ' ' || ${CELL} AS line FROM api_keys k JOIN applications p ON p.id = k.application_id
    JOIN accounts a ON a.id = p.account_id WHERE a.moved_to IS NULL AND k.revoked_at IS NULL`,
  connections: `SELECT id || ' ' || ${CELL} AS line FROM acquirer_connections WHERE kind = 'api-pix'`
}

const services = Layer.effectDiscard(requireCell).pipe(
  Layer.provideMerge(Database.layer),
  Layer.provide(Database.DatabaseLocation.layer),
  Layer.provide(Settings.layer),
  Layer.provideMerge(Layer.effectDiscard(Config.Redacted("DATABASE_URL"))),
  Layer.provide(Environment.layer)
)

const print = (line: string) =>
  Effect.callback<void>((resume) => void process.stdout.write(`${line}\n`, () => resume(Effect.void)))

const nothingDone = (line: string) =>
  Effect.andThen(
    print(line),
    Effect.sync(() => void (process.exitCode = 1))
  )

const printMap = (text: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [cell] = yield* sql.unsafe<{ name: string | null }>(`SELECT ${CELL} AS name`)
    if (typeof cell?.name !== "string")
      return yield* nothingDone("The database has no cell yet. Start its servers with CELL set.")
    yield* Stream.runForEach(sql.unsafe<{ line: string }>(text).stream, ({ line }) => print(line))
  })

const [of = "", ...others] = process.argv.slice(2)
const asked = others.length === 0 ? statements[of] : undefined

const program =
  asked === undefined
    ? nothingDone("Nothing was done. Write: keys-map keys, or keys-map connections.")
    : // @effect-diagnostics-next-line strictEffectProvide:off
      Effect.provide(printMap(asked), services).pipe(
        Effect.tapCause((cause) => Effect.sync(() => process.stderr.write(`${StartupMessage.failureOf(cause)}\n`)))
      )

NodeRuntime.runMain(program, { disableErrorReporting: true })
