/** Which service `pix login` asks. */
import { assert, layer } from "@effect/vitest"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pix } from "./support/Pix.ts"

layer(TestService.layer(), { excludeTestServices: true })("pix login", (it) => {
  it.effect("CLI-46: asks the service that npm start runs in this folder, where it is on this machine", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const folder = yield* temporaryFolder
      const login = Effect.fnUntraced(function* (address: unknown, input: string) {
        const text = JSON.stringify({ operator_url: address })
        yield* Effect.promise(() => writeFile(join(folder, "demo.json"), text))
        return yield* pix(["login"], { env: { DATA_DIR: folder, XDG_CONFIG_HOME: folder }, input })
      })
      for (const address of ["https://example.com", "http://127.0.0.1.example.com:1", "nothing", 7]) {
        const { err } = yield* login(address, "")
        assert.include(err, "Signing in to http://127.0.0.1:3001.\n", String(address))
      }
      const { code, err } = yield* login(operatorUrl, operatorToken)
      assert.strictEqual(code, 0, err)
      assert.include(err, `Signing in to ${operatorUrl}.\n`)
      assert.notInclude(err, operatorToken)
    }).pipe(Effect.scoped)
  )
})
