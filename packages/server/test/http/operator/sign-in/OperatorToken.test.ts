/** The token of an installation that sets none. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFile, stat } from "node:fs/promises"
import { passableFolder } from "../../../support/Folders.ts"
import { startProcess } from "../../../support/Process.ts"
import { eventually } from "../../../support/Receiver.ts"

describe("Without OPERATOR_TOKEN", () => {
  it.live("OPR-3, OPR-36: the first start writes a token into a file, names the file, and later starts accept it", () =>
    Effect.gen(function* () {
      const env = { DATA_DIR: yield* passableFolder, DATABASE_CONNECTIONS: "4" }
      const first = yield* startProcess(env)
      const [, file = ""] = /"operator_token_file":"([^"]+)"/.exec(first.written()) ?? []
      const token = yield* Effect.promise(() => readFile(file, "utf8"))
      assert.match(token, /^[\w-]{32}$/)
      assert.strictEqual((yield* Effect.promise(() => stat(file))).mode & 0o777, 0o600)
      const statusWith = ({ operatorUrl }: { readonly operatorUrl: string }, sent: string) =>
        Effect.promise(async () => {
          const headers = { "x-operator-token": sent }
          return (await fetch(`${operatorUrl}/operator/v1/accounts`, { headers })).status
        })
      assert.strictEqual(yield* statusWith(first, token), 200)
      assert.strictEqual(yield* statusWith(first, `${token}x`), 401)
      first.signal("SIGTERM")
      assert.strictEqual(yield* first.ended, 0)

      // Each process of a cluster reads the file.
      const second = yield* startProcess({ ...env, PROCESSES: "2" })
      assert.strictEqual(yield* statusWith(second, token), 200)
      for (const { written } of [first, second]) {
        // It follows the line that says that the service is ready.
        yield* eventually(Effect.sync(written), (text) => text.includes("the acquirer is the simulator"))
        assert.notInclude(written(), token)
        assert.notMatch(written(), /pix_[\w-]{20}/)
      }
    }).pipe(Effect.scoped)
  )
})
