/** A dispute: the time that is left, the defense, its messages, and what it is about. */
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { call } from "../../app/Client.ts"
import { isSimulated, may } from "../../app/Session.ts"
import { money } from "../../format/Money.ts"
import { absolute } from "../../format/Time.ts"
import { Action } from "../../parts/Action.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../../parts/Detail.tsx"
import type { Field } from "../../parts/Form.tsx"
import { now, Time } from "../../parts/Time.tsx"
import { inWords } from "../../parts/reasons.ts"
import { words } from "../../words/Words.ts"
import { Context } from "./Context.tsx"
import { DefenseForm } from "./DefenseForm.tsx"
import { disputeWords } from "./disputeWords.ts"
import { SentFiles } from "./Files.tsx"

const HOUR_MS = 3_600_000

const isUndecided = ({ status }: OperatorDispute): boolean => status === "open" || status === "under_review"

const canDefend = (dispute: OperatorDispute): boolean =>
  may("operator") && dispute.status === "open" && !dispute.defense_in_progress

export const DisputePage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.disputes.retrieve({ params: { id }, query: {} }))
  const { actions, ask, cards, empty, fields, form } = words()
  const text: ReadonlyArray<Field> = [{ name: "text", label: fields.text, hint: form.text, kind: "long" }]
  return (
    <Resource loaded={loaded}>
      {(dispute) => (
        <>
          <Head title={money(dispute.amount)} state={dispute.status} id={dispute.id} operation={`/disputes/${id}`}>
            {may("operator") && isUndecided(dispute) && (
              <Action
                label={actions.message}
                question={ask.message}
                fields={text}
                run={(values) =>
                  call((api) =>
                    api.disputeActions.message({ params: { id }, payload: { text: String(values["text"]) } })
                  )
                }
                onDone={loaded.reload}
              />
            )}
          </Head>
          <Standing of={dispute} />
          <section class="cols">
            <div class="stack">
              {(dispute.messages.length > 0 || !canDefend(dispute)) && (
                <Card title={cards.messages}>
                  {dispute.messages.length === 0 && <p class="quiet pad">{empty.messages}</p>}
                  <Chat of={dispute} />
                </Card>
              )}
              {canDefend(dispute) && (
                <DefenseForm
                  dispute={dispute}
                  onFiled={() => {
                    loaded.reload()
                    globalThis.document.querySelector<HTMLElement>("main h1")?.focus()
                  }}
                />
              )}
            </div>
            <div class="stack">
              <Card title={cards.dispute}>
                <Facts
                  of={[
                    [fields.deadline, dispute.defense_deadline_at && <Time of={dispute.defense_deadline_at} />],
                    [fields.reason, inWords(dispute.reason)],
                    [fields.opened, dispute.opened_at && <Time of={dispute.opened_at} />],
                    [fields.resolved, dispute.resolved_at && <Time of={dispute.resolved_at} />],
                    [fields.account, <IdLink id={dispute.account_id} to="accounts" key="account" />]
                  ]}
                />
              </Card>
              <Context dispute={dispute} />
              {isSimulated() && may("developer") && isUndecided(dispute) && (
                <Simulator dispute={dispute} reload={loaded.reload} />
              )}
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

/** The clock to the deadline, or the outcome. */
const Standing = ({ of: dispute }: { readonly of: OperatorDispute }) => {
  const text = disputeWords()
  const amount = money(dispute.amount)
  if (dispute.status === "won") return <p class="card banner good">{text.won(amount)}</p>
  if (dispute.status === "lost") return <p class="card banner bad">{text.lost(amount)}</p>
  if (dispute.status === "under_review") return <p class="card banner busy">{text.underReview}</p>
  if (dispute.defense_in_progress) return <p class="card banner busy">{text.inProgress}</p>
  const { defense_deadline_at: deadline } = dispute
  if (deadline === null) return null
  const leftMs = Date.parse(deadline) - now.value
  if (leftMs <= 0) return <p class="card banner bad">{text.over}</p>
  const hours = Math.floor(leftMs / HOUR_MS)
  const left =
    hours < 48
      ? text.hours(hours, Math.floor((leftMs % HOUR_MS) / 60_000))
      : text.days(Math.floor(hours / 24), hours % 24)
  return (
    <p class={hours < 24 ? "card banner bad" : "card banner warn"}>
      <strong>{left}</strong> {text.left} <span class="quiet">{absolute(deadline)}</span>
    </p>
  )
}

/** The messages, oldest first: ours on the right. */
const Chat = ({ of: { messages } }: { readonly of: OperatorDispute }) => {
  const { cards } = words()
  if (messages.length === 0) return null
  return (
    <ol class="chat">
      {messages.map(({ at, author, files, text }) => (
        <li class={author === "platform" ? undefined : "ours"} key={`${at} ${text}`}>
          <p>{text}</p>
          <SentFiles of={files} />
          <span class="quiet hint">
            {author === "platform" ? cards.platform : cards.us} · <Time of={at} />
          </span>
        </li>
      ))}
    </ol>
  )
}

/** What the platform can report through the simulated acquirer. */
const Simulator = ({ dispute, reload }: { readonly dispute: OperatorDispute; readonly reload: () => void }) => {
  const { actions, ask, cards, fields, form } = words()
  const params = { id: dispute.id }
  const question = ask.simulate(money(dispute.amount))
  return (
    <Card title={cards.simulator}>
      <div class="head actions">
        <Action
          label={actions.reply}
          question={question}
          fields={[{ name: "text", label: fields.text, hint: form.text, kind: "long" }]}
          run={(values, _files, key) =>
            call((api) =>
              api.simulatorDisputes.message({ params, payload: { text: String(values["text"]), external_id: key } })
            )
          }
          onDone={reload}
        />
        <Action
          label={actions.win}
          tone="first"
          question={question}
          run={(_values, _files, key) =>
            call((api) => api.simulatorDisputes.win({ params, payload: { external_id: key } }))
          }
          onDone={reload}
        />
        <Action
          label={actions.lose}
          tone="bad"
          question={question}
          run={(_values, _files, key) =>
            call((api) => api.simulatorDisputes.lose({ params, payload: { external_id: key } }))
          }
          onDone={reload}
        />
      </div>
    </Card>
  )
}
