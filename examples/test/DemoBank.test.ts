import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"

const demo = join(import.meta.dirname, "../demo-bank.ts")

describe("pnpm run demo:bank", () => {
  it.live("shows charge, payment, partial return, payout and MED over mutual TLS, and ends by itself", () =>
    Effect.gen(function* () {
      // Fails with any other exit code than 0.
      const { stdout } = yield* Effect.promise(() => promisify(execFile)(process.execPath, [demo]))
      assert.notInclude(stdout, "NOT ")
      assert.include(stdout, "balance R$ 50,00; at the bank R$ 50,00")
      assert.include(stdout, "R$ 12,00 returned, completed")
      assert.include(stdout, "balance R$ 28,00; at the bank R$ 28,00")
      assert.include(stdout, "the bank has the defence")
      assert.match(stdout, /consistent\n/)
    })
  )
})
