/** What the audit log has of changes of connections, over HTTP. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { Connection } from "@pix-payments/api/operator/Connections"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { approve, makeApprovers } from "../../support/Approvals.ts"
import { startDouble } from "../../support/Bank.ts"
import { connectionTo, connectTo, operatorCredentials } from "../../support/Connections.ts"
import { operated } from "../../support/Money.ts"
import { newestEntries } from "../../support/Operators.ts"
import { type Fields, TestService } from "../../support/TestService.ts"

layer(TestService.layer({ settings: { acquirer: "connections" } }), { excludeTestServices: true })(
  "The audit log of connections",
  (it) => {
    const newest = Effect.map(newestEntries(1), ([entry]) => entry!)

    /** No value of the credentials is in the text. */
    const assertWithoutValues = (entries: unknown, credentials: object) => {
      const text = JSON.stringify(entries)
      for (const [name, value] of Object.entries(credentials))
        assert.notInclude(text, JSON.stringify(value).slice(1, -1), name)
    }

    it.effect("OPR-50: entries of changes at the same time join, the values of one are those before the next", () =>
      Effect.gen(function* () {
        const { id, name } = yield* connectTo(yield* startDouble())
        const names = Array.from({ length: 12 }, (_, index) => `Bank ${index}`)
        yield* Effect.forEach(names, (each) => operated("PATCH", `/connections/${id}`, { name: each }), {
          concurrency: "unbounded",
          discard: true
        })
        const entries = (yield* newestEntries(12)).toReversed()
        const nameOf = (fields: unknown) => String((fields as Fields)["name"])
        const after = entries.map((entry) => nameOf(entry.after))
        assert.sameMembers(after, names)
        assert.deepStrictEqual(
          entries.map((entry) => nameOf(entry.before)),
          [name, ...after.slice(0, -1)]
        )
      })
    )

    it.effect("OPR-50, OPR-60: an entry has the fields before and after, and of credentials their names", () =>
      Effect.gen(function* () {
        const double = yield* startDouble()
        const credentials = operatorCredentials(double)
        const { id } = yield* connectTo(double)
        const { credentials: _, kind: _kind, ...visible } = connectionTo(double)
        const names = ["ca", "certificate", "client_id", "client_secret", "private_key"]
        const created = yield* newest
        assert.deepInclude<unknown>(created, {
          action: "connectionActions.create",
          resource_id: id,
          before: null,
          after: {
            ...visible,
            exception_rule: "hold",
            paused: false,
            payouts_paused: false,
            charges_paused: false,
            is_default: false,
            credentials: names
          }
        })
        assertWithoutValues(created, credentials)

        const entryOf = (body: Fields) => Effect.andThen(operated("PATCH", `/connections/${id}`, body), newest)
        const settings = visible["settings"] as Fields
        const changes: ReadonlyArray<readonly [Fields, Fields, Fields]> = [
          [{ paused: true }, { paused: false }, { paused: true }],
          [
            { exception_rule: "return", name: "Banco" },
            { exception_rule: "hold", name: "Bank" },
            { exception_rule: "return", name: "Banco" }
          ],
          [
            { settings: { base_url: `${double.baseUrl}/` } },
            { settings },
            { settings: { base_url: `${double.baseUrl}/` } }
          ],
          [
            { statement_account: { bank: "364", branch: "0001", number: "12345-6" } },
            { statement_account: null },
            { statement_account: { bank: "364", branch: "0001", number: "12345-6" } }
          ],
          [
            { credentials: { client_secret: double.clientSecret }, paused: false },
            { paused: true },
            { credentials: ["client_secret"], paused: false }
          ]
        ]
        for (const [body, before, after] of changes) {
          const entry = yield* entryOf(body)
          assert.deepInclude<unknown>(entry, { action: "connectionActions.update", resource_id: id, before, after })
          assertWithoutValues(entry, credentials)
        }
      })
    )

    it.effect("OPR-50: the entry of a webhook's registration has the URL and mtls that were registered before", () =>
      Effect.gen(function* () {
        const { id } = yield* connectTo(yield* startDouble())
        const register = (body: Fields) =>
          Effect.andThen(operated("POST", `/connections/${id}/register-webhook`, body), newest)
        const one = { url: "https://hooks.example.com", mtls: true }
        const other = { url: "https://other.example.com", mtls: false }
        assert.deepInclude<unknown>(yield* register(one), { before: { url: null, mtls: null }, after: one })
        assert.deepInclude<unknown>(yield* register(other), { before: one, after: other })
      })
    )

    it.effect(
      "OPR-50, OPR-60, OPR-118: so have the entries of what a second operator approved, and of its request",
      () =>
        Effect.gen(function* () {
          const { one, other } = yield* makeApprovers
          const double = yield* startDouble()
          const credentials = operatorCredentials(double)
          const entriesOf = Effect.fnUntraced(function* (method: string, path: string, body: Fields) {
            const asked = yield* one.call<Approval>(method, `/operator/v1${path}`, { body })
            assert.strictEqual(asked.status, 202, asked.text)
            const approved = yield* approve(other.call, asked.body.id)
            assert.strictEqual(approved.status, 200, approved.text)
            const entries = yield* newestEntries(3)
            assertWithoutValues(entries, credentials)
            const entry = entries.find(({ action }) => action.startsWith("connectionActions."))!
            assert.strictEqual(entry.operator_id, other.id)
            return { entry, id: approved.body.result_id! }
          })
          const made = yield* entriesOf("POST", "/connections", connectionTo(double))
          assert.deepInclude<unknown>(made.entry, { resource_id: made.id, before: null })
          assert.deepInclude<unknown>(made.entry.after, {
            pix_key: double.key,
            credentials: ["ca", "certificate", "client_id", "client_secret", "private_key"]
          })
          const { entry } = yield* entriesOf("PATCH", `/connections/${made.id}`, {
            exception_rule: "return",
            credentials: { client_id: "another-application", client_secret: double.clientSecret }
          })
          assert.deepInclude<unknown>(entry, {
            action: "connectionActions.update",
            resource_id: made.id,
            before: { exception_rule: "hold" },
            after: { exception_rule: "return", credentials: ["client_id", "client_secret"] }
          })
          assert.notInclude(JSON.stringify(yield* newestEntries(3)), "another-application")
          assert.strictEqual((yield* operated<Connection>("GET", `/connections/${made.id}`)).exception_rule, "return")
        })
    )
  }
)
