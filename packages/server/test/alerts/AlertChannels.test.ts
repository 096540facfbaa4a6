/** Channels that alert operators: by e-mail, a signed webhook and Slack, once each, whatever one of them does. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { FAILURES_IN_A_ROW } from "@pix-payments/domain/Alert"
import { attemptKey } from "@pix-payments/domain/Signature"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { createHmac, randomUUID } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer } from "smtp-server"
import { claimDue, compose, finish, NAMED, PER_HOUR } from "../../src/alerts/AlertMessages.ts"
import { detect, detectAll, raise } from "../../src/alerts/Alerts.ts"
import { inIndexOrder } from "../../src/database/statements/Paging.ts"
import { overdueRefundOf, overdueReturn } from "../support/Overdue.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { type Fields, TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

/** A mail server on loopback. It refuses the first message, as a greylist does. */
const mails: Array<string> = []
let refused = 0
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS"],
  onData: (stream, _session, done) => {
    let text = ""
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()))
    stream.on("end", () => {
      mails.push(text)
      if (refused++ === 0) return done(new Error("try again later"))
      done()
    })
  }
})
smtp.listen(0, "127.0.0.1")
await once(smtp.server, "listening")
const { port } = smtp.server.address() as AddressInfo

const settings = {
  webhookAllowedNetworks: loopback,
  smtpUrl: Option.some(Redacted.make(`smtp://127.0.0.1:${port}`)),
  smtpFrom: "pix@example.com"
}

const PATH = "/operator/v1/alert-channels"
const everything = [
  "exception.opened",
  "dispute.deadline",
  "approval.waiting",
  "endpoint.failing",
  "certificate.ending",
  "ledger.differs"
]

const makeChannel = (fields: Fields) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    const { body, status, text } = yield* operate<{ id: string } & Fields>("POST", PATH, {
      body: { name: "Plantão", events: everything, ...fields }
    })
    assert.strictEqual(status, 201, text)
    return body
  })

const remove = (id: string) => TestService.use(({ operate }) => operate("DELETE", `${PATH}/${id}`))

const alert = (key: string, isUrgent = false) =>
  raise({ key, event: "exception.opened", title: `Exception ${key}`, path: `/exceptions/${key}`, isUrgent })

/** All that is due of a channel now, as its own message. */
const messagesOf = (id: string) =>
  Effect.map(
    SqlClient.use(
      (sql) =>
        sql<{
          count: number
          id: string
        }>`SELECT id, count FROM alert_messages WHERE channel_id = ${id}::uuid ORDER BY created_at, id`
    ),
    (rows) => rows
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Alert channels", (it) => {
  it.effect(
    "OPR-315, OPR-316: are added, shown without secrets, changed and removed; targets are checked as webhooks' are",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const bad: ReadonlyArray<readonly [Fields, string]> = [
          [{ kind: "webhook", target: "http://10.0.0.1/" }, "target"],
          [{ kind: "webhook", target: "http://169.254.169.254/latest" }, "target"],
          [{ kind: "slack", target: "ftp://127.0.0.1/" }, "target"],
          [{ kind: "email", target: "not an address" }, "target"],
          [{ kind: "email", target: "a@example.com", secret: "12345678" }, "secret"],
          [{ kind: "pigeon", target: "a@example.com" }, "kind"],
          [{ kind: "email", target: "a@example.com", events: ["nothing"] }, "events"],
          [{ kind: "email", target: "a@example.com", quiet_hours: { from: "25:00", until: "07:00" } }, "quiet_hours"]
        ]
        for (const [fields, field] of bad) {
          const answer = yield* operate<{ error: { details: ReadonlyArray<string> } }>("POST", PATH, {
            body: { name: "x", events: everything, ...fields }
          })
          assert.strictEqual(answer.status, 400)
          assert.include(answer.text, field)
        }
        const url = "http://127.0.0.1:9/services/T0/B0/the-secret-part"
        const slack = yield* makeChannel({ kind: "slack", target: url, quiet_hours: { from: "22:00", until: "07:00" } })
        assert.strictEqual(slack["target"], "http://127.0.0.1:9")
        assert.deepStrictEqual(slack["quiet_hours"], { from: "22:00", until: "07:00" })
        const sql = yield* SqlClient
        const [stored] = yield* sql<{
          all: string
        }>`SELECT c::text AS all FROM alert_channels c WHERE id = ${slack.id}::uuid`
        assert.notInclude(stored!.all, "the-secret-part")
        const changed = yield* operate<Fields>("PATCH", `${PATH}/${slack.id}`, {
          body: { name: "Noite", quiet_hours: null, active: false }
        })
        assert.deepInclude(changed.body, { name: "Noite", quiet_hours: null, active: false, has_secret: true })
        const tested = yield* operate("POST", `${PATH}/${slack.id}/test`)
        assert.strictEqual(tested.status, 202, tested.text)
        const tests =
          yield* sql`SELECT FROM alerts WHERE channel_id = ${slack.id}::uuid AND event = 'test' AND is_urgent`
        assert.strictEqual(tests.length, 1)
        assert.strictEqual((yield* remove(slack.id)).status, 204)
        assert.strictEqual((yield* operate("GET", `${PATH}/${slack.id}`)).status, 404)
        const { text } = yield* operate("GET", "/operator/v1/audit?limit=10")
        for (const action of ["create", "update", "delete"]) assert.include(text, `alert_channels.${action}`)
        assert.notInclude(text, "the-secret-part")
      })
  )

  it.effect(
    "OPR-318, OPR-319: an alert reaches each kind, is repeated under its Message-ID, and one that hangs holds up no other",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const hanging = yield* receiver(() => {})
        const good = yield* receiver()
        const chat = yield* receiver()
        const secret = "segredo do plantão"
        const slow = yield* makeChannel({ kind: "webhook", target: hanging.url })
        const email = yield* makeChannel({ kind: "email", target: "plantao@example.com" })
        const webhook = yield* makeChannel({ kind: "webhook", target: good.url, secret })
        const slack = yield* makeChannel({ kind: "slack", target: chat.url })
        yield* alert("one", true)
        yield* alert("one", true)
        const [posted] = yield* eventually(
          Effect.sync(() => good.received),
          ({ length }) => length === 1
        )
        const { headers } = posted!
        const body = posted!.bytes.toString()
        const parsed = JSON.parse(body) as { id: string; count: number; alerts: ReadonlyArray<Fields> }
        assert.strictEqual(parsed.count, 1)
        assert.deepStrictEqual(parsed.alerts, [
          { event: "exception.opened", title: "Exception one", path: "/exceptions/one" }
        ])
        assert.strictEqual(headers["webhook-id"], parsed.id)
        const key = attemptKey(secret)
        const signature = createHmac("sha256", key)
          .update(`${parsed.id}.${String(headers["webhook-timestamp"])}.${body}`)
          .digest("base64")
        assert.strictEqual(headers["webhook-signature"], `v1,${signature}`)
        const [chatted] = yield* eventually(
          Effect.sync(() => chat.received),
          ({ length }) => length === 1
        )
        assert.match(
          (JSON.parse(chatted!.bytes.toString()) as { text: string }).text,
          /^Exception one \(\/exceptions\/one\)/
        )
        // The first mail is refused; its repeat has the same id and the same text.
        const sql = yield* SqlClient
        yield* eventually(
          Effect.sync(() => mails),
          ({ length }) => length === 1
        )
        yield* eventually(
          sql<{
            n: number
          }>`SELECT count(*)::integer AS n FROM alert_channels WHERE id = ${email.id}::uuid AND last_error IS NOT NULL`,
          ([row]) => row!.n === 1
        )
        yield* sql`UPDATE alert_messages SET due_at = now() WHERE channel_id = ${email.id}::uuid AND due_at IS NOT NULL`
        yield* eventually(
          Effect.sync(() => mails),
          ({ length }) => length === 2
        )
        const idsOf = mails.map((mail) => /^Message-ID: <(.+)@pix-payments>/im.exec(mail)?.[1])
        const [stored] = yield* messagesOf(email.id)
        assert.deepStrictEqual(idsOf, [stored!.id, stored!.id])
        assert.match(mails[1]!, /^Subject: Pix: Exception one/m)
        const shown = yield* eventually(
          operate<Fields>("GET", `${PATH}/${email.id}`),
          (answer) => answer.body["last_sent_at"] !== null
        )
        assert.isNull(shown.body["last_error"])
        for (const channel of [slow, email, webhook, slack]) yield* remove(channel.id)
      })
  )

  it.effect(
    "OPR-317, OPR-318: what is found together is one message; beyond the limit of an hour it waits, and none is lost",
    () =>
      Effect.gen(function* () {
        // Nobody sends: the channel is inactive for the loops of the service, and composed by hand.
        const sql = yield* SqlClient
        const { url } = yield* receiver()
        const channel = yield* makeChannel({
          kind: "webhook",
          target: url,
          quiet_hours: { from: "00:00", until: "23:59" }
        })
        yield* sql`UPDATE alert_channels SET quiet_from = (now() AT TIME ZONE 'America/Sao_Paulo')::time - interval '1 hour',
        quiet_until = (now() AT TIME ZONE 'America/Sao_Paulo')::time + interval '1 hour' WHERE id = ${channel.id}::uuid`
        for (let i = 0; i < NAMED + 5; i++) yield* alert(`flood-${i}`)
        yield* compose
        assert.deepStrictEqual(yield* messagesOf(channel.id), [], "quiet hours")
        yield* alert("urgent", true)
        yield* eventually(Effect.andThen(compose, messagesOf(channel.id)), ({ length }) => length === 1)
        assert.strictEqual((yield* messagesOf(channel.id))[0]!.count, 1, "urgent alone")
        yield* sql`UPDATE alert_channels SET quiet_from = NULL, quiet_until = NULL WHERE id = ${channel.id}::uuid`
        yield* eventually(Effect.andThen(compose, messagesOf(channel.id)), ({ length }) => length === 2)
        assert.strictEqual((yield* messagesOf(channel.id))[1]!.count, NAMED + 5)
        for (let i = 0; i < PER_HOUR + 3; i++) {
          yield* alert(`later-${i}`)
          yield* compose
        }
        const messages = yield* messagesOf(channel.id)
        assert.strictEqual(messages.length, PER_HOUR)
        const waiting = sql<{
          n: number
        }>`SELECT count(*)::integer AS n FROM alerts WHERE channel_id = ${channel.id}::uuid AND message_id IS NULL`
        assert.isAbove((yield* waiting)[0]!.n, 0)
        yield* sql`UPDATE alert_messages SET created_at = created_at - interval '1 hour' WHERE channel_id = ${channel.id}::uuid`
        // The service's own loop may be composing.
        yield* eventually(Effect.andThen(compose, waiting), ([row]) => row!.n === 0)
        const total = (yield* messagesOf(channel.id)).reduce((sum, { count }) => sum + count, 0)
        assert.strictEqual(total, 1 + NAMED + 5 + PER_HOUR + 3, "each once")
        yield* remove(channel.id)
      })
  )

  it.effect("OPR-317: what waits for people is found in the database, once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const channel = yield* makeChannel({ kind: "webhook", target: "http://127.0.0.1:9/" })
      yield* sql`INSERT INTO disputes (id, charge_id, account_id, status, amount, opened_at, defense_deadline_at, arrived_resolved, sequence)
        SELECT uuidv7(), uuidv7(), ${accountId}::uuid, 'open', 123456, now(), now() + make_interval(hours => h), false, 1
        FROM unnest(ARRAY[5, 20, 40, 100]) h`
      yield* sql`INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at, certificate_warned_days)
        SELECT uuidv7(), 'Banco ' || days, 'api-pix', 'efi', 'k' || days || '@example.com', now(), days FROM unnest(ARRAY[7, 1]) days`
      for (let i = 0; i < 3; i++) yield* detect
      const found = yield* sql<{ event: string; title: string; is_urgent: boolean }>`
        SELECT event, title, is_urgent FROM alerts WHERE channel_id = ${channel.id}::uuid ORDER BY event, title`
      assert.deepStrictEqual(found.map(({ event, is_urgent: isUrgent }) => `${event} ${isUrgent}`).toSorted(), [
        "certificate.ending false",
        "certificate.ending true",
        "dispute.deadline false",
        "dispute.deadline false",
        "dispute.deadline true"
      ])
      const titles = found.map(({ title }) => title)
      assert.match(titles.join("\n"), /of R\$ 1[.,]234[.,]56: less than 6 hours left for its defense/)
      const named = yield* sql<{
        id: string
      }>`SELECT id FROM disputes WHERE account_id = ${accountId}::uuid ORDER BY defense_deadline_at`
      assert.include(titles.join("\n"), `Dispute ${shortIdOf(named[0]!.id)} of`)
      assert.includeMembers(titles, [
        "The certificate of connection Banco 7 ends within 7 days",
        "The certificate of connection Banco 1 ends within 1 day"
      ])
      yield* sql`UPDATE disputes SET defense_deadline_at = now() + interval '3 hours' WHERE account_id = ${accountId}::uuid`
      yield* detect
      const [{ n }] = yield* sql<{ n: number }>`SELECT count(*)::integer AS n FROM alerts
        WHERE channel_id = ${channel.id}::uuid AND is_urgent` as unknown as Effect.Effect<[{ n: number }]>
      assert.strictEqual(n, 5, "each threshold is an alert")
      yield* remove(channel.id)
    })
  )

  it.effect("OPR-317: an endpoint that fails now is found behind any number of disabled ones that failed before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller } = yield* TestService
      const endpoint = Effect.flatMap(makeCaller(), ({ key }) => Effect.map(registered(key), ({ id }) => id))
      const disabled = yield* endpoint
      yield* sql`UPDATE webhook_endpoints SET disabled_at = now() WHERE id = ${disabled}::uuid`
      // Without triggers: each row would read all endpoints of its account.
      yield* sql.withTransaction(
        Effect.andThen(
          sql`SET LOCAL session_replication_role = replica`,
          sql`INSERT INTO webhook_endpoints (id, account_id, application_id, url, normalized_url, destination, events,
              active, created_at, disabled_at)
            SELECT uuidv7(), account_id, application_id, url, n::text, destination, events, n % 2 = 0, created_at,
              CASE WHEN n % 2 = 0 THEN now() END
            FROM webhook_endpoints w, generate_series(1, 2000) n WHERE w.id = ${disabled}::uuid`
        )
      )
      const failing = yield* endpoint
      const nearly = yield* endpoint
      yield* sql`INSERT INTO webhook_endpoint_health (endpoint_id, consecutive_failures, failures, last_failure_at)
        SELECT id, ${FAILURES_IN_A_ROW}::integer - CASE WHEN id = ${nearly}::uuid THEN 1 ELSE 0 END, 20,
          now() - CASE WHEN id IN (${failing}::uuid, ${nearly}::uuid) THEN interval '0' ELSE interval '1 hour' END
        FROM webhook_endpoints`
      const channel = yield* makeChannel({ kind: "webhook", target: "http://127.0.0.1:9/" })
      yield* detect
      assert.deepStrictEqual(
        yield* sql`SELECT path FROM alerts WHERE channel_id = ${channel.id}::uuid AND event = 'endpoint.failing'`,
        [{ path: `/endpoints/${failing}` }]
      )
      const plan = yield* inIndexOrder(
        Effect.andThen(sql`SET LOCAL enable_seqscan = off`, sql.unsafe(`EXPLAIN ${detectAll}`))
      )
      assert.match(JSON.stringify(plan), /Index Scan Backward using webhook_endpoint_health_alerts/)
      yield* remove(channel.id)
    })
  )

  it.effect("OPR-317: an order without a definite answer is found 24 hours after its first request, once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const channel = yield* makeChannel({
        kind: "webhook",
        target: "http://127.0.0.1:9/",
        events: ["order.unanswered"]
      })
      const refund = yield* overdueRefundOf({}, 123)
      const exception = yield* overdueReturn
      const [charge, dispute] = [randomUUID(), randomUUID()]
      // What was asked a moment less than 24 hours ago, was never asked, or has an outcome, is none.
      yield* sql`INSERT INTO acquirer_orders (id, kind, charge_id, dispute_id, amount, pending, state, created_at, requested_at)
        SELECT uuidv7(), kind, CASE kind WHEN 'cancel' THEN coalesce(charge_id::uuid, uuidv7()) END, dispute_id::uuid, 0, 0, state, now() - interval '3 days', now() - asked::interval
        FROM (VALUES ('cancel', ${charge}, NULL, 'ordered', '24 hours'), ('defend', NULL, ${dispute}, 'ordered', '2 days'),
          ('cancel', NULL, NULL, 'ordered', '23 hours 59 minutes'), ('cancel', NULL, NULL, 'ordered', NULL),
          ('cancel', NULL, NULL, 'done', '2 days'), ('cancel', NULL, NULL, 'refused', '2 days'))
          AS o (kind, charge_id, dispute_id, state, asked)`
      for (let i = 0; i < 2; i++) yield* detect
      const silent = "without a definite answer of the bank for 24 hours"
      const found = yield* sql<{ title: string; path: string; event: string; is_urgent: boolean }>`
        SELECT event, title, path, is_urgent FROM alerts WHERE channel_id = ${channel.id}::uuid ORDER BY title COLLATE "C"`
      const expected = [
        [`Cancellation of charge ${shortIdOf(charge)}`, `/charges/${charge}`],
        [`Defense of dispute ${shortIdOf(dispute)}`, `/disputes/${dispute}`],
        [`Refund ${shortIdOf(refund.id)} of R$ 1.23`, `/charges/${refund.chargeId}`],
        [`Return of exception ${shortIdOf(exception)} of R$ 30.00`, `/exceptions/${exception}`]
      ]
      assert.deepStrictEqual(
        found,
        expected.map(([of, path]) => ({
          event: "order.unanswered",
          title: `${of}: ${silent}`,
          path: path!,
          is_urgent: false
        }))
      )
      const plan = yield* inIndexOrder(
        Effect.andThen(sql`SET LOCAL enable_seqscan = off`, sql.unsafe(`EXPLAIN ${detectAll}`))
      )
      assert.include(JSON.stringify(plan), "using acquirer_orders_oldest")
      yield* remove(channel.id)
    })
  )

  it.effect("OPR-319: a message whose process died while it sent is due again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const channel = yield* makeChannel({ kind: "webhook", target: "http://127.0.0.1:9/" })
      yield* sql`UPDATE alert_channels SET active = false WHERE id = ${channel.id}::uuid`
      yield* sql`INSERT INTO alert_messages (id, channel_id, alerts, count, created_at, due_at)
        VALUES (uuidv7(), ${channel.id}::uuid, '[]', 1, now(), now())`
      assert.deepStrictEqual(
        (yield* claimDue([])).filter((each) => each.channel_id === channel.id),
        [],
        "inactive"
      )
      // In one commit: the service's own loop would send it.
      yield* sql.withTransaction(
        Effect.andThen(sql`UPDATE alert_channels SET active = true WHERE id = ${channel.id}::uuid`, claimDue([]))
      )
      const due = sql<{ n: number }>`SELECT count(*)::integer AS n FROM alert_messages
        WHERE channel_id = ${channel.id}::uuid AND due_at IS NOT NULL AND attempts > 0`
      assert.strictEqual((yield* due)[0]!.n, 1)
      const [message] = yield* messagesOf(channel.id)
      yield* finish({ id: message!.id, channel_id: channel.id }, undefined)
      assert.strictEqual((yield* due)[0]!.n, 0)
      yield* remove(channel.id)
    })
  )
})
