/** The compared days of bank accounts, and the import of the banks' statement files. */
import type { BankStatement } from "@pix-payments/api/operator/BankStatements"
import type { Reconciliation } from "@pix-payments/api/operator/Reconciliations"
import { useSignal } from "@preact/signals"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { may } from "../app/Session.ts"
import { base64Of } from "../format/Base64.ts"
import { money } from "../format/Money.ts"
import { dayText } from "../format/Time.ts"
import { Action } from "../parts/Action.tsx"
import { Card } from "../parts/Detail.tsx"
import { type Files, refusal } from "../parts/Form.tsx"
import { daysText } from "../parts/Days.tsx"
import { List, Table } from "../parts/List.tsx"
import { Named } from "../parts/Named.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { remarkText } from "./statementRemarks.ts"
import { dayStatusName, reconciliationWords } from "./reconciliationWords.ts"

const MAX_FILES = 20
const MAX_FILE_BYTES = 8 * 1024 * 1024

/** `open` where it is compared and somebody has to look at a line of it. */
export const stateOfDay = (day: Reconciliation) => (day.status === "done" && day.unmatched > 0 ? "open" : day.status)

export const Reconciliations = () => {
  const { fields, nav } = words()
  const text = reconciliationWords()
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
              onDone={() => {
                version.value += 1
              }}
            />
          )
        }
        load={(api, query) => api.reconciliations.list({ query })}
        linkOf={({ id }) => `/reconciliations/${id}`}
        columns={[
          {
            name: text.day,
            cell: ({ connection_id, day }) => (
              <>
                <span class="nowrap">{dayText(day)}</span>
                <div class="quiet under">
                  <Named kind="connections" id={connection_id} />
                </div>
              </>
            )
          },
          {
            name: fields.status,
            cell: (day) => <State of={stateOfDay(day)} name={dayStatusName(stateOfDay(day))} />,
            wide: true
          },
          { name: text.unmatched, cell: ({ unmatched }) => unmatched || "–", right: true },
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
      <ImportedFiles version={version.value} />
    </>
  )
}

/** The last files: what each had, and what of it could not be read or is there twice. */
const ImportedFiles = ({ version }: { readonly version: number }) => {
  const { fields } = words()
  const text = reconciliationWords()
  const { value } = useLoaded(
    `bank statements ${version}`,
    (signal) => call((api) => api.bankStatements.list({ query: { limit: 10 } }), signal),
    { every: 10 }
  )
  if (value === undefined || value.data.length === 0) return null
  return (
    <Card title={text.importedFiles}>
      <Table
        rows={value.data}
        columns={[
          { name: fields.at, cell: ({ created_at }) => <Time of={created_at} />, wide: true },
          {
            name: text.file,
            cell: ({ account, format, from, to }) => (
              <>
                <span class="nowrap">{format === "ofx" ? "OFX" : "CNAB 240"}</span> <bdi>{account}</bdi>
                <div class="quiet under nowrap">{from !== null && to !== null && daysText({ from, to })}</div>
              </>
            )
          },
          { name: text.count, cell: (statement) => <Unread of={statement} /> }
        ]}
      />
    </Card>
  )
}

const MOST_SHOWN = 20

const Unread = ({ of }: { readonly of: BankStatement }) => {
  const text = reconciliationWords()
  const shown = of.unread.slice(0, MOST_SHOWN)
  return (
    <>
      {text.imported(of.lines_read, of.lines_new, of.lines_unread)}
      {of.problems.map((problem) => (
        <div class="under" key={problem}>
          {remarkText(problem)}
        </div>
      ))}
      {shown.map(({ line, reason, text: written }) => (
        <div class="under" key={line}>
          {text.line(line)}: {remarkText(reason)} <bdi class="quiet">{written}</bdi>
        </div>
      ))}
      {of.lines_unread > shown.length && (
        <div class="quiet under">{text.moreUnread(of.lines_unread - shown.length)}</div>
      )}
    </>
  )
}

const Import = ({ onDone }: { readonly onDone: () => void }) => {
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
const imported = async (connectionId: string, files: Files): Promise<Outcome<undefined>> => {
  if (files.length === 0 || files.length > MAX_FILES) return refusal("content")
  if (files.some(({ size }) => size > MAX_FILE_BYTES || size === 0)) return refusal("content")
  for (const file of files) {
    const content = await base64Of(file)
    const outcome = await call((api) =>
      api.bankStatements.import({ payload: { connection_id: connectionId, content } })
    )
    if (outcome._tag === "Failed") return outcome
  }
  return { _tag: "Done", value: undefined }
}
