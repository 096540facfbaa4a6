/** `pix statement`, `pix closes` and `pix books check`. */
import { assert, describe, it as test } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Zip from "effect/encoding/Zip"
import * as Stream from "effect/Stream"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { asking, json, jsonLines, replying, serving } from "./support/Service.ts"

const ID = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"

const head = { object: "statement", book: "account", owner_id: ID, from: "2026-11-01", to: "2026-11-30", opening: 0 }
const entry = (position: number, day: string, net = 100) => ({
  id: `01a2027c-27ce-74b6-88f7-00000000000${position}`,
  object: "balance_transaction",
  type: "charge",
  position,
  day,
  amount: net,
  fee: 0,
  net,
  balance_after: net * position,
  created_at: `${day}T12:00:00.000Z`,
  end_to_end_id: `E${position}`,
  reference: position === 2 ? null : `order-${position}`,
  entry: { debit: "acquirer", credit: "available", amount: net, fee: null, debit_after: null, credit_after: net }
})
const close = (day: string, hash: string) => ({ object: "close", day, opening: 0, closing: 100, lines: 1, hash })
const end = { object: "statement_end", lines: 3, closing: 300 }

const text = (lines: ReadonlyArray<object>) => lines.map((line) => `${JSON.stringify(line)}\n`).join("")

const exported = [
  head,
  entry(1, "2026-11-24"),
  entry(2, "2026-11-25"),
  entry(3, "2026-11-26"),
  close("2026-11-24", "aa"),
  close("2026-11-25", "bb"),
  end
]

describe("pix books", () => {
  const folder = mkdtempSync(join(tmpdir(), "pix-books-"))
  const file = join(folder, "november.jsonl")
  writeFileSync(file, text(exported))

  const check = (lines: ReadonlyArray<object>, from = file) =>
    Effect.gen(function* () {
      const service = yield* replying(() => ({ status: 200, headers: jsonLines, body: text(lines) }))
      const { code, err, out } = yield* asking(service.port, "books", "check", from, "--json")
      return { code, err, problems: out === "" ? [] : (JSON.parse(out).problems as ReadonlyArray<string>) }
    })

  test.live(
    "CLI-41: an export is as the books are, also with what came since; what differs is named and ends with 1",
    () =>
      Effect.gen(function* () {
        const id = (position: number) => entry(position, "").id
        const cases: ReadonlyArray<readonly [lines: ReadonlyArray<object>, problems: ReadonlyArray<string>]> = [
          [exported, []],
          // Another day, and a close of the day that was open.
          [
            [...exported.slice(0, 4), entry(4, "2026-11-27"), ...exported.slice(4, 6), close("2026-11-26", "cc"), end],
            []
          ],
          [
            [head, entry(1, "2026-11-24", 900), ...exported.slice(2)],
            [
              `2026-11-24 ${id(1)}: the entry is another: amount was 100 and is 900, net was 100 and is 900, balance_after was 100 and is 900, entry.amount was 100 and is 900, entry.credit_after was 100 and is 900`
            ]
          ],
          [
            [head, { ...entry(1, "2026-11-24"), end_to_end_id: "E9", reference: null }, ...exported.slice(2)],
            [`2026-11-24 ${id(1)}: the entry is another: end_to_end_id was E1 and is E9`]
          ],
          // A reference that came after the export.
          [[...exported.slice(0, 2), { ...entry(2, "2026-11-25"), reference: "order-2" }, ...exported.slice(3)], []],
          [[head, entry(1, "2026-11-24"), ...exported.slice(3)], [`2026-11-25 ${id(2)}: the entry is gone`]],
          [
            [...exported.slice(0, 3), { ...entry(3, "2026-11-25"), id: id(9) }, ...exported.slice(3)],
            [`2026-11-25 ${id(9)}: the entry was added`]
          ],
          [
            [...exported.slice(0, 4), close("2026-11-24", "aa"), close("2026-11-25", "other"), end],
            ["2026-11-25: the close is another: hash was bb and is other"]
          ],
          [[...exported.slice(0, 5), end], ["2026-11-25: the close is gone"]],
          [[{ ...head, opening: 7 }, ...exported.slice(1)], ["2026-11-01: opening was 0 and is 7"]]
        ]
        for (const [lines, problems] of cases) {
          const found = yield* check(lines)
          assert.deepStrictEqual(found.problems, problems, found.err)
          assert.strictEqual(found.code, problems.length === 0 ? 0 : 1)
        }
      }).pipe(Effect.scoped)
  )

  test.live("CLI-41: the zip of a month is read as the file in it; a file that was cut off ends with 2", () =>
    Effect.gen(function* () {
      const archive = join(folder, "november.zip")
      const chunks = yield* Stream.make(
        Zip.file("account.csv", "day\r\n"),
        Zip.file("account.jsonl", text(exported))
      ).pipe(Stream.pipeThroughChannel(Zip.encode()), Stream.runCollect)
      writeFileSync(archive, Buffer.concat(chunks))
      assert.deepInclude(yield* check(exported, archive), { code: 0, problems: [] })
      assert.strictEqual((yield* check([head, ...exported.slice(2)], archive)).code, 1)
      for (const [name, bytes] of [
        ["cut.jsonl", Buffer.from(text(exported.slice(0, 4)))],
        ["cut.zip", Buffer.concat(chunks).subarray(0, 200)],
        ["other.jsonl", Buffer.from("no JSON\n")],
        ["empty.jsonl", Buffer.from("")]
      ] as const) {
        writeFileSync(join(folder, name), bytes)
        const { code, err } = yield* check(exported, join(folder, name))
        assert.strictEqual(code, 2, name)
        assert.include(err, "no complete export")
      }
      assert.strictEqual((yield* check(exported, join(folder, "nothing.jsonl"))).code, 2)
    }).pipe(Effect.scoped)
  )

  test.live("CLI-40: a statement goes to standard output as it is; a month has its days, a zip is of one", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const service = yield* serving((request, response) => {
        asked.push(request.url ?? "")
        const disposition = `attachment; filename="connection-${ID}-2026-11-incomplete-until-2026-11-27.zip"`
        response
          .writeHead(200, { "content-type": "application/octet-stream", "content-disposition": disposition })
          .end(Buffer.from([0xef, 0x80, 0x00]))
      })
      const statement = (...args: ReadonlyArray<string>) => asking(service.port, "statement", ...args)
      const csv = yield* statement("--account", ID, "--month", "2024-02", "--format", "csv", "--decimal", ",")
      assert.strictEqual(csv.code, 0, csv.err)
      const zip = yield* statement("--connection", ID, "--month", "2026-11", "--format", "zip")
      assert.strictEqual(zip.code, 0, zip.err)
      assert.include(zip.err, "not closed yet. The files are until 2026-11-27.")
      const days = yield* statement(
        "--connection",
        ID,
        "--from",
        "2026-11-01",
        "--to",
        "2026-11-02",
        "--format",
        "ofx1"
      )
      assert.strictEqual(days.code, 0, days.err)
      assert.deepStrictEqual(asked, [
        `/operator/v1/accounts/${ID}/statement?from=2024-02-01&to=2024-02-29&format=csv&decimal=%2C`,
        `/operator/v1/closes/2026-11/package?connection_id=${ID}`,
        `/operator/v1/connections/${ID}/statement?from=2026-11-01&to=2026-11-02&format=ofx1`
      ])
      for (const args of [
        ["--format", "csv", "--month", "2026-11"],
        ["--account", ID, "--connection", ID, "--format", "csv", "--month", "2026-11"],
        ["--account", ID, "--format", "csv"],
        ["--account", ID, "--format", "csv", "--month", "2026-13"],
        ["--account", ID, "--format", "zip", "--from", "2026-11-01", "--to", "2026-11-02"]
      ]) {
        assert.strictEqual((yield* statement(...args)).code, 2, args.join(" "))
      }
    }).pipe(Effect.scoped)
  )

  test.live("CLI-40: closes are a list, newest first; and so are days that are overdue", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ object: "list", data: [close("2026-11-25", "bb")], has_more: false })
      const asked: Array<string> = []
      const service = yield* serving((request, response) => {
        asked.push(request.url ?? "")
        response.writeHead(200, json).end(body)
      })
      const { code, err, out } = yield* asking(service.port, "closes", "--account", ID)
      assert.strictEqual(code, 0, err)
      assert.deepStrictEqual([code, JSON.parse(out)], [0, JSON.parse(body)])
      const overdue = yield* asking(service.port, "closes", "--overdue")
      assert.strictEqual(overdue.code, 0, overdue.err)
      assert.deepStrictEqual(
        asked.map((path) => path.split("?")[0]),
        [`/operator/v1/accounts/${ID}/closes`, "/operator/v1/closes/overdue"]
      )
    }).pipe(Effect.scoped)
  )
})
