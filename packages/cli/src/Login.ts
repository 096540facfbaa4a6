/** `pix login`, `pix logout`, `pix profiles` and `pix status`: CLI-4 to CLI-6, CLI-25. */
import type { Session } from "@pix-payments/api/operator/Sessions"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import { readFileSync } from "node:fs"
import { text as textOf } from "node:stream/consumers"
import { storeTokenFromBrowser } from "./BrowserLogin.ts"
import { configPath, readConfig, writeConfig } from "./ConfigFile.ts"
import { usage } from "./Failure.ts"
import { call } from "./OperatorClient.ts"
import { demoAddress } from "./DemoAddress.ts"
import { showFields, wantsJson, writeJson } from "./Output.ts"
import {
  agreeToHttp,
  attempt,
  currentProfile,
  DEFAULT_URL,
  profileName,
  signedIn,
  toBaseUrl,
  variable
} from "./Profile.ts"
import { canAsk, notice } from "./Terminal.ts"

const urlFlag = Flag.String("url").pipe(
  Flag.withDescription(
    `The URL of the operator listener; also PIX_URL. Default: that of npm start in this folder, else ${DEFAULT_URL}`
  ),
  Flag.optional
)

const tokenFile = Flag.String("token-file").pipe(
  Flag.withDescription(
    "Read the token from this file; - is standard input. Never as an argument, which others can see"
  ),
  Flag.optional
)

const browser = Flag.Boolean("browser").pipe(
  Flag.withDescription("Confirm in a browser of this machine that is signed in to the dashboard"),
  Flag.withDefault(false)
)

/** The token, from a file, standard input or, on a terminal, a hidden prompt. */
const readToken = (file: string | undefined) => {
  if (file !== undefined && file !== "-") {
    return attempt(() => {
      try {
        return Redacted.make(readFileSync(file, "utf8").trim())
      } catch (error) {
        throw usage(`The token cannot be read from ${file}: ${String(Object(error).code ?? error)}`)
      }
    })
  }
  if (process.stdin.isTTY !== true) {
    return Effect.map(
      Effect.promise(() => textOf(process.stdin)),
      (text) => Redacted.make(text.trim())
    )
  }
  if (!canAsk()) {
    return usage("This terminal would show the token. Do not redirect standard error, or use --token-file FILE.")
  }
  return Prompt.run(Prompt.Hidden({ message: "Token (it is not shown; without one, use pix login --browser):" }))
}

const login = Command.make("login", { url: urlFlag, tokenFile, browser }, ({ browser, tokenFile, url }) =>
  Effect.gen(function* () {
    const name = yield* profileName
    const config = yield* attempt(readConfig)
    const base = yield* attempt(() =>
      toBaseUrl(
        Option.getOrElse(url, () => variable("PIX_URL") ?? config.profiles[name]?.url ?? demoAddress() ?? DEFAULT_URL)
      )
    )
    if (browser && Option.isSome(tokenFile)) return yield* usage("Either --browser or --token-file, not both.")
    const http = yield* agreeToHttp(base)
    const store = Effect.fnUntraced(function* (token: Redacted.Redacted) {
      if (Redacted.value(token) === "") return yield* usage("The token is empty.")
      const { body } = yield* call({ url: base, token }, "session.retrieve")
      const { operator } = body as Session
      yield* attempt(() =>
        writeConfig({
          profile: Object.keys(config.profiles).length === 0 ? name : config.profile,
          profiles: { ...config.profiles, [name]: { url: base, token: Redacted.value(token), http } }
        })
      )
      notice(`Signed in to ${base} as ${operator.name} (${operator.role}). Profile ${name} is in ${configPath()}.`)
    })
    // An address that was not given is shown before the token leaves.
    if (Option.isNone(url)) notice(`Signing in to ${base}.`)
    if (browser) yield* storeTokenFromBrowser(base, store)
    else yield* store(yield* readToken(Option.getOrUndefined(tokenFile)))
  })
).pipe(
  Command.withDescription("Sign in with a token or in a browser, and keep the token in a profile"),
  Command.withExamples([
    { command: "pix login --browser", description: "Confirm in the dashboard" },
    { command: "pix login", description: "Ask for the token" },
    { command: "pix login --profile live --url https://pix.example.com < token.txt", description: "From a file" }
  ])
)

const logout = Command.make("logout", {}, () =>
  Effect.gen(function* () {
    const name = yield* profileName
    const { profile, profiles } = yield* attempt(readConfig)
    if (profiles[name] === undefined) return yield* usage(`There is no profile ${name}. See: pix profiles list`)
    const { [name]: _, ...others } = profiles
    yield* attempt(() => writeConfig({ profile, profiles: others }))
    notice(`Profile ${name} is removed. Its token is still valid: revoke it with pix tokens revoke.`)
  })
).pipe(
  Command.withDescription("Remove a profile and its token from this machine"),
  Command.withExamples([{ command: "pix logout --profile live" }])
)

const listProfiles = Command.make("list", {}, () =>
  Effect.gen(function* () {
    const { profile, profiles } = yield* attempt(readConfig)
    const data = Object.entries(profiles).map(([name, { url }]) => ({ name, url, default: name === profile }))
    if (yield* wantsJson) return writeJson({ object: "list", data })
    for (const each of data) showFields(each)
    if (data.length === 0) notice("There are no profiles. Create one: pix login")
  })
).pipe(
  Command.withDescription("List the profiles of this machine, without their tokens"),
  Command.withExamples([{ command: "pix profiles list" }])
)

const useProfile = Command.make("use", {}, () =>
  Effect.gen(function* () {
    const name = yield* profileName
    const { profiles } = yield* attempt(readConfig)
    if (profiles[name] === undefined) return yield* usage(`There is no profile ${name}. See: pix profiles list`)
    yield* attempt(() => writeConfig({ profile: name, profiles }))
    notice(`Profile ${name} is used from now on.`)
  })
).pipe(
  Command.withDescription("Use a profile from now on"),
  Command.withExamples([{ command: "pix profiles use --profile live" }])
)

const profiles = Command.make("profiles").pipe(
  Command.withDescription("The services that this machine signs in to"),
  Command.withExamples([{ command: "pix profiles list" }]),
  Command.withSubcommands([listProfiles, useProfile])
)

const status = Command.make("status", {}, () =>
  Effect.gen(function* () {
    const { name, tokenSource, url } = yield* currentProfile
    const service = yield* signedIn
    const { body } = yield* call(service, "session.retrieve")
    const { operator, settings } = body as Session
    const found = {
      profile: name,
      url,
      token: tokenSource,
      operator: operator.name,
      role: operator.role,
      account_ids: operator.account_ids,
      acquirer: settings.acquirer
    }
    if (yield* wantsJson) writeJson(found)
    else showFields({ ...found, account_ids: operator.account_ids ?? "all" })
  })
).pipe(
  Command.withDescription("Show which service is asked, and as whom"),
  Command.withExamples([{ command: "pix status" }])
)

export const loginCommands = [login, logout, profiles, status] as const
