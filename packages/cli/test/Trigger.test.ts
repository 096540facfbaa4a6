/** Every event that can be triggered comes, and fixtures refer to earlier answers. */
import { assert, layer } from "@effect/vitest"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { eventually } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { parseFixture, resolved, runSteps } from "../src/fixtures/Fixture.ts"
import { triggerable, triggerSteps, whyNot } from "../src/fixtures/Triggers.ts"
import { pix } from "./support/Pix.ts"

interface Page {
  readonly data: ReadonlyArray<{ readonly data: { readonly event: string } }>
}

const WITHIN_MS = 240_000

layer(TestService.layer({ settings: { simulatorSettleMs: 1500 } }), { excludeTestServices: true })(
  "pix trigger",
  (it) => {
    /** The names of the events of an account, once they include one. */
    const namesWith = (accountId: string, event: string) =>
      Effect.flatMap(TestService, ({ operate }) =>
        eventually(
          Effect.map(
            operate<Page>("GET", `/operator/v1/events?after=oldest&limit=100&account_id=${accountId}`),
            ({ body }) => body.data.map(({ data }) => data.event)
          ),
          (names) => names.includes(event),
          WITHIN_MS
        )
      )

    for (const event of triggerable) {
      it.effect(`CLI-19: brings about ${event}`, () =>
        Effect.gen(function* () {
          const { makeCaller, operatorToken, operatorUrl } = yield* TestService
          // A payout that is sent at once cannot be canceled.
          const account = event.endsWith(".canceled") ? { auto_payout_enabled: false } : {}
          const { accountId, applicationId } = yield* makeCaller({ account })
          const service = { url: operatorUrl, token: Redacted.make(operatorToken) }
          const variables = { account: { id: accountId }, application: { id: applicationId } }
          yield* runSteps(service, triggerSteps(event, { amount: 1990 })!, variables, () => {})
          yield* namesWith(accountId, event)
        })
      )
    }

    it("CLI-19: of each event of the catalog, it has the calls or the reason why there are none", () => {
      for (const event of eventNames) {
        const steps = triggerSteps(event, { amount: 1 })
        if (steps === undefined) assert.match(whyNot(event)!, /^A (card )?charge /, event)
        else assert.isNull(whyNot(event), event)
      }
      assert.deepStrictEqual(
        eventNames.filter((event) => !triggerable.includes(event)),
        ["charge.pix.expired", "charge.boleto.expired", "charge.card.authorized"]
      )
    })

    it.effect("CLI-2, CLI-19: says why an event is never emitted, and ends with 2", () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        for (const [event, why] of [
          ["charge.pix.expired", "A charge expires without an event: its status is derived when it is read."],
          ["charge.boleto.expired", "A charge expires without an event: its status is derived when it is read."],
          ["charge.card.authorized", "A card charge is paid without an authorization before it."]
        ] as const) {
          const { code, err, out } = yield* pix(["trigger", event], { env })
          assert.deepStrictEqual([code, out, err], [2, "", `${event} is never emitted. ${why}\n`])
        }
        const { out } = yield* pix(["trigger", "--list"], { env })
        const listed: ReadonlyArray<{ readonly event: string; readonly can_be_triggered: boolean }> =
          JSON.parse(out).data
        assert.deepStrictEqual(
          listed.map(({ event }) => event),
          [...eventNames]
        )
        assert.lengthOf(
          listed.filter((each) => !each.can_be_triggered),
          3
        )
      })
    )

    it.effect("CLI-19, CLI-20: from the command line, with an amount and an account, and from a file", () =>
      Effect.gen(function* () {
        const { makeCaller, operate, operatorToken, operatorUrl } = yield* TestService
        const { accountId } = yield* makeCaller()
        yield* makeCaller()
        const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
        const several = yield* pix(["trigger", "charge.pix.paid"], { env })
        assert.strictEqual(several.code, 2)
        assert.include(several.err, "--account ID")
        const triggered = yield* pix(["trigger", "charge.pix.paid", "--account", accountId, "--amount", "4321"], {
          env
        })
        assert.strictEqual(triggered.code, 0, triggered.err)
        const { steps } = JSON.parse(triggered.out)
        assert.deepStrictEqual(
          steps.map(({ object, state, status }: Readonly<Record<string, unknown>>) => [status, object, state]),
          [
            [201, "charge", "pending"],
            [200, "charge", "paid"]
          ]
        )
        const charge = yield* operate("GET", `/operator/v1/charges/${steps[0].id}`)
        assert.deepInclude(charge.body, { amount: 4321, status: "paid", account_id: accountId })

        const fixture = {
          steps: [
            { name: "first", call: `GET /charges/${steps[0].id}` },
            { name: "page", call: "GET /charges?limit=1&account_id=${first.account_id}" },
            {
              call: "POST /charges/${page.data.0.id}/refund",
              body: { amount: "${first.amount}", description: "of ${first.id}" }
            }
          ]
        }
        const run = yield* pix(["fixtures", "run", "-", "--account", accountId, "--yes"], {
          env,
          input: JSON.stringify(fixture)
        })
        assert.strictEqual(run.code, 0, run.err)
        const after = yield* operate("GET", `/operator/v1/charges/${steps[0].id}`)
        assert.strictEqual(after.body["refunded_amount"], 4321)
      })
    )

    it.effect(
      "CLI-8, CLI-20: a fixture that moves money does nothing without --yes where nobody can answer, and names the sums",
      () =>
        Effect.gen(function* () {
          const { makeCaller, operate, operatorToken, operatorUrl } = yield* TestService
          const { accountId } = yield* makeCaller()
          const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
          const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
          const charge = {
            name: "charge",
            call: "POST /applications/${application.id}/checkout-charges",
            body: { amount: 5000, customer }
          }
          const steps = [
            charge,
            { call: "POST /simulator/charges/${charge.id}/pay" },
            {
              name: "payout",
              call: "POST /accounts/${account.id}/payouts",
              body: { amount: 1234, pix_key_type: "email", pix_key: "ana@example.com" }
            },
            { call: "POST /charges/${charge.id}/refund", body: { amount: 990 } },
            { call: "POST /charges/${charge.id}/refund", body: { amount: "${payout.amount}" } }
          ]
          const run = (fixture: ReadonlyArray<unknown>) =>
            pix(["fixtures", "run", "-", "--account", accountId], { env, input: JSON.stringify({ steps: fixture }) })
          const {
            body: { name }
          } = yield* operate<{ name: string }>("GET", `/operator/v1/accounts/${accountId}`)
          const { code, err, out } = yield* run(steps)
          assert.deepStrictEqual(
            [code, out, err],
            [
              2,
              "",
              `Send R$ 12,34 (twelve reais and thirty-four centavos) from account ${name} (${accountId}) to ana@example.com; then: ` +
                "POST /charges/${charge.id}/refund with R$ 9,90 (nine reais and ninety centavos); then: " +
                "POST /charges/${charge.id}/refund with an amount that an earlier step answers?\n" +
                "Nobody can answer here: add --yes to do it.\n"
            ]
          )
          const charges = yield* operate<Page>("GET", `/operator/v1/charges?account_id=${accountId}`)
          assert.deepStrictEqual(charges.body.data, [])
          // Steps that move no money need no answer.
          const created = yield* run([charge])
          assert.strictEqual(created.code, 0, created.err)
        })
    )

    it.effect("CLI-20: says what is wrong with a fixture before it calls anything", () =>
      Effect.sync(() => {
        const failure = (text: string) => {
          try {
            parseFixture(text, "f.json")
            return ""
          } catch (error) {
            return Object(error).message as string
          }
        }
        assert.strictEqual(failure("{"), "f.json is not JSON.")
        assert.strictEqual(failure("{}"), 'f.json has no "steps".')
        assert.strictEqual(failure('{ "steps": [{}] }'), 'Step 1 of f.json has no "call".')
        assert.include(failure('{ "steps": [{ "call": "POST /charge/x" }] }'), "No operation: POST /charge/x")
        assert.throws(() => resolved("${none.id}", { charge: { id: "c" } }), /Nothing is called \$\{none.id\}/)
      })
    )
  }
)
