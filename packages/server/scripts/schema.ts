/**
 * `docs/schema.md`, from the tables of the baseline and their comments. Without `--write` it fails where the document is not current.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { accountTables } from "../src/schema/tables/accounts.ts"
import { eventTables } from "../src/schema/tables/events.ts"
import { operationTables } from "../src/schema/tables/operations.ts"
import { operatorTables } from "../src/schema/tables/operators.ts"
import { paymentTables } from "../src/schema/tables/payments.ts"
import { providerTables } from "../src/schema/tables/providers.ts"
import { statementTables } from "../src/schema/tables/statements.ts"
import { tableOwners } from "../src/schema/TableOwners.ts"

const file = join(import.meta.dirname, "../../../docs/schema.md")

const groups = {
  "Accounts and the ledger": accountTables,
  Payments: paymentTables,
  Providers: providerTables,
  "Statements of banks": statementTables,
  "Events and webhooks": eventTables,
  "The installation and its operators": operatorTables,
  "Logs, statistics, maintenance": operationTables
}

/** The tables that a newcomer meets, and which of their columns name a row of another one. */
const drawn = new Set([
  "accounts",
  "applications",
  "api_keys",
  "charges",
  "payouts",
  "refunds",
  "disputes",
  "ledger_transfers",
  "changes",
  "outbox",
  "deliveries",
  "webhook_endpoints"
])
const named: Readonly<Record<string, string>> = {
  account_id: "accounts",
  application_id: "applications",
  charge_id: "charges",
  change_id: "changes",
  endpoint_id: "webhook_endpoints"
}

interface Table {
  readonly name: string
  readonly about: string
  readonly isPartitioned: boolean
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: string; readonly comment: string }>
}

const tablesOf = (statements: ReadonlyArray<string>): ReadonlyArray<Table> =>
  statements.flatMap((text) => {
    const found = /^-- (.+)\n\s*CREATE TABLE (\w+) \(([^]*)\)([^)]*|[^)]*\([^)]*\))$/.exec(text)
    if (found === null) return []
    const columns = [...found[3]!.matchAll(/^\s+([a-z_]+) ((?:timestamptz|[a-z0-9]+)(?:\[\])?)([^\n]*)$/gm)].map(
      ([, name, type, rest]) => ({
        name: name!,
        type: `${type}${/ NOT NULL| PRIMARY KEY/.test(rest!) ? "" : ", or null"}`,
        comment: / -- (.+)$/.exec(rest!)?.[1] ?? ""
      })
    )
    return [{ name: found[2]!, about: found[1]!, isPartitioned: /PARTITION BY/.test(found[4]!), columns }]
  })

const all = Object.values(groups).flatMap(tablesOf)

const arrows = all
  .filter(({ name }) => drawn.has(name))
  .flatMap(({ columns, name }) =>
    columns.flatMap((column) => {
      const to = named[column.name]
      // Nearly every table has an account: only the rows that hang from nothing else show it.
      const isOwn =
        column.name !== "account_id" || !columns.some((other) => other.name !== "account_id" && other.name in named)
      return to !== undefined && to !== name && isOwn ? [`  ${to} ||--o{ ${name} : ""`] : []
    })
  )

/** Whose the rows of a table are, in a sentence. */
const ownerOf = (table: string): string => {
  const owner = tableOwners[table]
  if (owner === undefined) throw new Error(`${table} has no line in schema/TableOwners.ts`)
  if (typeof owner === "string") return rowsOf[owner]
  const paths = Object.entries(owner).map(([column, parents]) => `\`${column}\` of ${[parents].flat().join(" or ")}`)
  return `The owner of a row: ${paths.join(", else ")}.`
}

const rowsOf = {
  owner: "Rows of other tables belong to a row of this one.",
  cell: "Rows belong to the cell.",
  content: "No owner: the id is the digest of the row."
}

const section = ([title, statements]: [string, ReadonlyArray<string>]): string =>
  [
    `## ${title}`,
    ...tablesOf(statements).map(
      ({ about, columns, name }) =>
        `### ${name}\n\n${about}\n\n${ownerOf(name)}\n\n| column | type | |\n|---|---|---|\n${columns
          .map((column) => `| \`${column.name}\` | ${column.type} | ${column.comment} |`)
          .join("\n")}`
    )
  ].join("\n\n")

const document = `# Schema

The tables of a new installation, from the comments in \`packages/server/src/schema/tables\`, which PostgreSQL has too (\`\\d+\` in
psql). \`pnpm run schema\` writes this page. Amounts are cents. Ids are UUIDv7, so that their order is that of creation. Whose the
rows of a table are is declared in \`schema/TableOwners.ts\`: those of an account, or of a connection, lead to it by ids.

\`\`\`mermaid
erDiagram
${arrows.join("\n")}
\`\`\`

${Object.entries(groups).map(section).join("\n\n")}
`

if (process.argv.includes("--write")) {
  writeFileSync(file, document)
} else if (readFileSync(file, "utf8") !== document) {
  process.stderr.write("docs/schema.md is not current: `pnpm run schema` writes it.\n")
  process.exitCode = 1
}
