/**
 * The double without I/O: state, API, tokens, faults, queued hooks. `PspServer` puts it behind TLS. A deterministic
 * simulation takes each exchange and each hook as a step.
 *
 * Guarantees
 * - No socket, no timer; every call is synchronous. The same calls, clock and seed give the same answers and ids.
 */
import { makeFaults, type Faults, type Rates, type RequestFault } from "../Faults.ts"
import { type HookQueue, makeHookQueue } from "../HookQueue.ts"
import type { Answer } from "./Answer.ts"
import { type Api, type ApiRequest, makeApi } from "./Api.ts"
import { type Contract, makeContract } from "./Contract.ts"
import { documentOf } from "./Document.ts"
import { wrongAnswer, oddUnauthorized } from "./WrongAnswers.ts"
import { FORBIDDEN_TOKEN, PROXY_PAGE, spoil, tooManyRequests } from "./Spoiling.ts"
import { makeTokens, type Tokens } from "./Tokens.ts"
import { hookView } from "./Views.ts"
import type { Profile, Variant } from "./Profile.ts"
import * as profiles from "./Profiles.ts"
import { PAYOUT_SCOPES } from "./Profiles.ts"
import { makeProvider, type Provider } from "../provider/Provider.ts"
import type { Settings } from "../provider/State.ts"
import { randomFrom } from "../Random.ts"

export interface PspMachineOptions {
  readonly now: () => number
  readonly profile?: "bacen" | "efi"
  /** Of ids, tokens and faults; 1 when absent. */
  readonly seed?: number
  readonly settings?: Partial<Settings>
  /** Differences from the profile. */
  readonly variant?: Partial<Variant>
  /** Scopes of the client; all of the profile's when absent. */
  readonly scopes?: ReadonlyArray<string>
  /** 3600 when absent. */
  readonly tokenLifetimeSeconds?: number
  /** The chance of each fault, from 0 to 1; none when absent. */
  readonly faults?: Rates
  /** Of a 429; 1 when absent. */
  readonly retryAfterSeconds?: number
  /** How late a `hook-late` is; a minute when absent. */
  readonly hookLateMs?: number
  /** How many notifications that are due together share a hook; 1 when absent. */
  readonly hookBatch?: number
}

/** The result of a request. */
export interface Exchange {
  readonly fault: RequestFault | undefined
  /** Whether the fault may make the answer break the contract. */
  readonly spoiled: boolean
  /** The provider's answer; undefined if the fault came before anything was done. */
  readonly answer: Answer | undefined
  /** What reaches the caller of an answer; undefined for a cut or silent connection. */
  readonly reply: (answer: Answer | undefined) => Answer | undefined
}

export interface PspMachine {
  readonly profile: Profile
  readonly clientId: string
  readonly clientSecret: string
  readonly provider: Provider
  readonly tokens: Tokens
  readonly faults: Faults
  readonly queue: HookQueue
  readonly api: Api
  /** Draws a fault and carries out the request, unless the fault comes before. */
  readonly exchange: (request: ApiRequest) => Exchange
  /** Runs what is due and queues the hooks for it. */
  readonly settleDue: () => void
  readonly nextDueAtMs: () => number
}

/** A double may get the port of one that has ended: its client is another one all the same. */
let clients = 0

const CLIENT_SECRET = "Client_Secret_psp_double"

export const makePspMachine = (options: PspMachineOptions): PspMachine => {
  const { now, seed = 1 } = options
  const clientId = `Client_Id_psp_double_${++clients}`
  const profile: Profile = { ...profiles[options.profile ?? "bacen"], ...options.variant }
  const faults = makeFaults(seed, options.faults)
  const provider = makeProvider({ now, random: randomFrom(seed), settings: options.settings ?? {} })
  const tokens = makeTokens({
    now,
    random: randomFrom(seed + 1),
    auth: profile.tokenAuth,
    lifetimeSeconds: options.tokenLifetimeSeconds ?? 3600,
    client: {
      id: clientId,
      secret: CLIENT_SECRET,
      scopes: options.scopes ?? [...profile.scopes, ...PAYOUT_SCOPES[profile.payouts ?? "none"]]
    }
  })
  const api = makeApi({ profile, provider, tokens, contract: contractOf(profile) })
  const queue = makeHookQueue({
    now,
    faults,
    retriesMs: profile.hookRetriesMs,
    lateMs: options.hookLateMs ?? 60_000,
    batch: options.hookBatch ?? 1
  })
  let facts = 0
  let unauthorized = 0

  const answer = (request: ApiRequest, fault: RequestFault | undefined): Answer | undefined => {
    switch (fault) {
      case "dropped-before":
      case "too-many-requests":
      case "proxy-page":
        return undefined
      case "expired-token":
        tokens.revokeAll()
        return api.handle(request)
      case "forbidden-token":
        tokens.revokeAll()
        return FORBIDDEN_TOKEN
      case "odd-unauthorized":
        tokens.revokeAll()
        return oddUnauthorized(unauthorized++)
      case "taken-txid-conflict":
        return api.handle(request, { takenTxid: "conflict" })
      case "taken-txid-update":
        return api.handle(request, { takenTxid: "updates" })
      default:
        return api.handle(request)
    }
  }

  return {
    profile,
    clientId,
    clientSecret: CLIENT_SECRET,
    provider,
    tokens,
    faults,
    queue,
    api,
    exchange: (request) => {
      const fault = faults.ofRequest(request.method, request.path)
      return {
        fault,
        spoiled: fault !== undefined && !HARMLESS.has(fault),
        answer: answer(request, fault),
        reply: (given) => {
          if (fault === "too-many-requests") return tooManyRequests(options.retryAfterSeconds ?? 1)
          if (fault === "proxy-page") return PROXY_PAGE
          if (given === undefined || UNANSWERED.has(fault)) return undefined
          const status = given.status === 201 ? profile.createdStatus : given.status
          return wrongAnswer(fault, spoil(fault, { ...given, status }, profile))
        }
      }
    },
    settleDue: () => {
      provider.settleDue()
      for (const notification of provider.takeNotifications()) {
        // The central bank's hooks have no payouts; how Sicoob and Inter report them is not part of the double.
        if (notification._tag === "PayoutSettled" && profile.name === "bacen") continue
        const url = provider.webhookUrl(notification.key)
        if (url === undefined) continue
        const pix: unknown = JSON.parse(JSON.stringify(hookView(profile, notification)))
        api.checkHook({ pix: [pix] })
        queue.add(`${++facts}`, url, pix)
      }
    },
    nextDueAtMs: () => Math.min(provider.nextDueAtMs() ?? Infinity, queue.nextDueAtMs() ?? Infinity)
  }
}

/** Faults that leave the answer as it is. */
const HARMLESS: ReadonlySet<RequestFault> = new Set<RequestFault>(["slow", "hook-before-answer", "expired-token"])
const UNANSWERED: ReadonlySet<RequestFault | undefined> = new Set<RequestFault | undefined>(["dropped-after", "hang"])

const contracts = new Map<string, Contract>()

/** Compiled once per process. */
const contractOf = (profile: Profile): Contract => {
  const of = `${profile.name} ${profile.basePath} ${profile.takenTxid} ${profile.payouts}`
  const known = contracts.get(of) ?? makeContract(documentOf(profile))
  contracts.set(of, known)
  return known
}
