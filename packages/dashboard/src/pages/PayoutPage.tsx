/** A payout: its recipient, and what can be done. */
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import { call } from "../app/Client.ts"
import { isSimulated, may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { ApprovePayout } from "../parts/ApprovePayout.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { masculineStateName } from "../parts/State.tsx"
import { ReceiptLink } from "../parts/ReceiptLink.tsx"
import { ResourceTimeline } from "../parts/ResourceTimeline.tsx"
import { Reveal } from "../parts/Reveal.tsx"
import { outcomeName, Settle, settleWords } from "../parts/Settle.tsx"
import { Time } from "../parts/Time.tsx"
import { documentOf, inWords, pixKeyOf } from "../parts/reasons.ts"
import { words } from "../words/Words.ts"

export const PayoutPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.payouts.retrieve({ params: { id }, query: {} }))
  const { actions, ask } = words()
  return (
    <Resource loaded={loaded}>
      {(payout) => (
        <>
          <Head
            title={money(payout.amount)}
            state={payout.status}
            stateName={masculineStateName(payout.status)}
            id={payout.id}
            operation={`/payouts/${id}`}
            beside={payout.provider_outcome !== null && <BankSays outcome={payout.provider_outcome} />}
          >
            {payout.status === "processing" && (
              <Settle
                amount={payout.amount}
                since={payout.processed_at ?? payout.created_at}
                of="payout"
                settle={({ id: endToEndId, outcome, reason }, key) =>
                  call((api) =>
                    api.payoutActions.settle({
                      params: { id },
                      headers: { "idempotency-key": key },
                      payload: { outcome, end_to_end_id: endToEndId, reason }
                    })
                  )
                }
                onDone={loaded.reload}
              />
            )}
            {payout.status === "completed" && <ReceiptLink of={`/payouts/${id}`} />}
            {may("operator") && payout.status === "pending" && (
              <>
                <ApprovePayout payout={payout} onDone={loaded.reload} />
                <Action
                  label={actions.cancelPayout}
                  tone="bad"
                  question={ask.cancelPayout(money(payout.amount))}
                  run={() => call((api) => api.payoutActions.cancel({ params: { id } }))}
                  onDone={loaded.reload}
                />
              </>
            )}
          </Head>
          <section class="cols">
            <ResourceTimeline id={id} resource="payout" />
            <div class="stack">
              <Terms payout={payout} />
              {isSimulated() && may("developer") && payout.status === "processing" && (
                <Simulator payout={payout} reload={loaded.reload} />
              )}
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

const Terms = ({ payout }: { readonly payout: OperatorPayout }) => {
  const { cards, fields } = words()
  const params = { id: payout.id }
  return (
    <Reveal
      value={payout}
      load={() => call((api) => api.payouts.retrieve({ params, query: { reveal: "true" } }))}
      key={payout.id}
    >
      {({ recipient }, button) => (
        <Card title={cards.payout} note={button}>
          <Facts
            of={[
              [fields.recipient, recipient.name],
              [fields.document, documentOf(recipient.document)],
              [fields.pixKey, pixKeyOf(recipient.pix_key)],
              [fields.bankAccount, bankAccountOf(recipient)],
              [fields.fee, money(payout.fee)],
              [fields.method, inWords(payout.method)],
              [fields.origin, inWords(payout.origin)],
              [fields.reference, payout.reference],
              [fields.description, payout.description],
              [fields.failureReason, inWords(payout.failure_reason)],
              [fields.endToEndId, payout.end_to_end_id && <code>{payout.end_to_end_id}</code>],
              [fields.duplicate_of, payout.duplicate_of && <IdLink id={payout.duplicate_of} to="payouts" />],
              [fields.created, <Time of={payout.created_at} key="created" />],
              [fields.account, <IdLink id={payout.account_id} to="accounts" key="account" />]
            ]}
          />
        </Card>
      )}
    </Reveal>
  )
}

/** What the bank says against the state, which leads to the exception that holds the money (OPR-212). */
const BankSays = ({ outcome }: { readonly outcome: string }) => (
  <a class="chip warn" href="/exceptions?status=open&kind=contradictory_outcome">
    {settleWords().says}: {outcomeName(outcome)}
  </a>
)

/** `00000000 0001 12345-6`, of a TED. */
const bankAccountOf = ({ account, bank, branch }: OperatorPayout["recipient"]): string =>
  [bank, branch, account].filter((part) => part !== null).join(" ")

/** What the simulated acquirer can report of a payout that it has. */
const Simulator = ({ payout, reload }: { readonly payout: OperatorPayout; readonly reload: () => void }) => {
  const { actions, ask, cards, fields, form } = words()
  const params = { id: payout.id }
  const question = ask.simulate(money(payout.amount))
  return (
    <Card title={cards.simulator}>
      <div class="head actions">
        <Action
          label={actions.complete}
          tone="first"
          question={question}
          run={(_values, _files, key) =>
            call((api) => api.simulatorPayouts.complete({ params, payload: { external_id: key } }))
          }
          onDone={reload}
        />
        <Action
          label={actions.fail}
          tone="bad"
          question={question}
          fields={[{ name: "reason", label: fields.reason, hint: form.reason }]}
          run={({ reason }, _files, key) =>
            call((api) => api.simulatorPayouts.fail({ params, payload: { reason: String(reason), external_id: key } }))
          }
          onDone={reload}
        />
      </div>
    </Card>
  )
}
