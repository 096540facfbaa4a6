/**
 * Checks the URL of a database before anything connects with it.
 *
 * Guarantees: a part of a libpq URL that the driver ignores, or takes for something else, is refused with what to do. No message
 * contains the URL, which has a password.
 */
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

/** What the driver understands. */
const parameters: ReadonlySet<string> = new Set([
  "host",
  "port",
  "user",
  "password",
  "dbname",
  "application_name",
  "options",
  "connect_timeout",
  "sslmode"
])

/** What to do instead, where that is not obvious. */
const advice: Readonly<Record<string, string>> = {
  sslrootcert: "Name the authority in NODE_EXTRA_CA_CERTS",
  sslcert: "Client certificates are not supported: use a password",
  sslkey: "Client certificates are not supported: use a password",
  target_session_attrs: "Name the primary, or an address that follows it",
  load_balance_hosts: "Name the primary, or an address that follows it",
  schema: "Set search_path for the role: ALTER ROLE … SET search_path",
  pgbouncer: "Poolers in session mode need no parameter"
}

/** The URL, or what to do with it. */
export const parseDatabaseUrl = (url: Redacted.Redacted<string>): Result.Result<Redacted.Redacted<string>, string> => {
  const problem = problemOf(Redacted.value(url))
  return problem === undefined ? Result.succeed(url) : Result.fail(problem)
}

/** The host of a URL whose connections may be read on their way: beyond loopback, and without TLS for certain. */
export const unprotectedHost = (url: Redacted.Redacted<string>): string | undefined => {
  const { searchParams } = new URL(Redacted.value(url))
  const { host = "" } = addressOf(url)
  const isLocal = host === "" || host.startsWith("/") || /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host)
  return isLocal || encrypting.has(searchParams.get("sslmode") ?? "") ? undefined : host
}

/** Where a URL leads, as the driver reads it. */
export const addressOf = (url: Redacted.Redacted<string>) => {
  const { hostname, pathname, port, searchParams } = new URL(Redacted.value(url))
  const given = (name: string, inUrl: string) => searchParams.get(name) ?? (decodeURIComponent(inUrl) || undefined)
  return {
    host: given("host", hostname.replace(/^\[|\]$/g, "")),
    port: Number(given("port", port)) || undefined,
    database: given("dbname", pathname.slice(1))
  }
}

/** With `prefer` and `allow`, whoever is on the way decides. */
const encrypting: ReadonlySet<string> = new Set(["require", "verify-ca", "verify-full"])

const problemOf = (text: string): string | undefined => {
  const scheme = /^postgres(?:ql)?:\/\//.exec(text)?.[0]
  if (scheme === undefined) return "a URL of PostgreSQL begins with postgresql://"
  const [authority = ""] = text.slice(scheme.length).split(/[/?#]/)
  const url = URL.parse(text)
  const given = (name: string) => url?.searchParams.getAll(name) ?? []
  const hosts = [authority.slice(authority.lastIndexOf("@") + 1), ...given("host"), ...given("port")]
  if (hosts.some((each) => /,|%2c/i.test(each)) || given("host").length > 1) {
    return "it names several hosts. Name one that leads to the primary: a virtual IP, a proxy or a DNS name"
  }
  if (url === null) return "it is not a valid URL. Special characters in a password are percent-encoded"
  if (url.hash !== "") return "it has a #. Write %23 in a password"
  const names = [...new Set(url.searchParams.keys())]
  // The driver takes the last one, without a word.
  const repeated = names.filter((name) => given(name).length > 1)
  if (repeated.length > 0) return `parameters are given twice: ${repeated.map(shown).join(", ")}. Leave one of each`
  const unknown = names.filter((name) => !parameters.has(name))
  if (unknown.length === 0) return undefined
  const advised = new Set(unknown.flatMap((name) => advice[name] ?? []))
  return [`parameters are not understood: ${unknown.map(shown).join(", ")}. Remove them`, ...advised].join(". ")
}

/** A name that may be a part of a password is not shown whole. */
const shown = (name: string): string => (/^\w{1,40}$/.test(name) ? name : `${name.slice(0, 3)}…`)
