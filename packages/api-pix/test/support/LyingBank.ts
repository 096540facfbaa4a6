/** A bank without a socket, in any profile, where something of each kind has happened; and the client of it. */
import type { Variant } from "@pix-payments/psp-double/http/Profile"
import { makePspMachine, type PspMachine } from "@pix-payments/psp-double/http/PspMachine"
import type { Fate } from "@pix-payments/psp-double/provider/State"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { type ApiPixClient, makeApiPixClient } from "../../src/ApiPixClient.ts"
import { makeConnection, type MissingSetting } from "../../src/Connection.ts"
import type { Page } from "../../src/Decoding.ts"
import { type Disputes, makeDisputes } from "../../src/Disputes.ts"
import type { Cob, PixReturn, ReceivedPix } from "../../src/Messages.ts"
import type { Failure } from "../../src/Outcome.ts"
import { makePayouts } from "../../src/PayoutRails.ts"
import type { Payout, PayoutOrder, Payouts } from "../../src/Payouts.ts"
import type { Profile } from "../../src/Profile.ts"
import { machineTransport, uncheckedCredentials } from "./MachineTransport.ts"

export const NOW = 1_790_000_000_000

const ACTIVE = "active".padEnd(26, "0")
const NEW = "new".padEnd(26, "0")
const PAYOUT = "3fa85f6457174562b3fc2c963f66afa6"
const NEW_PAYOUT = "4fa85f6457174562b3fc2c963f66afa7"

export interface LyingBank {
  readonly profile: Profile
  readonly machine: PspMachine
  readonly client: ApiPixClient
  readonly payouts: Payouts | undefined
  readonly disputes: Disputes | undefined
  readonly key: string
  /** Of the Pix that have a return `r1`. */
  readonly endToEndIds: readonly [string, string]
  /** What the provider named the payouts, by our id, as a database keeps it. */
  readonly references: Map<string, string>
}

const variantOf = (profile: Profile): Partial<Variant> => ({
  tokenAuth: profile.tokenAuth,
  requiredHeaders: Object.keys(profile.headers),
  requiredQuery: Object.keys(profile.query),
  brCodeField: profile.brCodeField,
  acceptsFractions: profile.instants === "ms",
  payouts: profile.payouts === "efi" ? null : profile.payouts,
  namesPayer: true
})

export const lyingBank = Effect.fnUntraced(function* (
  profile: Profile
): Effect.fn.Return<LyingBank, MissingSetting | Failure, Scope.Scope> {
  yield* TestClock.setTime(NOW)
  let fate: Fate<never> = { _tag: "Done", afterMs: 0 }
  const machine = makePspMachine({
    now: () => NOW,
    profile: profile.name === "efi" ? "efi" : "bacen",
    variant: variantOf(profile),
    settings: { openingCents: 100_000, returnFate: () => fate, payoutFate: () => fate }
  })
  const { cobs, infractions, payouts: sent, receipts, settings } = machine.provider
  const [key = ""] = settings.keys
  cobs.put(ACTIVE, { key, cents: 3990, expiresInSeconds: 60 }, "updates")
  const [first, second] = [5000, 7000].map((cents, n) => {
    const { endToEndId } = receipts.receive({ key, cents, txid: `${n}`.padEnd(26, "x"), payerInfo: "Pedido 7" })
    receipts.orderReturn(endToEndId, "r1", { cents: 150, description: "Pedido desfeito" })
    infractions.open(endToEndId, { cents: 300 })
    return endToEndId
  })
  if (profile.name === "efi") {
    for (const id of [PAYOUT, "p2"]) {
      sent.send(id, { cents: 300, payerKey: key, payee: { key: "ana@example.com", document: undefined } })
    }
  }
  machine.settleDue()
  if (profile.name === "efi") for (const id of [PAYOUT, "p2"]) sent.receiveReturn(id, 100)

  const connection = yield* makeConnection({
    profile,
    credentials: uncheckedCredentials(machine.clientId, machine.clientSecret),
    baseUrl: `https://double${machine.profile.basePath}`,
    tokenUrl: `https://double${machine.profile.tokenPath}`,
    settings: { "x-conta-corrente": Redacted.make("1"), "gw-dev-app-key": Redacted.make("app") },
    limits: { lookupRetries: 0 },
    transport: machineTransport(machine)
  })
  const payouts = makePayouts(connection)
  const references = new Map<string, string>()
  if (payouts !== undefined && profile.name !== "efi") {
    yield* payouts.send(payoutOrder({ key, references }, PAYOUT))
    machine.settleDue()
  }
  // What is ordered from now on stays in process, so that its state is the same whenever it is asked for.
  fate = { _tag: "Held" }
  return {
    profile,
    machine,
    client: makeApiPixClient(connection),
    payouts,
    disputes: makeDisputes(connection),
    key,
    endToEndIds: [first!, second!],
    references
  }
})

const payoutOrder = ({ key, references }: Pick<LyingBank, "key" | "references">, id: string): PayoutOrder => ({
  id,
  reference: references.get(id),
  keepReference: (reference) => Effect.sync(() => void references.set(id, reference)),
  cents: 300,
  payerKey: key,
  payee: { key: "ana@example.com" }
})

/** What must not be false. */
const coreOfCob = ({ cents, key, status, txid }: Cob) => ({ txid, status, cents, key })
const coreOfReturn = ({ cents, id, returnId, status }: PixReturn) => ({ id, returnId, cents, status })
const coreOfPix = ({ cents, endToEndId, key, txid }: ReceivedPix) => ({ endToEndId, txid, cents, key })
const coreOfPayout = ({ cents, endToEndId, id, status }: Payout) => ({ id, endToEndId, cents, status })

const RANGE = { fromMs: NOW - 60_000, toMs: NOW + 60_000 }

interface Listed<A> extends Pick<Page<A>, "unreadable"> {
  readonly items: ReadonlyArray<A>
}

const listed =
  <A, B>(core: (item: A) => B) =>
  ({ items, unreadable }: Page<A>): Listed<B> => ({ items: items.map(core), unreadable })

/** Every operation that reads more than whether it was done; undefined where the profile does not have it. */
export const LISTS = {
  "list-received": ({ client }: LyingBank) =>
    Effect.map(client.listReceived(RANGE), listed<ReceivedPix, unknown>(coreOfPix)),
  "list-returned": ({ client }: LyingBank) =>
    Effect.map(client.listReceived(RANGE, { returned: true }), listed<ReceivedPix, unknown>(coreOfPix)),
  "list-sent": ({ payouts }: LyingBank) =>
    payouts?.listSent && Effect.map(payouts.listSent(RANGE), listed<Payout, unknown>(coreOfPayout)),
  "list-disputes": ({ disputes }: LyingBank) =>
    disputes &&
    Effect.map(
      disputes.list(RANGE),
      listed(({ cents, endToEndId, id, key, status }): unknown => ({ id, endToEndId, key, cents, status }))
    )
} as const satisfies Record<string, (bank: LyingBank) => Effect.Effect<Listed<unknown>, Failure> | undefined>

export const SINGLE = {
  emit: ({ client, key }: LyingBank) =>
    Effect.map(client.emit({ txid: NEW, cents: 5000, key, expiresInSeconds: 60 }), coreOfCob),
  "emit-again": ({ client, key }: LyingBank) =>
    Effect.map(client.emitAgain({ txid: ACTIVE, cents: 3990, key, expiresInSeconds: 60 }), coreOfCob),
  find: ({ client }: LyingBank) => Effect.map(client.find(ACTIVE), coreOfCob),
  cancel: ({ client }: LyingBank) => Effect.map(client.cancel(ACTIVE), coreOfCob),
  "find-received": ({ client, endToEndIds: [endToEndId] }: LyingBank) =>
    Effect.map(client.findReceived(endToEndId), coreOfPix),
  return: ({ client, endToEndIds: [endToEndId] }: LyingBank) =>
    Effect.map(client.returnPix({ endToEndId, id: "r2", cents: 400 }), coreOfReturn),
  "find-return": ({ client, endToEndIds: [endToEndId] }: LyingBank) =>
    Effect.map(client.findReturn(endToEndId, "r1"), coreOfReturn),
  // Where the end-to-end id of Sicoob's first phase cannot be read, the order begins again with another.
  "send-payout": (bank: LyingBank) =>
    bank.payouts &&
    Effect.map(bank.payouts.send(payoutOrder(bank, NEW_PAYOUT)), ({ cents, id, status }) => ({ id, cents, status })),
  "find-payout": (bank: LyingBank) =>
    bank.payouts && Effect.map(bank.payouts.find(payoutOrder(bank, PAYOUT)), coreOfPayout)
} as const satisfies Record<string, (bank: LyingBank) => Effect.Effect<unknown, Failure> | undefined>

export type Single = keyof typeof SINGLE

/** How often each order was carried out. */
export const executions = ({ endToEndIds: [endToEndId], machine, profile }: LyingBank): ReadonlyArray<number> => {
  const { cobs, payouts, receipts } = machine.provider
  const sent = payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 100 }).items.length
  const returns = Result.getOrThrow(receipts.get(endToEndId)).returns
  return [
    Result.isSuccess(cobs.get(NEW)) ? 1 : 0,
    returns.filter(({ id }) => id === "r2").length,
    profile.payouts === null ? 0 : sent - (profile.name === "efi" ? 2 : 1)
  ]
}
