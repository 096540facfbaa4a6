/** `POST /v1/charges`: what each field accepts, by cases. */
import { assert, describe, layer } from "@effect/vitest"
import { type Charge } from "@pix-payments/domain/Charge"
import type { ErrorCode } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import {
  assertRefused,
  create,
  listed,
  retrieve,
  someCharge,
  someCustomer,
  withCustomer
} from "../../support/ChargeRequests.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const emoji = (count: number) => "🥖".repeat(count)
layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "Fields of POST /v1/charges",
  (it) => {
    const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

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

    const textFields = [
      "description",
      "reference",
      "webhook_secret",
      "customer.name",
      "customer.phone",
      "customer.email"
    ]
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
  }
)
