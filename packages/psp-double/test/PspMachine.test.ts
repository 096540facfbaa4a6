import { assert, describe, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import { REQUEST_FAULTS } from "../src/Faults.ts"
import type { Answer } from "../src/http/Answer.ts"
import type { ApiRequest } from "../src/http/Api.ts"
import { makePspMachine, type PspMachine, type PspMachineOptions } from "../src/http/PspMachine.ts"

const storm = Object.fromEntries(REQUEST_FAULTS.map((fault) => [fault, 0.04]))

/** A success that is not the page of a proxy. */
const isJson = (answer: Answer | undefined): boolean =>
  answer?.status === 200 && answer.headers["content-type"] === "application/json"

/** A machine, and a caller that repeats under the same ids until the outcome is certain. */
const simulation = (options: Omit<PspMachineOptions, "now">) => {
  const clock = { now: 1_790_000_000_000 }
  const machine = makePspMachine({ ...options, now: () => clock.now })
  const { profile, provider } = machine
  let token = ""

  /** The answer as it reaches the caller: undefined for a cut connection. */
  const exchange = (
    method: string,
    path: string,
    body?: unknown,
    headers: ApiRequest["headers"] = {},
    query: ApiRequest["query"] = {}
  ) => {
    clock.now += 1000
    const { answer, reply } = machine.exchange({
      method,
      path,
      query,
      headers: { authorization: `Bearer ${token}`, ...headers },
      body: body === undefined ? "" : JSON.stringify(body)
    })
    return reply(answer)
  }

  const authenticate = () => {
    const basic = Buffer.from(`${machine.clientId}:${machine.clientSecret}`).toString("base64")
    const given = exchange(
      "POST",
      profile.tokenPath,
      { grant_type: "client_credentials" },
      { authorization: `Basic ${basic}` }
    )
    if (isJson(given)) token = JSON.parse(given!.body!).access_token
  }

  /** Repeats until the look-up finds the order. */
  const until = (order: () => unknown, lookUp: () => Answer | undefined) => {
    for (let tries = 0; tries < 200; tries++) {
      const found = lookUp()
      if (isJson(found)) return tries
      if (found?.status === 401 || found?.status === 403) authenticate()
      else if (found?.status === 404 || found?.status === 400) order()
    }
    throw new Error("no certainty after 200 tries")
  }

  /** Repeats until the list of what was received in the last day is answered. */
  const listReceived = () => {
    const at = (ms: number) => DateTime.formatIso(DateTime.makeUnsafe(ms))
    for (let tries = 0; tries < 200; tries++) {
      const query = { inicio: at(clock.now - 86_400_000), fim: at(clock.now) }
      const answered = exchange("GET", `${profile.basePath}/pix`, undefined, {}, query)
      if (isJson(answered)) return
      if (answered?.status === 401 || answered?.status === 403) authenticate()
    }
    throw new Error("no list after 200 tries")
  }

  const key = provider.settings.keys[0]!
  return {
    machine,
    clock,
    exchange,
    listReceived,
    authenticate,
    until,
    key,
    cob: (id: number) => `${profile.basePath}/cob/${`${id}`.padStart(26, "c")}`
  }
}

const history = (seed: number) => {
  const settings = { openingCents: 10_000 }
  const { machine, exchange, listReceived, until, authenticate, key, cob } = simulation({
    profile: "efi",
    seed,
    faults: storm,
    settings
  })
  authenticate()
  const terms = { calendario: { expiracao: 60 }, valor: { original: "10.00" }, chave: key }
  for (let id = 0; id < 3; id++) {
    until(
      () => exchange("PUT", cob(id), terms),
      () => exchange("GET", cob(id))
    )
    const { endToEndId } = machine.provider.receipts.receive({ key, cents: 1000, txid: `${id}`.padStart(26, "c") })
    const devolucao = `/v2/pix/${endToEndId}/devolucao/r1`
    until(
      () => exchange("PUT", devolucao, { valor: "4.00" }),
      () => exchange("GET", devolucao)
    )
    const body = { valor: "1.00", pagador: { chave: key }, favorecido: { chave: "ana@example.com" } }
    until(
      () => exchange("PUT", `/v3/gn/pix/p${id}`, body),
      () => exchange("GET", `/v2/gn/pix/enviados/id-envio/p${id}`)
    )
  }
  listReceived()
  machine.settleDue()
  return machine
}

describe("without a socket", () => {
  it("200 seeds of faults: looking up before repeating does everything once; no answer breaks the contract", () => {
    const counts = new Map<string, number>()
    for (let seed = 1; seed <= 200; seed++) {
      const { provider, api, faults } = history(seed)
      assert.deepStrictEqual([api.defects, api.violations], [[], []], `seed ${seed}`)
      assert.strictEqual(provider.balanceCents(), 10_000 + 3 * (1000 - 400 - 100), `seed ${seed}`)
      for (const [fault, count] of faults.counts) counts.set(fault, (counts.get(fault) ?? 0) + count)
    }
    assert.sameMembers([...counts.keys()], [...REQUEST_FAULTS], "every fault was met")
  })

  it("the same seed is the same history", () => {
    const trace = (machine: PspMachine) => [
      machine.provider.receipts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 10 }),
      machine.provider.payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 10 }),
      [...machine.faults.counts]
    ]
    assert.deepStrictEqual(trace(history(5)), trace(history(5)))
    assert.notDeepEqual(trace(history(5)), trace(history(6)))
  })

  it("what is due waits for the clock, and hooks wait to be taken", () => {
    const { machine, clock, key } = simulation({ settings: { returnFate: () => ({ _tag: "Done", afterMs: 5000 }) } })
    machine.provider.webhooks.put(key, "https://shop.example.com")
    const { endToEndId } = machine.provider.receipts.receive({ key, cents: 1000, txid: "c".repeat(26) })
    machine.provider.receipts.orderReturn(endToEndId, "r1", { cents: 1000 })
    machine.settleDue()
    assert.strictEqual(machine.queue.takeDue().length, 1)
    assert.strictEqual(machine.nextDueAtMs(), clock.now + 5000)
    clock.now += 5000
    machine.settleDue()
    assert.strictEqual(machine.queue.takeDue().length, 1)
    assert.strictEqual(machine.nextDueAtMs(), Infinity)
  })
})
