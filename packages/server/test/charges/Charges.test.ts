/** What `POST /v1/charges` takes and gives, what becomes of a charge, and `GET /v1/charges/{id}`. */
import { assert, describe, layer } from "@effect/vitest"
import { parseBrCode } from "@pix-payments/domain/BrCode"
import { type Charge, CreateCharge } from "@pix-payments/domain/Charge"
import type { ErrorCode } from "@pix-payments/domain/ErrorCode"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import {
  assertRefused,
  create,
  created,
  type ErrorBody,
  instant,
  listed,
  retrieve,
  someCharge,
  someCustomer,
  until,
  uuid7
} from "../support/ChargeRequests.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const emoji = (count: number) => "🥖".repeat(count)
const withCustomer = (fields: Fields): Fields => ({ customer: { ...someCustomer, ...fields } })

// So long that what a test sees is the creation's own doing, never recovery's.
const patient = TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } })

layer(patient, { excludeTestServices: true })("POST /v1/charges", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  describe("the answer", () => {
    it.effect(
      "API-1, API-4, CHG-18, CHG-22: Response 201 with a `charge` object: every field of the contract, with its type",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const { body, headers, status } = yield* create(key, {
            method: "pix",
            description: "Pão francês",
            reference: "pedido-1",
            expires_in: 3600,
            webhook_url: "https://loja.example/hook",
            webhook_secret: "segredo-segredo",
            ...withCustomer({ phone: "+5511999998888" })
          })
          assert.strictEqual(status, 201)
          assert.match(String(headers["content-type"]), /^application\/json/)
          assert.isUndefined(headers["idempotent-replayed"])
          const { created_at, expires_at, id, pix, ...rest } = body
          assert.match(id, uuid7)
          assert.match(created_at, instant)
          assert.match(String(expires_at), instant)
          assert.strictEqual(Date.parse(String(expires_at)) - Date.parse(created_at), 3_600_000)
          assert.hasAllKeys(pix, ["br_code", "end_to_end_id"])
          assert.match(String(pix.br_code), /^000201.*5303986.*540510\.00.*6304[0-9A-F]{4}$/)
          assert.isNull(pix.end_to_end_id)
          assert.deepStrictEqual<unknown>(rest, {
            object: "charge",
            status: "pending",
            amount: 1000,
            currency: "BRL",
            method: "pix",
            description: "Pão francês",
            reference: "pedido-1",
            customer: { name: "Maria Silva", email: "maria@example.com", document: "52998224725" },
            receiver: {
              name: "Padaria do Zé",
              document: "11222333000181",
              pix_key: "11222333000181",
              pix_key_type: "cnpj",
              institution_name: "Simulated Acquirer",
              institution_ispb: "00000000",
              branch: "0001",
              account: "1",
              account_type: "payment"
            },
            webhook_url: "https://loja.example/hook",
            paid_at: null,
            failure_reason: null,
            sequence: 2
          })
        })
    )

    it.effect(
      "CHG-22: GET /v1/charges/{id}: response 200 with the same `charge` object, and the list shows it as well",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const charge = yield* created(key, { description: "x", reference: "y" })
          const read = yield* retrieve(key, charge.id)
          assert.strictEqual(read.status, 200)
          assert.deepStrictEqual(read.body, charge)
          assert.deepStrictEqual(yield* listed(key), { object: "list", data: [charge], has_more: false })
        })
    )

    it.effect("CHG-14: optional fields that are absent are null, and the account default of 86400 s applies", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charge = yield* created(key)
        assert.isNull(charge.description)
        assert.isNull(charge.reference)
        assert.isNull(charge.webhook_url)
        assert.strictEqual(charge.method, "pix")
        assert.strictEqual(Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at), 86_400_000)
      })
    )

    it.effect("CHG-14: default `expires_in`: a setting of each account", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller({ account: { default_expires_in: 600 } })
        const charge = yield* created(key)
        assert.strictEqual(Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at), 600_000)
      })
    )

    it.effect("API-6: `null` for an optional field is the same as absent on creation", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charge = yield* created(key, {
          method: null,
          description: null,
          reference: null,
          expires_in: null,
          webhook_url: null,
          webhook_secret: null,
          ...withCustomer({ phone: null })
        })
        assert.strictEqual(charge.method, "pix")
        assert.deepStrictEqual([charge.description, charge.reference, charge.webhook_url], [null, null, null])
        assert.strictEqual(Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at), 86_400_000)
      })
    )

    it.effect("CHG-21: The secret is never returned", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const secret = "segredo-que-nunca-volta"
        const made = yield* create(key, { webhook_url: "https://loja.example/", webhook_secret: secret })
        const read = yield* retrieve(key, made.body.id)
        const list = yield* call("GET", "/v1/charges", { key })
        for (const { text } of [made, read, list]) assert.notInclude(text, "segredo")
      })
    )

    it.effect("API-5: unknown fields in a request body: ignored, `__proto__` and `constructor` among them", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const body = `{"amount":1000,"id":"x","status":"paid","paid_at":"2020-01-01T00:00:00Z","__proto__":{"reference":"p",
          "expires_in":60},"constructor":{"prototype":{"x":1}},"customer":{"name":"Maria","email":"m@example.com",
          "document":"52998224725","__proto__":{"phone":5},"x":[[]]},"toString":1,"hasOwnProperty":null}`
        const answer = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body })
        assert.strictEqual(answer.status, 201, answer.text)
        assert.strictEqual(answer.body.status, "pending")
        assert.isNull(answer.body.reference)
        assert.isNull(answer.body.paid_at)
        assert.strictEqual(Date.parse(String(answer.body.expires_at)) - Date.parse(answer.body.created_at), 86_400_000)
        assert.hasAllKeys(answer.body.customer, ["name", "email", "document"])
      })
    )

    it.effect("API-3: ids: UUIDv7, so that id order follows creation order", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charges = yield* Effect.forEach(Array.from({ length: 20 }), () => created(key))
        const ids = charges.map(({ id }) => id)
        assert.deepStrictEqual(ids.toSorted(), ids)
        for (const { created_at, id } of charges) {
          assert.strictEqual(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16), Date.parse(created_at))
        }
      })
    )
  })

  interface Case {
    readonly name: string
    readonly fields: Fields
    /** Without a code the charge is made. */
    readonly code?: ErrorCode
    readonly details?: ReadonlyArray<string>
    readonly sees?: (charge: Charge) => unknown
    readonly seen?: unknown
  }

  const ok = (name: string, fields: Fields, sees?: Case["sees"], seen?: unknown): Case =>
    sees === undefined ? { name, fields } : { name, fields, sees, seen }
  const refused = (name: string, fields: Fields, code: ErrorCode, details?: ReadonlyArray<string>): Case =>
    details === undefined ? { name, fields, code } : { name, fields, code, details }
  const invalid = (name: string, fields: Fields, ...details: ReadonlyArray<string>): Case =>
    refused(name, fields, "VALIDATION_ERROR", details)

  const table = (title: string, cases: ReadonlyArray<Case>) =>
    describe(title, () => {
      for (const { name, fields, code, details, sees, seen } of cases) {
        it.effect(`${name}: ${code ?? "201"}`, () =>
          Effect.gen(function* () {
            const { key } = yield* caller
            const answer = yield* create(key, fields)
            if (code === undefined) {
              assert.strictEqual(answer.status, 201, answer.text)
              if (sees !== undefined) assert.deepStrictEqual(sees(answer.body), seen)
              assert.deepStrictEqual((yield* retrieve(key, answer.body.id)).body, answer.body)
            } else {
              assertRefused(answer, code, details)
              assert.deepStrictEqual((yield* listed(key)).data, [])
            }
          })
        )
      }
    })

  const amount = (value: unknown): Fields => ({ amount: value })
  table("CHG-10: `amount`: integer (cents), minimum 100, at most 999999999999", [
    ok("100", amount(100), (charge) => charge.amount, 100),
    ok("999999999999", amount(999_999_999_999), (charge) => charge.amount, 999_999_999_999),
    refused("99", amount(99), "AMOUNT_BELOW_MINIMUM", ["amount"]),
    refused("1", amount(1), "AMOUNT_BELOW_MINIMUM", ["amount"]),
    refused("zero", amount(0), "AMOUNT_BELOW_MINIMUM", ["amount"]),
    refused("negative zero", amount(-0), "AMOUNT_BELOW_MINIMUM", ["amount"]),
    refused("negative", amount(-1), "AMOUNT_BELOW_MINIMUM", ["amount"]),
    refused("far below zero", amount(-999_999_999_999), "AMOUNT_BELOW_MINIMUM", ["amount"]),
    invalid("above the largest", amount(1_000_000_000_000), "amount"),
    invalid("2^53 + 1", amount(2 ** 53), "amount"),
    invalid("100.5", amount(100.5), "amount"),
    invalid("0.5: no integer, whatever its size", amount(0.5), "amount"),
    invalid("a string", amount("100"), "amount"),
    invalid("an empty string", amount(""), "amount"),
    invalid("null", amount(null), "amount"),
    invalid("true", amount(true), "amount"),
    invalid("an array", amount([100]), "amount"),
    invalid("an object", amount({ valueOf: 100 }), "amount"),
    invalid("absent", amount(undefined), "amount")
  ])

  it.effect.each([
    { text: "1e400", code: "VALIDATION_ERROR" },
    { text: "-1e400", code: "VALIDATION_ERROR" },
    { text: "100.00000000000001", code: "VALIDATION_ERROR" },
    { text: "99.0", code: "AMOUNT_BELOW_MINIMUM" },
    { text: "1e2", code: undefined },
    { text: "100.0", code: undefined }
  ] as const)("CHG-10: `amount` as the JSON number $text", ({ code, text }) =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      const body = JSON.stringify(someCharge).replace("1000", text)
      const answer = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body })
      if (code === undefined) assert.deepStrictEqual([answer.status, answer.body.amount], [201, 100])
      else assertRefused(answer, code, ["amount"])
    })
  )

  const method = (value: unknown): Fields => ({ method: value })
  table("CHG-11: `method`: only `pix`; default `pix`", [
    ok("pix", method("pix"), (charge) => charge.method, "pix"),
    ok("absent", {}, (charge) => charge.method, "pix"),
    ok("null", method(null), (charge) => charge.method, "pix"),
    ...["boleto", "card", "ted", "PIX", "pix ", ""].map((value) =>
      refused(JSON.stringify(value), method(value), "METHOD_NOT_SUPPORTED", ["method"])
    ),
    invalid("a number", method(1), "method"),
    invalid("an array", method(["pix"]), "method")
  ])

  const requiredOfCustomer = ["customer.name", "customer.email", "customer.document"]
  table("CHG-12: `customer`: missing `customer` lists its required fields", [
    invalid("absent", { customer: undefined }, ...requiredOfCustomer),
    invalid("null", { customer: null }, ...requiredOfCustomer),
    invalid("empty", { customer: {} }, ...requiredOfCustomer),
    invalid("a string", { customer: "Maria" }, "customer"),
    invalid("an array", { customer: [someCustomer] }, "customer"),
    invalid("a number", { customer: 1 }, "customer"),
    ...["name", "email", "document"].flatMap((field) =>
      [undefined, null, 5, true, {}, []].map((value) =>
        invalid(`${field} is ${JSON.stringify(value)}`, withCustomer({ [field]: value }), `customer.${field}`)
      )
    )
  ])

  const nameOf = (charge: Charge) => charge.customer?.name
  table("CHG-12, API-10: `customer.name`: 1 to 200 code points", [
    invalid("0", withCustomer({ name: "" }), "customer.name"),
    ok("1", withCustomer({ name: "Z" }), nameOf, "Z"),
    ok("1 emoji", withCustomer({ name: emoji(1) }), nameOf, emoji(1)),
    ok("200", withCustomer({ name: "é".repeat(200) }), nameOf, "é".repeat(200)),
    ok("200 emoji", withCustomer({ name: emoji(200) }), nameOf, emoji(200)),
    invalid("201", withCustomer({ name: "é".repeat(201) }), "customer.name"),
    invalid("201 emoji", withCustomer({ name: emoji(201) }), "customer.name"),
    ok(
      "quotes, backslashes and SQL",
      withCustomer({ name: `'; DROP TABLE "charges"; --\\` }),
      nameOf,
      `'; DROP TABLE "charges"; --\\`
    )
  ])

  // The longest domain that makes 254 characters with a local part of 64.
  const domain = `${"d".repeat(63)}.${"e".repeat(63)}.${"f".repeat(58)}.br`
  const emailOf = (charge: Charge) => charge.customer?.email
  table("CHG-12: `customer.email`: valid e-mail, at most 254", [
    ...[
      "m@example.com",
      "maria.silva+loja@sub.example.com.br",
      "o'neil_%x@example.co",
      `${"a".repeat(64)}@${domain}`
    ].map((email) => ok(email.slice(0, 40), withCustomer({ email }), emailOf, email)),
    ...[
      "",
      "maria",
      "maria@",
      "@example.com",
      "maria@example",
      "maria@@example.com",
      "maria@example..com",
      "maria@-example.com",
      "maria@example-.com",
      "maria silva@example.com",
      "maria@exam ple.com",
      "Maria <maria@example.com>",
      "maria@example.com\n",
      " maria@example.com",
      "maria@example.com,joao@example.com",
      `${"a".repeat(65)}@example.com`,
      `${"a".repeat(64)}@d${domain}`
    ].map((email) => invalid(JSON.stringify(email).slice(0, 40), withCustomer({ email }), "customer.email"))
  ])

  const documentOf = (charge: Charge) => charge.customer?.document
  const document = (value: string) => withCustomer({ document: value })
  table("CHG-12, API-11: `customer.document`: CPF or CNPJ, with or without mask; the check digits are validated", [
    ok("CPF", document("52998224725"), documentOf, "52998224725"),
    ok("CPF with mask", document("529.982.247-25"), documentOf, "52998224725"),
    ok("CPF with spaces", document(" 529 982 247 25 "), documentOf, "52998224725"),
    ok("CNPJ", document("11222333000181"), documentOf, "11222333000181"),
    ok("CNPJ with mask", document("11.222.333/0001-81"), documentOf, "11222333000181"),
    ok("alphanumeric CNPJ", document("12ABC34501DE35"), documentOf, "12ABC34501DE35"),
    ok("alphanumeric CNPJ with mask", document("12.ABC.345/01DE-35"), documentOf, "12ABC34501DE35"),
    ok("alphanumeric CNPJ in lower case, upper-cased", document("12abc34501de35"), documentOf, "12ABC34501DE35"),
    ...[
      "529.982.247-26",
      "52998224735",
      "11222333000182",
      "12ABC34501DE36",
      "111.111.111-11",
      "00000000000",
      "00.000.000/0000-00",
      "1234567890",
      "529982247250",
      "ABC.DEF.GHI-JK",
      "12ABC34501DEAB",
      "529_982_247_25",
      "５２９９８２２４７２５",
      "",
      "x".repeat(10_000)
    ].map((value) =>
      refused(JSON.stringify(value).slice(0, 40), document(value), "INVALID_DOCUMENT", ["customer.document"])
    ),
    invalid("control characters", document("529\u00009982247-25"), "customer.document")
  ])

  table("CHG-12: `customer.phone`: up to 32, optional", [
    ok("32", withCustomer({ phone: "9".repeat(32) })),
    ok("32 emoji", withCustomer({ phone: emoji(32) })),
    invalid("33", withCustomer({ phone: "9".repeat(33) }), "customer.phone"),
    invalid("a number", withCustomer({ phone: 11_999_998_888 }), "customer.phone")
  ])

  table("CHG-13: `description`: up to 140 characters", [
    ok("empty", { description: "" }, (charge) => charge.description, ""),
    ok("140", { description: "é".repeat(140) }, (charge) => charge.description, "é".repeat(140)),
    ok("140 emoji", { description: emoji(140) }, (charge) => charge.description, emoji(140)),
    invalid("141", { description: "é".repeat(141) }, "description"),
    invalid("141 emoji", { description: emoji(141) }, "description"),
    invalid("a number", { description: 5 }, "description"),
    ok("line breaks and tabs", { description: "a\tb\nc\r\nd" }, (charge) => charge.description, "a\tb\nc\r\nd")
  ])

  table("CHG-13: `reference`: up to 255 characters", [
    ok("255", { reference: "r".repeat(255) }, (charge) => charge.reference, "r".repeat(255)),
    ok("255 emoji", { reference: emoji(255) }, (charge) => charge.reference, emoji(255)),
    invalid("256", { reference: "r".repeat(256) }, "reference"),
    invalid("an object", { reference: {} }, "reference")
  ])

  const lifeOf = (charge: Charge) => Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at)
  const expiresIn = (value: unknown): Fields => ({ expires_in: value })
  table("CHG-14: `expires_in`: 60 to 604800 seconds", [
    invalid("59", expiresIn(59), "expires_in"),
    ok("60", expiresIn(60), lifeOf, 60_000),
    ok("604800", expiresIn(604_800), lifeOf, 604_800_000),
    invalid("604801", expiresIn(604_801), "expires_in"),
    invalid("zero", expiresIn(0), "expires_in"),
    invalid("negative", expiresIn(-60), "expires_in"),
    invalid("60.5", expiresIn(60.5), "expires_in"),
    invalid("a string", expiresIn("60"), "expires_in")
  ])

  const webhookUrl = (value: unknown): Fields => ({ webhook_url: value })
  const urlOf = (charge: Charge) => charge.webhook_url
  const urlOfLength = (length: number) => "https://loja.example/".padEnd(length, "h")
  table(
    "URL-1, URL-2, URL-3, URL-5: `webhook_url`: public http(s) URL, up to 2048 characters; refused before any charge is issued",
    [
      ok("https", webhookUrl("https://loja.example/hook?x=1#y"), urlOf, "https://loja.example/hook?x=1#y"),
      ok("http with a port", webhookUrl("http://loja.example:8080/"), urlOf, "http://loja.example:8080/"),
      ok(
        "as it was written, not normalised",
        webhookUrl("HTTPS://Loja.Example/a/../b"),
        urlOf,
        "HTTPS://Loja.Example/a/../b"
      ),
      ok("2048", webhookUrl(urlOfLength(2048)), urlOf, urlOfLength(2048)),
      invalid("2049", webhookUrl(urlOfLength(2049)), "webhook_url"),
      invalid("a number", webhookUrl(5), "webhook_url"),
      invalid("an array", webhookUrl(["https://loja.example/"]), "webhook_url"),
      invalid("NUL", webhookUrl("https://loja.example/\u0000"), "webhook_url"),
      invalid("a lone surrogate", webhookUrl("https://loja.example/\ud800"), "webhook_url"),
      ...[
        "",
        "loja",
        "loja.example/hook",
        "//loja.example/hook",
        "https://",
        "https:///",
        "ftp://loja.example/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ws://loja.example/",
        "data:text/plain,x",
        "https://user@loja.example/",
        "https://user:password@loja.example/",
        "https://:password@loja.example/",
        "https://loja.example:0/",
        "https://loja.example:65536/",
        "https://exa mple.com/",
        "http://localhost/",
        "http://LOCALHOST:3000/",
        "http://localhost./",
        "http://a.localhost/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://192.0.2.1/",
        "http://198.18.0.1/",
        "http://[::1]/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://[fc00::1]/",
        "http://[ff02::1]/",
        "http://[2001:db8::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://①②⑦.0.0.1/"
      ].map((value) =>
        refused(value === "" ? "empty" : value, webhookUrl(value), "INVALID_WEBHOOK_URL", ["webhook_url"])
      )
    ]
  )

  table("CHG-13: `webhook_secret` has no minimum and needs no `webhook_url`; at most 255", [
    ok("empty", { webhook_url: "https://loja.example/", webhook_secret: "" }),
    ok("1", { webhook_url: "https://loja.example/", webhook_secret: "s" }),
    ok("without webhook_url", { webhook_secret: "s" }),
    ok("255 emoji", { webhook_secret: emoji(255) }),
    invalid("256", { webhook_secret: "s".repeat(256) }, "webhook_secret"),
    invalid("a number", { webhook_secret: 12_345_678 }, "webhook_secret")
  ])

  const textFields = ["description", "reference", "webhook_secret", "customer.name", "customer.phone", "customer.email"]
  table(
    "API-10: control characters but line breaks and tabs are `VALIDATION_ERROR`; NUL always is; so is a lone surrogate",
    textFields.flatMap((path) =>
      ["\u0000", "\u0001", "\u0008", "\u000b", "\u001b", "\u007f", "\u0080", "\u009f", "\ud800", "\udc00"].map(
        (bad) => {
          const value = path === "customer.email" ? `maria${bad}@example.com` : `a${bad}b`
          const field = path.replace("customer.", "")
          return invalid(
            `${path} with ${JSON.stringify(bad)}`,
            path.startsWith("customer.") ? withCustomer({ [field]: value }) : { [field]: value },
            path
          )
        }
      )
    )
  )

  table("ERR-3: `VALIDATION_ERROR` (all bad fields at once)", [
    invalid(
      "every field",
      {
        amount: "x",
        method: 5,
        customer: { name: "", email: "x", document: 5, phone: 5 },
        description: 5,
        reference: 5,
        expires_in: 5,
        webhook_url: 5,
        webhook_secret: 5
      },
      "amount",
      "method",
      "customer.name",
      "customer.email",
      "customer.document",
      "customer.phone",
      "description",
      "reference",
      "expires_in",
      "webhook_url",
      "webhook_secret"
    ),
    invalid(
      "and none whose fault comes later in the order of checks",
      { amount: 1, method: "card", webhook_url: "x", description: 5, ...withCustomer({ document: "1", name: "" }) },
      "description",
      "customer.name"
    )
  ])

  describe("properties", () => {
    const AnyRequest = Schema.Struct({
      ...CreateCharge.fields,
      customer: Schema.Struct({
        ...CreateCharge.fields.customer.fields,
        email: Schema.String.check(Schema.isPattern(/^[a-z]{1,10}@[a-z]{1,10}\.[a-z]{2,3}$/))
      })
    })

    it.effect.prop(
      "CHG-22: any valid request is accepted, and comes back field by field",
      [AnyRequest],
      ([request]) =>
        Effect.gen(function* () {
          const { call, makeCaller } = yield* TestService
          const { key } = yield* makeCaller()
          const answer = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body: request })
          assert.strictEqual(answer.status, 201, answer.text)
          const read = yield* retrieve(key, answer.body.id)
          assert.deepStrictEqual(read.body, answer.body)
          const { email, name, document: payer } = request.customer
          assert.deepStrictEqual<unknown>(answer.body.customer, { name, email, document: payer })
          assert.strictEqual(answer.body.amount, request.amount)
          assert.strictEqual(answer.body.description, request.description ?? null)
          assert.strictEqual(answer.body.reference, request.reference ?? null)
          assert.strictEqual(answer.body.webhook_url, request.webhook_url ?? null)
          assert.strictEqual(lifeOf(answer.body), (request.expires_in ?? 86_400) * 1000)
        }),
      { arbitrary: { runs: 50 } }
    )

    const CodeUnits = Arbitrary.map(
      Arbitrary.array(
        Arbitrary.schema(
          Schema.Union([
            Schema.Int.check(Schema.isBetween({ minimum: 0x20, maximum: 0x7e })),
            Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })),
            Schema.Literals([9, 10, 13, 0, 0x85, 0x2028, 0xd83e, 0xdd56, 0xd83e, 0xdd56, 0xfffe, 0xffff])
          ])
        ),
        { maxLength: 8 }
      ),
      (units) => String.fromCharCode(...units)
    )

    it.effect.prop(
      "API-10: any string as description is given back, or is a `VALIDATION_ERROR` of it",
      [CodeUnits],
      ([text]) =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const answer = yield* create(key, { description: text })
          const isTextOfTheContract = text.isWellFormed() && !/\p{Cc}/u.test(text.replaceAll(/[\t\n\r]/g, ""))
          if (!isTextOfTheContract) return assertRefused(answer, "VALIDATION_ERROR", ["description"])
          assert.strictEqual(answer.status, 201, answer.text)
          assert.strictEqual(answer.body.description, text)
          assert.strictEqual((yield* retrieve(key, answer.body.id)).body.description, text)
        }),
      { arbitrary: { runs: 100 } }
    )

    const fieldNames = [...Object.keys(CreateCharge.fields), "x"]
    const AnyBody = Schema.Record(Schema.Literals(fieldNames as [string, ...Array<string>]), Schema.Json)

    it.effect.prop(
      "ERR-11: any JSON as a body is answered 201 or with a code of the contract, never 500",
      [AnyBody],
      ([body]) =>
        Effect.gen(function* () {
          const { call } = yield* TestService
          const { key } = yield* caller
          const answer = yield* call<ErrorBody>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body })
          assert.include([201, 400, 422], answer.status, answer.text)
        }),
      { arbitrary: { runs: 100 } }
    )

    it.effect.prop(
      "ERR-3, ERR-14: any JSON as a field is answered 201 or refused for that field",
      [
        Schema.Literals([
          "amount",
          "method",
          "description",
          "reference",
          "expires_in",
          "webhook_url",
          "webhook_secret"
        ]),
        Schema.Json
      ],
      ([field, value]) =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const answer = yield* create(key, { [field]: value })
          if (answer.status === 201) return
          assert.include([400, 422], answer.status, answer.text)
          assert.deepStrictEqual((answer.body as unknown as ErrorBody).details, [field])
        }),
      { arbitrary: { runs: 100 } }
    )
  })

  describe("the acquirer", () => {
    const refusal = { customer: { ...someCustomer, email: "refuse@simulator.test" } }

    it.effect(
      "CHG-1, CHG-3, CHG-23, IDEM-6: On refusal, the 422 body carries `charge_id`, and GET on it returns `failed` with `failure_reason`",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const idempotencyKey = newKey()
          const answer = yield* create(key, refusal, idempotencyKey)
          assertRefused(answer, "ACQUIRER_REJECTED")
          const { charge_id, message } = answer.body as unknown as ErrorBody
          assert.strictEqual(message, "simulated refusal")

          const { body, status } = yield* retrieve(key, String(charge_id))
          assert.strictEqual(status, 200)
          assert.strictEqual(body.id, charge_id)
          assert.strictEqual(body.status, "failed")
          assert.strictEqual(body.failure_reason, "simulated refusal")
          assert.deepStrictEqual(body.pix, { br_code: null, end_to_end_id: null })
          assert.isNull(body.receiver)
          assert.isNull(body.paid_at)

          for (const query of ["", "?status=failed"]) {
            assert.deepStrictEqual((yield* listed(key, query)).data, [body], `A refused charge still exists: ${query}`)
          }

          const replayed = yield* create(key, refusal, idempotencyKey)
          assert.deepStrictEqual([replayed.status, replayed.headers["idempotent-replayed"]], [201, "true"])
          assert.deepStrictEqual(replayed.body, body)

          const again = yield* create(key, {}, newKey())
          assert.strictEqual(again.status, 201, "a new key is needed to try again")
          assert.notStrictEqual(again.body.id, charge_id)
        })
    )

    it.effect("CHG-17: no account name makes a charge fail: the merchant name is transliterated", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        for (const [name, document, merchant] of [
          ["日本の店", "11222333000181", "PIX 11222333"],
          ["🍕", "52998224725", "PIX 982247"],
          ["Пекарня Ёж", "11222333000181", "Pekarnya Yozh"],
          ["Pão & Açúcar", "11222333000181", "Pao & Acucar"]
        ] as const) {
          const { key } = yield* makeCaller({ account: { name, document } })
          const { pix, receiver } = yield* created(key)
          assert.strictEqual(Result.getOrThrow(parseBrCode(String(pix.br_code))).merchantName, merchant)
          assert.strictEqual(receiver?.name, name)
        }
      })
    )

    it.effect(
      "CHG-1: The charge is stored before the acquirer is called; a caller that hangs up still gets its charge",
      () =>
        Effect.gen(function* () {
          const { call } = yield* TestService
          const { key } = yield* caller
          const idempotencyKey = newKey()
          const slow = { ...someCharge, customer: { ...someCustomer, email: "slow@simulator.test" } }
          const creation = yield* Effect.forkChild(call("POST", "/v1/charges", { key, idempotencyKey, body: slow }))
          const [stored] = (yield* until(listed(key), (list) => list.data.length > 0)).data
          assert.strictEqual(stored?.status, "processing")
          assert.deepStrictEqual(stored?.pix, { br_code: null, end_to_end_id: null })
          const id = String(stored?.id)
          assert.deepStrictEqual<unknown>((yield* listed(key, "?status=processing")).data, [stored])
          assert.deepStrictEqual<unknown>((yield* retrieve(key, id)).body, stored)

          yield* Fiber.interrupt(creation)
          const { body } = yield* until(retrieve(key, id), (answer) => answer.body.status !== "processing")
          assert.strictEqual(body.status, "pending")
          assert.isString(body.pix.br_code)
          const replayed = yield* call("POST", "/v1/charges", { key, idempotencyKey, body: slow })
          assert.strictEqual(replayed.body.id, body.id)
        })
    )

    it.effect("CHG-16, CHG-23: `paid` confirmed by the acquirer: `paid_at` and `pix.end_to_end_id` are filled", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { key } = yield* caller
        const { id } = yield* created(key)
        const paid = yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
        assert.strictEqual(paid.status, 200, paid.text)
        const { body } = yield* until(retrieve(key, id), (answer) => answer.body.status === "paid")
        assert.match(String(body.paid_at), instant)
        assert.match(String(body.pix.end_to_end_id), /^E\d{8}\d{12}[0-9A-Za-z]{11}$/)
        assert.isNull(body.failure_reason)
        assert.deepStrictEqual((yield* listed(key, "?status=paid")).data, [body])
        assert.deepStrictEqual((yield* listed(key, "?status=pending")).data, [])
      })
    )
  })

  describe("expiry", () => {
    const age = (id: string) =>
      Effect.flatMap(
        SqlClient,
        (sql) => sql`UPDATE charges SET expires_at = now() - interval '1 millisecond' WHERE id = ${id}::uuid`
      )

    it.effect("CHG-5: `expires_at` has passed without payment: `expired`, derived when the charge is read", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { key } = yield* caller
        const idempotencyKey = newKey()
        const { id } = yield* created(key, { expires_in: 60 }, idempotencyKey)
        yield* age(id)
        assert.strictEqual((yield* retrieve(key, id)).body.status, "expired")
        assert.strictEqual((yield* listed(key)).data[0]?.status, "expired")
        assert.strictEqual((yield* create(key, {}, idempotencyKey)).body.status, "expired", "a replay is a read")
        const [row] = yield* sql`SELECT status FROM charges WHERE id = ${id}::uuid`
        assert.deepStrictEqual(row, { status: "pending" })
      })
    )

    it.effect("CHG-5: `status=pending` leaves out what has expired and `status=expired` finds it", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const expired = yield* created(key)
        const pending = yield* created(key)
        yield* age(expired.id)
        const ids = (query: string) => Effect.map(listed(key, query), ({ data }) => data.map(({ id }) => id))
        assert.deepStrictEqual(yield* ids("?status=pending"), [pending.id])
        assert.deepStrictEqual(yield* ids("?status=expired"), [expired.id])
        assert.deepStrictEqual(yield* ids(""), [pending.id, expired.id])
      })
    )

    it.effect("CHG-5: a failed charge does not expire", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const answer = yield* create(key, withCustomer({ email: "refuse@simulator.test" }))
        const { charge_id } = answer.body as unknown as ErrorBody
        yield* age(String(charge_id))
        assert.strictEqual((yield* retrieve(key, String(charge_id))).body.status, "failed")
        assert.deepStrictEqual((yield* listed(key, "?status=expired")).data, [])
      })
    )

    it.effect("CHG-6: derived `expired→paid` when the acquirer confirms late", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { key } = yield* caller
        const { id } = yield* created(key)
        yield* age(id)
        const answer = yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
        assert.strictEqual(answer.status, 200, answer.text)
        yield* until(retrieve(key, id), ({ body }) => body.status === "paid")
        assert.deepStrictEqual((yield* listed(key, "?status=expired")).data, [])
      })
    )
  })

  it.effect("CHG-22: `customer` and `expires_at` may be null", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* caller
      const { id } = yield* created(key)
      yield* sql`UPDATE charges SET customer_name = NULL, customer_email = NULL, customer_document = NULL,
        expires_at = NULL, receiver = NULL WHERE id = ${id}::uuid`
      const { body } = yield* retrieve(key, id)
      assert.deepStrictEqual(
        [body.customer, body.expires_at, body.receiver, body.status],
        [null, null, null, "pending"]
      )
      assert.deepStrictEqual((yield* listed(key, "?status=pending")).data, [body])
    })
  )

  it.effect("CHG-24: `webhook_url` stays as it was at creation, whatever a repeat of the call says", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      const idempotencyKey = newKey()
      const charge = yield* created(key, { webhook_url: "https://loja.example/first" }, idempotencyKey)
      const repeat = yield* create(key, { webhook_url: "https://loja.example/second" }, idempotencyKey)
      assert.strictEqual(repeat.body.webhook_url, "https://loja.example/first")
      const body = { webhook_url: "https://loja.example/third" }
      for (const method of ["PATCH", "PUT", "POST"]) {
        assertRefused(yield* call(method, `/v1/charges/${charge.id}`, { key, body }), "METHOD_NOT_ALLOWED")
      }
      assertRefused(yield* call("PATCH", `/v1/payouts/${charge.id}`, { key, body }), "METHOD_NOT_ALLOWED")
      assert.strictEqual((yield* retrieve(key, charge.id)).body.webhook_url, "https://loja.example/first")
    })
  )

  it.effect("CHG-25: operators see that a charge has the origin `api`", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, applicationId, key } = yield* caller
      const charge = yield* created(key)
      const { body } = yield* operate("GET", `/operator/v1/charges/${charge.id}`)
      assert.deepInclude(body, { ...charge, origin: "api", account_id: accountId, application_id: applicationId })
    })
  )

  describe("who sees a charge", () => {
    it.effect("API-9, CHG-19: Unknown id or id of another account gives 404 `CHARGE_NOT_FOUND`", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const other = yield* caller
        const { id } = yield* created(key)
        assertRefused(yield* retrieve(other.key, id), "CHARGE_NOT_FOUND")
        assertRefused(yield* retrieve(other.key, "01a1fd37-d21e-717f-8451-d23f26a8797f"), "CHARGE_NOT_FOUND")
        assert.deepStrictEqual((yield* listed(other.key)).data, [])
      })
    )

    it.effect("CHG-19: a charge belongs to the account: its other applications see it", () =>
      Effect.gen(function* () {
        const { makeApplication, makeKey } = yield* TestService
        const { accountId, key } = yield* caller
        const other = yield* makeKey(yield* makeApplication(accountId))
        const charge = yield* created(key)
        assert.deepStrictEqual((yield* retrieve(other.key, charge.id)).body, charge)
        assert.deepStrictEqual((yield* listed(other.key)).data, [charge])
      })
    )

    it.effect("API-9, CHG-19: checkout charges are not visible under `/v1`", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { call } = yield* TestService
        const { key } = yield* caller
        const idempotencyKey = newKey()
        const { id } = yield* created(key, {}, idempotencyKey)
        yield* sql`UPDATE charges SET origin = 'checkout' WHERE id = ${id}::uuid`
        assertRefused(yield* retrieve(key, id), "CHARGE_NOT_FOUND")
        assert.deepStrictEqual((yield* listed(key)).data, [])
        const page = yield* call("GET", `/v1/charges?starting_after=${id}`, { key })
        assertRefused(page, "VALIDATION_ERROR", ["starting_after"])
        assertRefused(yield* create(key, { amount: 1 }, idempotencyKey), "AMOUNT_BELOW_MINIMUM", ["amount"])
        assert.notStrictEqual((yield* created(key, {}, idempotencyKey)).id, id, "nor are their keys")
      })
    )
  })
})

layer(TestService.layer({ settings: { acquirerTimeoutMs: 50 } }), { excludeTestServices: true })(
  "An acquirer that does not answer in time",
  (it) => {
    it.effect("CHG-4: the call waits for certainty, then answers 201 `processing`; recovery finishes it", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const charge = yield* created(key, withCustomer({ email: "timeout@simulator.test" }))
        assert.strictEqual(charge.status, "processing")
        assert.isNull(charge.pix.br_code)
        const { body } = yield* until(retrieve(key, charge.id), (answer) => answer.body.status !== "processing")
        assert.strictEqual(body.status, "pending")
        assert.strictEqual(body.expires_at, charge.expires_at, "`expires_at` counts from storing")
      })
    )
  }
)
