/** A dispute: the time that is left, its messages, and the defense. */
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { call } from "../app/Client.ts"
import { isSimulated, may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { Time } from "../parts/Time.tsx"
import { Timeline } from "../parts/Timeline.tsx"
import { words } from "../words/Words.ts"

const isUndecided = ({ status }: OperatorDispute): boolean => status === "open" || status === "under_review"

export const DisputePage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.disputes.retrieve({ params: { id }, query: {} }))
  const { actions, ask, cards, empty, fields, form } = words()
  const text = [{ name: "text", label: fields.text, hint: form.text, kind: "long" }] as const
  return (
    <Resource loaded={loaded}>
      {(dispute) => (
        <>
          <Head title={money(dispute.amount)} state={dispute.status} id={dispute.id} operation={`/disputes/${id}`}>
            {may("operator") && dispute.status === "open" && (
              <Action
                label={actions.defend}
                tone="first"
                question={ask.defend(money(dispute.amount))}
                fields={text}
                run={(values) =>
                  call((api) =>
                    api.disputeActions.defense({ params: { id }, payload: { text: String(values["text"]) } })
                  )
                }
                onDone={loaded.reload}
              />
            )}
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
          <section class="cols">
            <Card title={cards.messages} note={cards.newestFirst}>
              {dispute.messages.length === 0 && <p class="quiet pad">{empty.messages}</p>}
              <Timeline
                moments={dispute.messages.map(({ at, author, text: said }) => ({
                  at,
                  state: author === "platform" ? "open" : "processing",
                  title: <b>{author === "platform" ? cards.platform : cards.us}</b>,
                  detail: said
                }))}
              />
            </Card>
            <div class="stack">
              <Card title={cards.dispute}>
                <Facts
                  of={[
                    [fields.deadline, dispute.defense_deadline_at && <Time of={dispute.defense_deadline_at} />],
                    [fields.reason, dispute.reason],
                    [fields.reference, dispute.reference],
                    [fields.opened, dispute.opened_at && <Time of={dispute.opened_at} />],
                    [fields.resolved, dispute.resolved_at && <Time of={dispute.resolved_at} />],
                    [fields.charge, <IdLink id={dispute.charge_id} to="charges" key="charge" />],
                    [fields.account, <IdLink id={dispute.account_id} to="accounts" key="account" />]
                  ]}
                />
              </Card>
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
          run={(values) =>
            call((api) => api.simulatorDisputes.message({ params, payload: { text: String(values["text"]) } }))
          }
          onDone={reload}
        />
        <Action
          label={actions.win}
          tone="first"
          question={question}
          run={() => call((api) => api.simulatorDisputes.win({ params, payload: {} }))}
          onDone={reload}
        />
        <Action
          label={actions.lose}
          tone="bad"
          question={question}
          run={() => call((api) => api.simulatorDisputes.lose({ params, payload: {} }))}
          onDone={reload}
        />
      </div>
    </Card>
  )
}
