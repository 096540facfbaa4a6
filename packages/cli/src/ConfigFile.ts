/**
 * The configuration file, `~/.config/pix/config.toml`: profiles with URL and token. CLI-5.
 *
 * Guarantees:
 * - Only its owner can read it. It is replaced as a whole, so that an interrupted write leaves the old one.
 * - A file that cannot be read or written is a `Failure` that names it.
 */
import * as Result from "effect/Result"
import * as Toml from "effect/encoding/Toml"
import { randomUUID } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { usage } from "./Failure.ts"

interface StoredProfile {
  readonly url: string
  readonly token: string
  /** True where its user agreed to send the token unencrypted. */
  readonly http: boolean
}

export interface StoredConfig {
  /** The profile that is used without `--profile`. */
  readonly profile: string
  readonly profiles: Readonly<Record<string, StoredProfile>>
}

/** A folder by the XDG base directory specification, which ignores relative paths. */
const folderOf = (variable: string, fallback: string): string => {
  const value = process.env[variable] ?? ""
  return join(value.startsWith("/") ? value : join(homedir(), fallback), "pix")
}

export const configPath = (): string => join(folderOf("XDG_CONFIG_HOME", ".config"), "config.toml")

/** What the command line remembers, which nobody edits. */
export const stateFolder = (): string => folderOf("XDG_STATE_HOME", ".local/state")

/** Runs an operation on a file. Throws a `Failure` with its path, and the variable that names another folder. */
export const accessing = <A>(action: "read" | "written", path: string, run: () => A): A => {
  try {
    return run()
  } catch (error) {
    const variable = path.startsWith(stateFolder()) ? "XDG_STATE_HOME" : "XDG_CONFIG_HOME"
    throw usage(
      `${path} cannot be ${action}: ${String(Object(error).code ?? error)}. ` +
        `${action === "read" ? "Make it readable" : "Make its folder writable"}, or set ${variable} to another folder.`
    )
  }
}

/** Writes a file that only its owner can read, as a whole. */
export const writePrivately = (path: string, content: string): void =>
  accessing("written", path, () => writeWhole(path, content))

const writeWhole = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}-${randomUUID().slice(0, 8)}`
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: "wx" })
    chmodSync(draft, 0o600)
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** The content of a file, or `undefined` if there is none. */
export const readIfPresent = (path: string): string | undefined =>
  accessing("read", path, () => {
    try {
      return readFileSync(path, "utf8")
    } catch (error) {
      // The home of a service's user may be a file: /dev/null.
      if (["ENOENT", "ENOTDIR"].includes(Object(error).code)) return undefined
      throw error
    }
  })

/** The stored profiles. Throws a `Failure` if the file is not what `pix login` writes. */
export const readConfig = (): StoredConfig => {
  const text = readIfPresent(configPath())
  if (text === undefined) return { profile: "default", profiles: {} }
  const parsed = Toml.parse(text)
  if (Result.isFailure(parsed)) throw usage(`${configPath()} is not valid TOML: ${parsed.failure.message}`)
  const { profile, profiles } = parsed.success
  const found = Object.entries(Object(profiles) as Record<string, unknown>).flatMap(([name, value]) => {
    const { http, token, url } = Object(value) as Record<string, unknown>
    return typeof url === "string" && typeof token === "string"
      ? [[name, { url, token, http: http === true }] as const]
      : []
  })
  return { profile: typeof profile === "string" ? profile : "default", profiles: Object.fromEntries(found) }
}

/** A basic string of TOML, whose escapes JSON shares. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f")

export const writeConfig = ({ profile, profiles }: StoredConfig): void => {
  const tables = Object.entries(profiles).map(
    ([name, { http, token, url }]) =>
      `\n[profiles.${quoted(name)}]\nurl = ${quoted(url)}\ntoken = ${quoted(token)}\n${http ? "http = true\n" : ""}`
  )
  writePrivately(configPath(), `profile = ${quoted(profile)}\n${tables.join("")}`)
}
