/**
 * A Pix provider on loopback: the central bank's API Pix, or Efí's, over mTLS, with its state in memory.
 *
 * Guarantees
 * - Certificates are made at start; nothing is written to disk.
 * - With the same seed, the same calls in the same order get the same ids, tokens and faults.
 */
import { type Authority, type Identity, makeAuthority } from "./Certificates.ts"
import type { Faults } from "./Faults.ts"
import type { Breach } from "./http/Api.ts"
import { makeHookSender } from "./http/HookSender.ts"
import { type Recorded, type SentHook, startServer } from "./http/PspServer.ts"
import type { Tokens } from "./http/Tokens.ts"
import type { Profile } from "./http/Profile.ts"
import type { Provider } from "./provider/Provider.ts"
import { makePspMachine, type PspMachineOptions } from "./http/PspMachine.ts"

export interface PspDoubleOptions extends Omit<PspMachineOptions, "now"> {
  /** Epoch milliseconds; the system's clock when absent. `advance` adds to it. */
  readonly now?: () => number
  /** 127.0.0.1 when absent. */
  readonly host?: string
  /** A free one when absent. */
  readonly port?: number
  /** Delay of a `slow` answer; a second when absent. */
  readonly slowMs?: number
  /** Delay of every answer; none when absent. */
  readonly latencyMs?: number
  /** How long a receiver of hooks may take; a minute when absent. */
  readonly hookTimeoutMs?: number
  /** PEM of the authorities that receivers of hooks have their certificates from, beside the double's own. */
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
  /** Issues others: expired, with another name, for a receiver of hooks. */
  readonly authority: Authority
  /** The first receiving key. */
  readonly key: string
  /** What really happened, and what payers, banks and analysts do: pay, settle, dispute. */
  readonly provider: Provider
  readonly tokens: Tokens
  readonly faults: Faults
  readonly now: () => number
  /** Delays every answer from now on. */
  readonly setLatency: (ms: number) => void
  /** What was asked and answered. */
  readonly exchanges: ReadonlyArray<Recorded>
  readonly hooks: ReadonlyArray<SentHook>
  /** Requests that broke the contract. */
  readonly violations: ReadonlyArray<Breach>
  /** Answers and hooks of the double that broke it, spoiled ones excepted. A test expects none. */
  readonly defects: ReadonlyArray<Breach>
  /** Runs what is due, and waits until the hooks that are due have been answered. */
  readonly settle: () => Promise<void>
  /** Moves the clock, then settles. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const startPspDouble = async (options: PspDoubleOptions = {}): Promise<PspDouble> => {
  const { host = "127.0.0.1", port = 0 } = options
  let passedMs = 0
  let latencyMs = options.latencyMs ?? 0
  const now = () => (options.now ?? systemClock)() + passedMs
  const { authority, server, client, hooks } = await certificates()
  const machine = makePspMachine({ ...options, now })
  const { profile, provider } = machine
  const running = await startServer({
    host,
    port,
    identity: server,
    now,
    machine,
    sender: makeHookSender({
      identity: hooks,
      trusted: [authority.cert, ...(options.hookAuthorities ?? [])],
      timeoutMs: options.hookTimeoutMs ?? 60_000
    }),
    slowMs: options.slowMs ?? 1000,
    latencyMs: () => latencyMs
  })
  const origin = `https://${host}:${running.port}`

  return {
    profile,
    origin,
    baseUrl: `${origin}${profile.basePath}`,
    tokenUrl: `${origin}${profile.tokenPath}`,
    clientId: machine.clientId,
    clientSecret: machine.clientSecret,
    client,
    authority,
    key: provider.settings.keys[0]!,
    provider,
    tokens: machine.tokens,
    faults: machine.faults,
    now,
    setLatency: (ms) => {
      latencyMs = ms
    },
    exchanges: running.exchanges,
    hooks: running.hooks,
    violations: machine.api.violations,
    defects: machine.api.defects,
    settle: running.settle,
    advance: async (ms) => {
      passedMs += ms
      await running.settle()
    },
    close: running.close,
    [Symbol.asyncDispose]: running.close
  }
}

// @effect-diagnostics-next-line globalDate:off -- there is no Effect here
const systemClock = () => Date.now()

interface Certificates {
  readonly authority: Authority
  readonly server: Identity
  readonly client: Identity
  /** The provider's certificate as a client of webhook receivers. */
  readonly hooks: Identity
}

let made: Promise<Certificates> | undefined

/** Made once per process, because keys take long. */
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
