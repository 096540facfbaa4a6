/**
 * A Pix provider on loopback: the central bank's API Pix, or Efí's, over mTLS, with its state in memory.
 *
 * Guarantees
 * - It is what a caller sees of a provider, and keeps its own books: `provider` says what really happened.
 * - Certificates are made at start; nothing is written to disk.
 * - With the same seed, ids, tokens and faults repeat for the same requests.
 */
import { type Authority, type Identity, makeAuthority } from "./Certificates.ts"
import { type Faults, makeFaults, type Rates } from "./Faults.ts"
import { makeHookQueue } from "./HookQueue.ts"
import { type Breach, makeApi } from "./http/Api.ts"
import { type Contract, makeContract } from "./http/Contract.ts"
import { documentOf } from "./http/Document.ts"
import { makeHookSender } from "./http/HookSender.ts"
import { type Exchange, type SentHook, startServer } from "./http/PspServer.ts"
import { makeTokens, type TokenAuth, type Tokens } from "./http/Tokens.ts"
import type { Profile } from "./Profile.ts"
import * as profiles from "./Profiles.ts"
import { makeProvider, type Provider } from "./provider/Provider.ts"
import type { Settings } from "./provider/State.ts"
import { randomFrom } from "./Random.ts"

export interface PspDoubleOptions {
  readonly profile?: "bacen" | "efi"
  /** Of ids, tokens and faults; 1 when absent. */
  readonly seed?: number
  /** Epoch milliseconds; the system's clock when absent. `advance` adds to it. */
  readonly now?: () => number
  /** 127.0.0.1 when absent. */
  readonly host?: string
  /** A free one when absent. */
  readonly port?: number
  readonly settings?: Partial<Settings>
  readonly tokenAuth?: TokenAuth
  /** Scopes of the client; all of the profile's when absent. */
  readonly scopes?: ReadonlyArray<string>
  readonly tokenLifetimeSeconds?: number
  /** The chance of each fault, from 0 to 1; none when absent. */
  readonly faults?: Rates
  readonly slowMs?: number
  readonly retryAfterSeconds?: number
  readonly hookLateMs?: number
  readonly hookTimeoutMs?: number
  /** How many facts that are due together go out as one hook; 1 when absent. */
  readonly hookBatch?: number
  /** PEM of authorities whose certificates a receiver of hooks may have, beside the double's own. */
  readonly hookAuthorities?: ReadonlyArray<string>
}

export interface PspDouble extends AsyncDisposable {
  readonly profile: Profile
  /** `https://127.0.0.1:port`. */
  readonly origin: string
  /** Where the central bank's paths begin. */
  readonly baseUrl: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** A certificate that the double accepts. */
  readonly client: Identity
  /** Issues others: of other names, other ends of validity, for the receiver of hooks. */
  readonly authority: Authority
  /** The first receiving key. */
  readonly key: string
  /** What really happened, and the hands of payers, banks and analysts. */
  readonly provider: Provider
  readonly tokens: Tokens
  readonly faults: Faults
  readonly now: () => number
  readonly exchanges: ReadonlyArray<Exchange>
  readonly hooks: ReadonlyArray<SentHook>
  /** What callers sent against the contract. */
  readonly violations: ReadonlyArray<Breach>
  /** What the double itself sent against it: a test expects none. */
  readonly defects: ReadonlyArray<Breach>
  /** Lets happen what is due, and waits until hooks that are due have been answered. */
  readonly settle: () => Promise<void>
  /** Lets time pass, then settles. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const startPspDouble = async (options: PspDoubleOptions = {}): Promise<PspDouble> => {
  const { seed = 1, host = "127.0.0.1", port = 0 } = options
  const chosen = profiles[options.profile ?? "bacen"]
  const profile = { ...chosen, tokenAuth: options.tokenAuth ?? chosen.tokenAuth }
  let passedMs = 0
  const now = () => (options.now ?? systemClock)() + passedMs
  const { authority, server, client, hooks } = await certificates()

  const faults = makeFaults(seed, options.faults)
  const provider = makeProvider({
    now,
    random: randomFrom(seed),
    ...(options.settings && { settings: options.settings })
  })
  const tokens = makeTokens({
    now,
    random: randomFrom(seed + 1),
    auth: profile.tokenAuth,
    lifetimeSeconds: options.tokenLifetimeSeconds ?? 3600,
    client: { id: CLIENT_ID, secret: CLIENT_SECRET, scopes: options.scopes ?? profile.scopes }
  })
  const api = makeApi({ profile, provider, tokens, contract: contractOf(profile) })
  const running = await startServer({
    host,
    port,
    identity: server,
    now,
    profile,
    provider,
    api,
    tokens,
    faults,
    queue: makeHookQueue({
      now,
      faults,
      retriesMs: profile.hookRetriesMs,
      lateMs: options.hookLateMs ?? 60_000,
      batch: options.hookBatch ?? 1
    }),
    sender: makeHookSender({
      identity: hooks,
      trusted: [authority.cert, ...(options.hookAuthorities ?? [])],
      timeoutMs: options.hookTimeoutMs ?? 60_000
    }),
    slowMs: options.slowMs ?? 1000,
    retryAfterSeconds: options.retryAfterSeconds ?? 1
  })
  const origin = `https://${host}:${running.port}`

  return {
    profile,
    origin,
    baseUrl: `${origin}${profile.basePath}`,
    tokenUrl: `${origin}${profile.tokenPath}`,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    client,
    authority,
    key: provider.settings.keys[0]!,
    provider,
    tokens,
    faults,
    now,
    exchanges: running.exchanges,
    hooks: running.hooks,
    violations: api.violations,
    defects: api.defects,
    settle: running.settle,
    advance: async (ms) => {
      passedMs += ms
      await running.settle()
    },
    close: running.close,
    [Symbol.asyncDispose]: running.close
  }
}

/** The contract of a profile, compiled once a process: for a simulation that drives `makeApi` itself too. */
export const contractOf = ({ name, basePath }: Profile): Contract => {
  const known = contracts.get(name) ?? makeContract(documentOf(name, basePath))
  contracts.set(name, known)
  return known
}

const CLIENT_ID = "Client_Id_psp_double"
const CLIENT_SECRET = "Client_Secret_psp_double"

const contracts = new Map<string, Contract>()

// @effect-diagnostics-next-line globalDate:off -- there is no Effect here
const systemClock = () => Date.now()

interface Certificates {
  readonly authority: Authority
  readonly server: Identity
  readonly client: Identity
  /** What the provider shows to receivers of hooks. */
  readonly hooks: Identity
}

let made: Promise<Certificates> | undefined

/** Made once a process, as keys take half a second each. */
const certificates = (): Promise<Certificates> =>
  (made ??= (async () => {
    const authority = await makeAuthority("psp-double CA", systemClock())
    const [server, client, hooks] = await Promise.all([
      authority.issue({ name: "psp-double", usage: "server" }),
      authority.issue({ name: "merchant", usage: "client" }),
      authority.issue({ name: "psp-double hooks", usage: "client" })
    ])
    return { authority, server, client, hooks }
  })())
