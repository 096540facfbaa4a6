/** `PublicAddress` over a name server of the test. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Settings } from "../../src/base/Settings.ts"
import { type NameSources } from "../../src/base/network/NameQuery.ts"
import { NameSourcesRef, PublicAddress } from "../../src/base/network/PublicAddress.ts"
import { nameServer, type Question, type Reply } from "./NameServer.ts"
import { temporaryFolder } from "./Postgres.ts"
import { eventually } from "./Receiver.ts"

/** `PublicAddress` over a name server of the test, whose silences outlast the test. */
export const withNames = Effect.fnUntraced(function* (
  reply: (question: Question) => Reply,
  options: { readonly hosts?: string; readonly resolvConf?: string; readonly allowed?: string } = {}
) {
  const server = yield* nameServer(reply)
  const sources = yield* sourcesOf(server.address, options)
  const context = yield* Layer.build(
    PublicAddress.layer.pipe(
      Layer.provide(Settings.layer),
      Layer.provide(
        ConfigProvider.layer(
          ConfigProvider.fromEnv({ env: { WEBHOOK_ALLOWED_NETWORKS: options.allowed ?? "", LOG_LEVEL: "error" } })
        )
      ),
      Layer.provide(Layer.succeed(NameSourcesRef, sources))
    )
  )
  const addresses = yield* PublicAddress.pipe(Effect.provide(context))
  /** The outcome of an attempt at a name: the addresses that it may connect to, or the reason. */
  const reached = (name: string, account = "account") =>
    addresses
      .withPinnedAddress(`http://${name}/`, account, ({ hostname }) =>
        Effect.callback<string>((resume) =>
          addresses.lookup(hostname, { all: true }, (error, found) =>
            resume(
              Effect.succeed(
                error === null && typeof found !== "string" ? found.map(({ address }) => address).join() : String(error)
              )
            )
          )
        )
      )
      .pipe(Effect.catchTag("NotReachable", ({ reason }) => Effect.succeed(reason)))
  return { addresses, reached, server, sources }
})

export const sourcesOf = Effect.fnUntraced(function* (
  server: string,
  files: { readonly hosts?: string; readonly resolvConf?: string } = {}
) {
  const folder = yield* temporaryFolder
  const sources: NameSources = {
    hosts: join(folder, "hosts"),
    resolvConf: join(folder, "resolv.conf"),
    servers: [server],
    timeoutMs: 120_000,
    tries: 1,
    deadlineMs: 120_000
  }
  writeFileSync(sources.hosts, files.hosts ?? "")
  writeFileSync(sources.resolvConf, files.resolvConf ?? "")
  return sources
})

export const somewhere = { addresses: ["1.1.1.1", "2606:4700:4700::1111"] }
export const isSilent = ({ name }: Question) => name.endsWith(".silent.test")
/** Waits for real sockets while the test's clock stands still. */
export const soon = (isThere: () => boolean) => TestClock.withLive(eventually(Effect.sync(isThere), (there) => there))
