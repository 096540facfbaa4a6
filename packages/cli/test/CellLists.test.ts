/** Lists of several cells as one. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { closedPort } from "@pix-payments/server/test/Receiver"
import { pix } from "./support/Pix.ts"
import { json, serving } from "./support/Service.ts"

const idAt = (minute: number) => `01a2027c-00${String(minute).padStart(2, "0")}-7000-8000-000000000000`

/** A cell with charges of these minutes, which sends a page of them, newest first unless asked otherwise. */
const cellWith = (...minutes: ReadonlyArray<number>) =>
  serving((request, response) => {
    const query = new URL(request.url ?? "/", "http://cell").searchParams
    const sign = query.get("order") === "asc" ? 1 : -1
    const after = query.get("starting_after")
    const all = minutes
      .map((minute) => ({ id: idAt(minute), object: "charge", minute }))
      .toSorted((one, other) => sign * (one.minute - other.minute))
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
    // Less than it is asked for, so that a cell is read in several pages.
    const data = all.slice(from, from + Math.min(2, Number(query.get("limit"))))
    response.writeHead(200, json)
    response.end(JSON.stringify({ object: "list", data, has_more: from + data.length < all.length }))
  })

const withProfiles = (ports: Readonly<Record<string, number>>) => {
  const folder = mkdtempSync(join(tmpdir(), "pix-cells-"))
  mkdirSync(join(folder, "pix"), { mode: 0o700 })
  const tables = Object.entries(ports).map(
    ([name, port]) => `[profiles."${name}"]\nurl = "http://127.0.0.1:${port}"\ntoken = "token-of-${name}"\n`
  )
  writeFileSync(join(folder, "pix/config.toml"), `profile = "a"\n${tables.join("\n")}`, { mode: 0o600 })
  return (...args: ReadonlyArray<string>) =>
    pix(["charges", "list", ...args], { env: { XDG_CONFIG_HOME: folder, PIX_URL: "", PIX_TOKEN: "" } })
}

const placesOf = (out: string) =>
  (JSON.parse(out) as { data: ReadonlyArray<{ cell: string; minute: number }> }).data.map(
    ({ cell, minute }) => `${cell}${minute}`
  )

describe("pix --cells", () => {
  it.live("CLI-48: lists the items of all cells, or of some, in one order, each with its cell", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* cellWith(1, 4, 5, 9), yield* cellWith(2, 3, 8)]
      const list = withProfiles({ a: a.port, b: b.port })
      const all = yield* list("--cells", "all")
      assert.deepStrictEqual([all.code, all.err], [0, ""])
      assert.deepStrictEqual(placesOf(all.out), ["a9", "b8", "a5", "a4", "b3", "b2", "a1"])
      assert.deepStrictEqual(placesOf((yield* list("--cells", "b")).out), ["b8", "b3", "b2"])
      assert.deepStrictEqual(placesOf((yield* list("--cells", "a,b", "--limit", "3")).out), ["a9", "b8", "a5"])
      const oldest = yield* list("--cells", "all", "--order", "asc")
      assert.deepStrictEqual(placesOf(oldest.out), ["a1", "b2", "b3", "a4", "a5", "b8", "a9"])
      const lines = (yield* list("--cells", "all", "--all")).out.trim().split("\n")
      assert.strictEqual(lines.length, 7)
      assert.deepInclude(JSON.parse(lines[1]!), { cell: "b", minute: 8 })
    }).pipe(Effect.scoped)
  )

  it.live("CLI-48: shows what the others have where a cell does not answer, and refuses what is of one cell", () =>
    Effect.gen(function* () {
      const a = yield* cellWith(1, 2)
      const list = withProfiles({ a: a.port, b: yield* closedPort })
      const { code, err, out } = yield* list("--cells", "all")
      assert.strictEqual(code, 3)
      assert.match(err, /^b: /)
      assert.deepStrictEqual(placesOf(out), ["a2", "a1"])
      assert.strictEqual((yield* list("--cells", "c")).code, 2)
      assert.strictEqual((yield* list("--cells", "all", "--starting-after", idAt(1))).code, 2)
    }).pipe(Effect.scoped)
  )
})
