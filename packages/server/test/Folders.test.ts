/** The folders of the server: the list that `pnpm run layers` checks is the list of `docs/architecture.md`. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../..")

it("docs/architecture.md lists the folders that .dependency-cruiser.mjs lists, in its order", async () => {
  const { serverFolders } = (await import(join(root, ".dependency-cruiser.mjs"))) as {
    serverFolders: ReadonlyArray<readonly [place: string, has: string]>
  }
  const document = readFileSync(join(root, "docs/architecture.md"), "utf8")
  const [, table = ""] = /\| folder \| what it has \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(document) ?? []
  assert.deepStrictEqual(
    table.trim().split("\n"),
    serverFolders.map(([place, has]) => `| \`${place.replace("[^/]+$", "").replace(/^\[a-z\].*/, "*.ts")}\` | ${has} |`)
  )
})
