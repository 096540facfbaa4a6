/** A compared day: its sums, and the lines that do not match. `j` and `k` go from line to line, Enter opens what is behind one. */
import type { Reconciliation, ReconciliationLine } from "@pix-payments/api/operator/Reconciliations"
import { unmatchedStates } from "@pix-payments/domain/Reconciliation"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { query, withQuery } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { dayText } from "../format/Time.ts"
import { Action } from "../parts/Action.tsx"
import { nounOf } from "../parts/auditWords.ts"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { stateOfDay } from "./Reconciliations.tsx"
import { remarkText } from "./statementRemarks.ts"
import { dayStatusName, lineStateName, reconciliationWords } from "./reconciliationWords.ts"
import { connectionSentence } from "./connectionSentences.ts"

export const ReconciliationPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.reconciliations.retrieve({ params: { id } }))
  const text = reconciliationWords()
  return (
    <Resource loaded={loaded}>
      {(day) => (
        <>
          <Head
            title={dayText(day.day)}
            state={stateOfDay(day)}
            stateName={dayStatusName(stateOfDay(day))}
            id={day.id}
            operation={`/reconciliations/${id}`}
          >
            {may("operator") && (
              <Action
                label={text.compare}
                question={text.compareQuestion}
                run={() =>
                  call((api) =>
                    api.reconciliations.request({ payload: { connection_id: day.connection_id, day: day.day } })
                  )
                }
                onDone={loaded.reload}
              />
            )}
          </Head>
          {day.reason !== null && <p class="card banner warn">{remarkText(day.reason)}</p>}
          <section class="cols">
            <div class="stack">
              <States day={day} />
              <Balance of={day.balance} />
            </div>
            <Sums day={day} />
          </section>
          <Lines day={day} onExplained={loaded.reload} />
        </>
      )}
    </Resource>
  )
}

const Sums = ({ day }: { readonly day: Reconciliation }) => {
  const text = reconciliationWords()
  return (
    <Card title={text.sums}>
      <Facts
        of={[
          [text.opening, day.opening !== null && money(day.opening)],
          [text.closing, day.closing !== null && money(day.closing)],
          [text.bank, money(day.bank_total)],
          [text.books, money(day.books_total)],
          [text.difference, <b key="difference">{money(day.difference)}</b>],
          [text.unmatched, day.unmatched],
          [text.unexplained, day.unexplained !== null && money(day.unexplained)],
          [text.connection, <IdLink id={day.connection_id} to="connections" key="connection" />]
        ]}
      />
    </Card>
  )
}

/** What the bank says by its API, beside the books. */
const Balance = ({ of }: { readonly of: Reconciliation["balance"] }) => {
  const text = reconciliationWords()
  if (of === null) return null
  const { at, bank, books, change, difference, problem } = of
  return (
    <Card title={text.balance}>
      <Facts
        of={[
          [text.readAt, <Time of={at} key="at" />],
          [text.bank, bank !== null && money(bank)],
          [text.books, books !== null && money(books)],
          [text.difference, difference !== null && money(difference)],
          [text.change, change !== null && <b key="change">{money(change)}</b>],
          [text.notRead, problem !== null && connectionSentence(problem)]
        ]}
      />
      {difference !== null && <p class="quiet pad">{text.balanceHint}</p>}
    </Card>
  )
}

/** The states of the day. Each leads to its lines. */
const States = ({ day }: { readonly day: Reconciliation }) => {
  const text = reconciliationWords()
  if (day.states.length === 0) return null
  return (
    <Card
      title={text.byState}
      note={query.value.has("state") && <a href={withQuery({ state: undefined })}>{text.all}</a>}
    >
      <Table
        rows={day.states.map((sums) => ({ ...sums, id: sums.state }))}
        columns={[
          {
            name: text.state,
            cell: ({ state }) =>
              state === "matched" ? lineStateName(state) : <a href={withQuery({ state })}>{lineStateName(state)}</a>
          },
          { name: text.count, cell: ({ count }) => count, right: true },
          {
            name: text.difference,
            cell: ({ difference }) => <span class="nowrap">{money(difference)}</span>,
            right: true
          }
        ]}
      />
    </Card>
  )
}

const Lines = ({ day, onExplained }: { readonly day: Reconciliation; readonly onExplained: () => void }) => {
  const text = reconciliationWords()
  const state = query.value.get("state") ?? undefined
  const after = query.value.get("starting_after") ?? undefined
  const asked = {
    limit: 50,
    ...(state !== undefined && { state: state as never }),
    ...(after !== undefined && { starting_after: after })
  }
  const { problem, reload, value } = useLoaded(`${day.id} ${state} ${after} ${day.done_at}`, (signal) =>
    call((api) => api.reconciliations.lines({ params: { id: day.id }, query: asked }), signal)
  )
  return (
    <Card title={text.lines} note={day.lines_left_out > 0 ? text.leftOut(day.lines_left_out) : undefined}>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {value !== undefined && value.data.length === 0 && (
        <p class="quiet pad">{day.unmatched === 0 && day.status === "done" ? text.allMatch : words().list.none}</p>
      )}
      {value !== undefined && value.data.length > 0 && (
        <Table
          rows={value.data}
          linkOf={linkOf}
          columns={[
            {
              name: text.state,
              cell: (line) => (
                <>
                  <State of={line.state} name={lineStateName(line.state)} />
                  <div class="narrow quiet under">
                    <Description of={line} />
                  </div>
                </>
              )
            },
            { name: words().fields.description, cell: (line) => <Description of={line} />, wide: true },
            ...(value.data.some(isUnmatched)
              ? [
                  {
                    name: text.explanation,
                    cell: (line: ReconciliationLine) => (
                      <>
                        {line.explanation !== null && <bdi>{line.explanation}</bdi>}{" "}
                        {may("operator") && isUnmatched(line) && (
                          <Explain
                            day={day}
                            line={line}
                            onDone={() => {
                              reload()
                              onExplained()
                            }}
                          />
                        )}
                      </>
                    )
                  }
                ]
              : []),
            ...(value.data.some(({ suggestions }) => suggestions.length > 0)
              ? [{ name: text.suggestions, cell: suggestionsOf, wide: true }]
              : []),
            { name: text.bank, cell: ({ bank }) => <Amount of={bank} />, wide: true, right: true },
            { name: text.books, cell: ({ books }) => <Amount of={books} />, wide: true, right: true },
            {
              name: text.ageName,
              cell: ({ age_days }) => <span class="nowrap">{text.age(age_days)}</span>,
              wide: true,
              right: true
            },
            {
              name: text.difference,
              cell: ({ difference }) => <span class="nowrap">{money(difference)}</span>,
              right: true
            }
          ]}
        />
      )}
      {value?.has_more === true && (
        <p class="pad">
          <a href={withQuery({ ...(state !== undefined && { state }), starting_after: value.data.at(-1)!.id })}>
            {words().list.next}
          </a>
        </p>
      )}
    </Card>
  )
}

const isUnmatched = ({ state }: ReconciliationLine): boolean => unmatchedStates.some((each) => each === state)

/** An empty explanation takes the line's away. */
const Explain = ({
  day,
  line,
  onDone
}: {
  readonly day: Reconciliation
  readonly line: ReconciliationLine
  readonly onDone: () => void
}) => {
  const text = reconciliationWords()
  const isExplained = line.explanation !== null
  return (
    <Action
      label={text.explain}
      isSmall
      question={text.explainQuestion(lineStateName(line.state), money(line.difference))}
      fields={[
        {
          name: "explanation",
          label: text.explanation,
          hint: isExplained ? text.explanationHint : text.explanationLength,
          kind: "long",
          initial: line.explanation ?? undefined,
          isOptional: isExplained
        }
      ]}
      run={({ explanation }) =>
        call((api) =>
          api.reconciliations.explain({
            params: { id: day.id },
            payload: { line_id: line.id, explanation: explanation === undefined ? null : String(explanation) }
          })
        )
      }
      onDone={onDone}
    />
  )
}

const Amount = ({ of }: { readonly of: { readonly amount: number } | null }) =>
  of === null ? null : <span class="nowrap">{money(of.amount)}</span>

const pages: Readonly<Record<string, string>> = {
  charge: "charges",
  payout: "payouts",
  refund: "refunds",
  dispute: "disputes",
  exception: "exceptions"
}

const pageOf = ({ id, object }: { readonly id: string; readonly object: string }): string | undefined =>
  pages[object] === undefined ? undefined : `/${pages[object]}/${id}`

/** What is behind a line: its resource, else what it may be, else its account, else the lines in its state. */
const linkOf = ({ account_id, source, state, suggestions }: ReconciliationLine): string => {
  const [first] = [...(source === null ? [] : [source]), ...suggestions].flatMap((of) => pageOf(of) ?? [])
  return first ?? (account_id === null ? withQuery({ state }) : `/accounts/${account_id}`)
}

/** What the bank writes; of what it does not have, the end-to-end id. */
const Description = ({ of: { bank, end_to_end_id } }: { readonly of: ReconciliationLine }) =>
  bank === null ? <code>{end_to_end_id}</code> : <bdi>{bank.description}</bdi>

const suggestionsOf = ({ suggestions }: ReconciliationLine) => (
  <>
    {suggestions.map((each) => {
      const page = pageOf(each)
      const label = `${nounOf(each.object)} ${dayText(each.day)}`
      return <div key={each.id}>{page === undefined ? label : <a href={page}>{label}</a>}</div>
    })}
  </>
)
