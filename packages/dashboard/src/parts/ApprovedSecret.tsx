/**
 * A key or token that another operator approved: its requester makes it, and sees its secret once (OPR-115).
 *
 * Guarantee: it asks for what was approved, so that nothing else is made.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { isRepeated } from "@pix-payments/domain/Approval"
import { legible } from "@pix-payments/domain/Text"
import type * as Effect from "effect/Effect"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { session } from "../app/Session.ts"
import { inBoth } from "../words/Words.ts"
import { Action } from "./Action.tsx"

interface Props {
  readonly of: Approval
  readonly onDone: (secret: string) => void
}

export const ShowSecret = ({ of: approval, onDone }: Props) => {
  const text = secretWords()
  const isKey = approval.action === "key.create"
  return (
    <Action
      label={isKey ? text.showKey : text.showToken}
      tone="first"
      isSmall
      run={() => repeated(approval)}
      onDone={(made: Made) => onDone("key" in made ? made.key : made.token)}
    />
  )
}

/** What is approved of a resource for the operator of this page, who is to repeat it. */
export const useApproved = (resourceId: string) => {
  const { reload, value } = useLoaded(
    `approved ${resourceId}`,
    (signal) => call((api) => api.approvals.list({ query: { status: "approved", limit: 100 } }), signal),
    { every: 10 }
  )
  const own = value?.data.filter((approval) => approval.resource?.id === resourceId && isToBeRepeated(approval))
  return { approved: own ?? [], reload }
}

/** The keys or tokens of a resource that wait to be shown, on its page. */
export const ApprovedSecrets = ({
  onDone,
  resourceId
}: {
  readonly resourceId: string
  readonly onDone: Props["onDone"]
}) => {
  const { approved, reload } = useApproved(resourceId)
  return (
    <>
      {approved.map((approval) => (
        <section class="card pad head" role="status" key={approval.id}>
          <b>
            <bdi>{legible(String(approval.request["name"]))}</bdi>
          </b>
          <span class="grow" />
          <ShowSecret
            of={approval}
            onDone={(secret) => {
              reload()
              onDone(secret)
            }}
          />
        </section>
      ))}
    </>
  )
}

/** Whether it is approved, and the operator of this page asked for it. */
export const isToBeRepeated = ({ action, done_at, requested_by, status }: Approval): boolean =>
  status === "approved" &&
  done_at === null &&
  isRepeated(action) &&
  requested_by.id === session.state.value?.operator.id

/** Asks for what was approved. The answer is another request where that one has expired meanwhile. */
const repeated = ({ action, request, resource }: Approval): Promise<Outcome<Approval | Made>> => {
  const params = { id: resource?.id ?? "" }
  const payload = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null)) as never
  return action === "key.create"
    ? call((api): Effect.Effect<Approval | Made, unknown> => api.keys.create({ params, payload }))
    : call((api): Effect.Effect<Approval | Made, unknown> => api.operatorTokens.create({ params, payload }))
}

type Made = { readonly key: string } | { readonly token: string }

const secretWords = inBoth({
  en: {
    showKey: "Approved: show the key (once)",
    showToken: "Approved: show the token (once)"
  },
  pt: {
    showKey: "Aprovada: mostrar a chave (uma vez)",
    showToken: "Aprovado: mostrar o token (uma vez)"
  }
})
