/**
 * Moves an account to another cell: `move ACCOUNT`, and `move ACCOUNT --undo` before it is committed. It can be repeated.
 *
 * `MIGRATIONS_DATABASE_URL`, or `DATABASE_URL`, is the owner of the database that the account leaves, `TARGET_DATABASE_URL` the owner of
 * the other one, and `SECRETS_KEYS` what the servers of the other cell have. It exits with 1 where the account did not move.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { readEnvironment } from "./base/Environment.ts"
import { keyIdsOf } from "./base/Secrets.ts"
import { moveAccount, undoMove } from "./cells/AccountMove.ts"
import { connect } from "./cells/Connection.ts"
import { CannotMove } from "./cells/Fitness.ts"

const say = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

const program = Effect.gen(function* () {
  const [accountId = "", flag, ...others] = process.argv.slice(2)
  if (!isUuid(accountId) || (flag !== undefined && flag !== "--undo") || others.length > 0) {
    return yield* new CannotMove({ message: "Write: move and the id of an account, or the same with --undo." })
  }
  const env = yield* readEnvironment(process.env)
  const set = (name: string, value = env[name]) =>
    value === undefined ? Effect.fail(new CannotMove({ message: `${name} is not set.` })) : Effect.succeed(value)
  const targetUrl = yield* set("TARGET_DATABASE_URL")
  const source = yield* connect(
    yield* set("DATABASE_URL", env["MIGRATIONS_DATABASE_URL"] ?? env["DATABASE_URL"]),
    "the database that it leaves"
  )
  const target = yield* connect(targetUrl, "TARGET_DATABASE_URL")
  const beside = yield* connect(targetUrl, "TARGET_DATABASE_URL")
  const secretsKeys = yield* keyIdsOf(yield* set("SECRETS_KEYS"))
  yield* (flag === undefined ? moveAccount : undoMove)({ accountId, say, source, target, beside, secretsKeys })
}).pipe(
  Effect.scoped,
  Effect.catch(({ message }) =>
    Effect.sync(() => {
      process.stderr.write(`${message}\n`)
      process.exitCode = 1
    })
  )
)

NodeRuntime.runMain(program)
