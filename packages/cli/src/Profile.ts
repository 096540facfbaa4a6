/** Which service a command asks, and with which token: flags, environment, configuration file, in this order. CLI-4, CLI-28. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Prompt from "effect/cli/Prompt"
import { addressOf } from "./Address.ts"
import { readConfig } from "./ConfigFile.ts"
import { exitCodes, Failure, usage } from "./Failure.ts"
import { canAsk } from "./Terminal.ts"

export const DEFAULT_URL = "http://127.0.0.1:3001"

export const ProfileFlag = GlobalFlag.Setting("profile")({
  flag: Flag.String("profile").pipe(
    Flag.withDescription("The profile of the configuration file to use; also PIX_PROFILE"),
    Flag.optional
  )
})

export interface Profile {
  readonly name: string
  readonly url: string
  readonly token: Redacted.Redacted<string> | undefined
  readonly tokenSource: "PIX_TOKEN" | "profile" | "none"
  /** True where its user agreed to send the token unencrypted. */
  readonly http: boolean
}

/** A variable that is set to something. */
export const variable = (name: string): string | undefined => process.env[name]?.trim() || undefined

/** The base URL of an operator listener, without a path. */
export const toBaseUrl = (text: string): string => {
  const refusal = usage(`Not a URL of an operator listener: ${text}. Example: ${DEFAULT_URL}`)
  const url = addressOf(text, refusal)
  if (url.username !== "" || url.password !== "") throw refusal
  return url.origin
}

/** The name of the profile that a command uses. */
export const profileName = Effect.flatMap(ProfileFlag, (flag) =>
  attempt(() => Option.getOrElse(flag, () => variable("PIX_PROFILE") ?? readConfig().profile))
)

const isFailure = (error: unknown): error is Failure => error instanceof Failure

/** Runs code that throws a `Failure`. Any other error is a defect. */
export const attempt = <A>(run: () => A): Effect.Effect<A, Failure> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      return isFailure(error) ? Effect.fail(error) : Effect.die(error)
    }
  })

export const currentProfile = Effect.gen(function* () {
  const flag = yield* ProfileFlag
  return yield* attempt((): Profile => {
    const config = readConfig()
    const asked = Option.getOrUndefined(flag) ?? variable("PIX_PROFILE")
    const name = asked ?? config.profile
    const stored = config.profiles[name]
    const fromVariable = variable("PIX_TOKEN")
    if (asked !== undefined && stored === undefined) {
      throw unknownProfile(name)
    }
    const url = toBaseUrl(variable("PIX_URL") ?? stored?.url ?? DEFAULT_URL)
    // A stored token goes to its own service only.
    const token = fromVariable ?? (stored?.url === url ? stored.token : undefined)
    return {
      name,
      url,
      token: token === undefined ? undefined : Redacted.make(token),
      http: stored?.url === url && stored.http,
      tokenSource: token === undefined ? "none" : fromVariable === undefined ? "profile" : "PIX_TOKEN"
    }
  })
})

const unknownProfile = (name: string) => usage(`There is no profile ${name}. Create it: pix login --profile ${name}`)

/** The profile of a command that needs a token. */
export const signedIn = Effect.gen(function* () {
  const profile = yield* currentProfile
  if (profile.token === undefined) {
    return yield* new Failure({
      message: "Not signed in. Run pix login, or set PIX_TOKEN.",
      exitCode: exitCodes.denied
    })
  }
  if (!profile.http) yield* agreeToHttp(profile.url)
  return { ...profile, token: profile.token }
})

/** The profiles of these names, separated by commas, or `all` of them. Variables do not matter: they name one service. */
export const profilesNamed = Effect.fnUntraced(function* (names: string) {
  const { profiles } = yield* attempt(readConfig)
  const asked = names === "all" ? Object.keys(profiles) : names.split(",").map((name) => name.trim())
  if (asked.length === 0) return yield* usage("There is no profile. Create one for each cell: pix login --profile NAME")
  return yield* Effect.forEach(asked, (name) =>
    Effect.gen(function* () {
      const stored = profiles[name]
      if (stored === undefined) return yield* unknownProfile(name)
      if (!stored.http) yield* agreeToHttp(stored.url)
      return { name, url: stored.url, token: Redacted.make(stored.token) }
    })
  )
})

/** Whether nobody on the way can read what is sent there: over TLS, or on this machine. */
export const isPrivate = (url: string): boolean => {
  const { hostname, protocol } = URL.parse(url) ?? { hostname: "", protocol: "" }
  return protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/** Asks before a token leaves this machine unencrypted. True where it was asked. */
export const agreeToHttp = Effect.fnUntraced(function* (url: string) {
  if (isPrivate(url) || variable("PIX_ALLOW_HTTP") === "1") return false
  const warning = `${url} is not encrypted: everybody on the way to it can read the token.`
  if (!canAsk()) return yield* usage(`${warning}\nUse https, or set PIX_ALLOW_HTTP=1 to send it all the same.`)
  const isYes = yield* Prompt.run(Prompt.Confirm({ message: `${warning} Send it?`, initial: false }))
  return isYes || (yield* usage("Nothing was sent."))
})
