import { assert, describe, it } from "@effect/vitest"
import type { Profile, TokenAuth } from "@pix-payments/api-pix/Profile"
import { profiles } from "@pix-payments/api-pix/Profiles"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const text = readFileSync(join(import.meta.dirname, "../../../../../docs/providers.md"), "utf8")

const tokenRequests: Readonly<Record<TokenAuth, string>> = {
  "basic-form": "Basic, form",
  "basic-json": "Basic, JSON",
  form: "id and secret in the form",
  "form-no-secret": "client id in the form, no secret",
  "grant-in-query": "id and secret in the form, grant in the query"
}

const certificates: Readonly<Record<Profile["certificate"], string>> = {
  either: "PEM or PKCS#12",
  pem: "PEM",
  pkcs12: "PKCS#12"
}

/** The fields of `credentials` for what a profile's headers and query parameters name. */
const fields: Readonly<Record<string, string>> = {
  "gw-dev-app-key": "developer_key",
  "x-conta-corrente": "current_account"
}

const rowOf = (profile: Profile): string => {
  const named = [...Object.values(profile.headers), ...Object.values(profile.query)].flatMap((value) =>
    typeof value === "string" ? [] : [`\`${fields[value.setting]}\``]
  )
  const cells = [
    profile.title,
    `\`${profile.name}\``,
    profile.baseUrl === null ? "yours" : `\`${profile.baseUrl}\``,
    certificates[profile.certificate],
    tokenRequests[profile.tokenAuth],
    named.join(", "),
    profile.payouts === null ? "no" : "yes",
    profile.disputes === null ? "no" : "yes"
  ]
  return `${cells.map((cell) => (cell === "" ? "|" : `| ${cell} `)).join("")}|`.replaceAll("||", "| |")
}

describe("docs/providers.md", () => {
  it.each(profiles)("has the row and the section of $title", (profile) => {
    assert.include(text.split("\n"), rowOf(profile))
    assert.include(text, `\n### ${profile.title}\n`)
  })

  it("has no other provider", () => {
    const sections = [...text.matchAll(/^### (.+)$/gm)].map(([, title]) => title)
    assert.deepStrictEqual(
      sections,
      profiles.map(({ title }) => title)
    )
  })

  it("names every scope that a profile needs, and says what nobody has tried", () => {
    for (const scope of profiles.flatMap(({ scopes }) => scopes)) assert.include(text, `\`${scope}\``)
    for (const { evidence } of profiles) assert.include(text, evidence)
  })
})
