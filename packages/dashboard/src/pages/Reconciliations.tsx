/** The compared days of bank accounts, and the import of the banks' statement files. */
import type { BankStatement } from "@pix-payments/api/operator/BankStatements"
import type { Reconciliation } from "@pix-payments/api/operator/Reconciliations"
import { unmatchedStates } from "@pix-payments/domain/Reconciliation"
import { useSignal } from "@preact/signals"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { may } from "../app/Session.ts"
import { base64Of } from "../format/Base64.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Card } from "../parts/Detail.tsx"
import { type Files, refusal } from "../parts/Form.tsx"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { dayStatusName, reconciliationWords } from "./reconciliationWords.ts"

const MAX_FILES = 20
const MAX_FILE_BYTES = 8 * 1024 * 1024

/** The lines of a day that somebody has to look at. */
export const unmatchedOf = ({ states }: Reconciliation): number =>
  states
    .filter(({ state }) => unmatchedStates.some((each) => each === state))
    .reduce((sum, { count }) => sum + count, 0)

export const Reconciliations = () => {
  const { fields, nav } = words()
  const text = reconciliationWords()
  const imported = useSignal<ReadonlyArray<Imported>>([])
  const version = useSignal(0)
  return (
    <>
      <List
        title={nav.reconciliations}
        empty={text.empty}
        version={version.value}
        actions={
          may("operator") && (
            <Import
              onDone={(files) => {
                imported.value = files
                version.value += 1
              }}
            />
          )
        }
        load={(api, query) => api.reconciliations.list({ query })}
        linkOf={({ id }) => `/reconciliations/${id}`}
        columns={[
          { name: text.day, cell: ({ day }) => <span class="nowrap">{day}</span> },
          { name: fields.status, cell: ({ status }) => <State of={status} name={dayStatusName(status)} /> },
          { name: text.unmatched, cell: (day) => unmatchedOf(day) || "–", right: true },
          { name: text.bank, cell: ({ bank_total }) => money(bank_total), wide: true, right: true },
          { name: text.books, cell: ({ books_total }) => money(books_total), wide: true, right: true },
          {
            name: text.difference,
            cell: ({ difference }) => <span class="nowrap">{money(difference)}</span>,
            right: true
          },
          { name: fields.at, cell: (day) => day.done_at && <Time of={day.done_at} />, wide: true, right: true }
        ]}
      />
      {imported.value.map(({ name, statement }) => (
        <ImportedFile name={name} statement={statement} key={statement.id} />
      ))}
    </>
  )
}

interface Imported {
  readonly name: string
  readonly statement: BankStatement
}

/** What a file had, and what of it could not be read. */
const ImportedFile = ({ name, statement }: Imported) => {
  const text = reconciliationWords()
  const { lines_new, lines_read, lines_unread, problems, unread } = statement
  return (
    <Card title={name} note={text.imported(lines_read, lines_new, lines_unread)}>
      {(unread.length > 0 || problems.length > 0) && (
        <div class="pad">
          {unread.map(({ line, reason, text: written }) => (
            <div key={line}>
              {text.line(line)}: {reason} <bdi class="quiet">{written}</bdi>
            </div>
          ))}
          {problems.map((problem) => (
            <div key={problem}>{problem}</div>
          ))}
        </div>
      )}
    </Card>
  )
}

const Import = ({ onDone }: { readonly onDone: (files: ReadonlyArray<Imported>) => void }) => {
  const text = reconciliationWords()
  const connections = useLoaded("connections", (signal) =>
    call((api) => api.connections.list({ query: { limit: 100 } }), signal)
  )
  const listed = connections.value?.data ?? []
  return (
    <Action
      label={text.import}
      tone="first"
      question={text.importQuestion}
      fields={[
        {
          name: "connection_id",
          label: text.connection,
          kind: "choice",
          options: listed.map(({ id }) => id),
          nameOf: (id) => listed.find((each) => each.id === id)?.name ?? id
        },
        { name: "content", label: text.files, hint: text.filesHint, kind: "files" }
      ]}
      run={(values, files) => imported(String(values["connection_id"]), files)}
      onDone={onDone}
    />
  )
}

/** One file after the other; the first that is refused ends it. */
const imported = async (connectionId: string, files: Files): Promise<Outcome<ReadonlyArray<Imported>>> => {
  if (files.length === 0 || files.length > MAX_FILES) return refusal("content")
  if (files.some(({ size }) => size > MAX_FILE_BYTES || size === 0)) return refusal("content")
  const all: Array<Imported> = []
  for (const file of files) {
    const content = await base64Of(file)
    const outcome = await call((api) =>
      api.bankStatements.import({ payload: { connection_id: connectionId, content } })
    )
    if (outcome._tag === "Failed") return outcome
    all.push({ name: file.name, statement: outcome.value })
  }
  return { _tag: "Done", value: all }
}
