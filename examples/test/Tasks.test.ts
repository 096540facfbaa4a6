/** The tasks of `examples/tasks`: each grader accepts the right solution, and refuses each wrong one for its mistake. */
import { assert, layer } from "@effect/vitest"
import { loopback } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { names, verdictOf } from "../tasks/Tasks.ts"

interface Solutions {
  readonly right: unknown
  /** By the reason for which each is refused. */
  readonly wrong: Readonly<Record<string, unknown>>
}

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("the task", (it) => {
  for (const name of names) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl, publicUrl } = yield* TestService
        const service = { url: publicUrl, operatorUrl, operatorToken }
        const { right, wrong } = yield* Effect.promise<Solutions>(() => import(`../tasks/solutions/${name}.ts`))
        const graded = (solution: unknown) => Effect.promise(() => verdictOf(name, solution, service))
        assert.strictEqual(yield* graded(right), "accepted")
        const verdicts = yield* Effect.forEach(Object.values(wrong), graded, { concurrency: 3 })
        assert.deepStrictEqual(verdicts, Object.keys(wrong))
        assert.isAtLeast(verdicts.length, 5)
      })
    )
  }
})
