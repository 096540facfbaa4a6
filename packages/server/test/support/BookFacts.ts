/** What is true of any books, whatever happened. */
import { assert } from "@effect/vitest"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import type { Random } from "@pix-payments/psp-double/Random"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { operated, type Verification } from "./Money.ts"
import { TestService } from "./TestService.ts"

export const chosen = <A>(random: Random, of: ReadonlyArray<A>): A | undefined => of[Math.floor(random() * of.length)]

interface ListOf<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

/** All rows of a list, oldest first. */
export const everyRow = Effect.fnUntraced(function* <A extends { readonly id: string }>(path: string) {
  const rows: Array<A> = []
  for (let after: string | null = ""; after !== null;) {
    const cursor: string = after === "" ? "" : `&starting_after=${after}`
    const page: ListOf<A> = yield* operated<ListOf<A>>(
      "GET",
      `${path}${path.includes("?") ? "&" : "?"}limit=100${cursor}`
    )
    rows.push(...page.data)
    after = page.has_more ? page.data.at(-1)!.id : null
  }
  return rows.toReversed()
})

/** Each `balance_after` is the one before it and the line's net. Returns the last. */
export const assertRunning = (lines: ReadonlyArray<BalanceTransaction>): number => {
  let balance = 0
  for (const line of lines) {
    balance += line.net
    assert.strictEqual(line.balance_after, balance, line.id)
  }
  return balance
}

/** Opening plus lines is closing, day by day, and each close continues the one before it. */
export const assertChained = (closes: ReadonlyArray<Close>, lines: ReadonlyArray<BalanceTransaction>) => {
  for (const [index, close] of closes.entries()) {
    const ofDay = lines.filter(({ day }) => day === close.day)
    const net = ofDay.reduce((sum, line) => sum + line.net, 0)
    assert.strictEqual(close.opening, closes[index - 1]?.closing ?? 0)
    assert.strictEqual(close.closing, close.opening + net, close.day)
    assert.strictEqual(close.previous_hash, closes[index - 1]?.hash ?? null)
  }
  const days = new Set(closes.map(({ day }) => day))
  const open = lines.filter(({ day }) => !days.has(day))
  assert.deepStrictEqual(open, [], "lines of days without a close")
}

/** Each line of a bank account has its order, and its end-to-end id or the id of the return. */
export const assertJoined = (bank: ReadonlyArray<BalanceTransaction>) =>
  assert.deepStrictEqual(
    bank.filter((line) => line.source.id === "" || (line.end_to_end_id ?? line.return_id) === null),
    []
  )

/** The ledger verifies in full, and what the banks have is what is owed to accounts, what is nobody's, and what was earned. */
export const assertOwed = Effect.fnUntraced(function* (atBanks: number) {
  const verified = yield* operated<Verification>("GET", "/ledger/verify?full=true")
  assert.deepStrictEqual([verified.differences, verified.states, verified.closes], [[], [], []])
  const owed = verified.accounts.reduce((sum, { account, kept }) => (account.name === "acquirer" ? sum : sum + kept), 0)
  assert.strictEqual(atBanks, owed)
})

const hasPython = spawnSync("python3", ["--version"]).status === 0

/** An export of an owner, recomputed by a program without our code. */
export const assertRecomputed = Effect.fnUntraced(function* (owner: string) {
  if (!hasPython) return
  const { operate } = yield* TestService
  const { text } = yield* operate("GET", `/operator/v1/${owner}/statement?from=2020-01-01&to=2100-01-01&format=jsonl`)
  const folder = mkdtempSync(join(tmpdir(), "books-"))
  try {
    const file = join(folder, "books.jsonl")
    writeFileSync(file, text)
    const script = join(import.meta.dirname, "../../../../examples/verify-books.py")
    const { status, stderr, stdout } = spawnSync("python3", [script, file], { encoding: "utf8" })
    assert.strictEqual(status, 0, stdout + stderr)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
