/**
 * Requests of operators that a second operator decides, with what each would change.
 *
 * Guarantee: `j` and `k` move between the requests that this operator may decide, `x` selects one, `a` approves and `r` rejects
 * the selected ones, else the focused one. Each asks first.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { ApprovalStatus } from "@pix-payments/domain/Approval"
import { legible } from "@pix-payments/domain/Text"
import { type Signal, useSignal } from "@preact/signals"
import * as Effect from "effect/Effect"
import { useLayoutEffect } from "preact/hooks"
import { call, type Outcome } from "../app/Client.ts"
import { may, session } from "../app/Session.ts"
import { hasShortcuts } from "../app/Shortcuts.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { isToBeRepeated, ShowSecret } from "../parts/ApprovedSecret.tsx"
import { textIn } from "../parts/Form.tsx"
import { List } from "../parts/List.tsx"
import { Secret } from "../parts/Secret.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { actionName, headline, Requester, SelectionSheet, Sheet, SummaryLines } from "./ApprovalSummary.tsx"
import { approvalWords } from "./approvalWords.ts"
import { Unrequested } from "./Unrequested.tsx"

export const Approvals = () => {
  const version = useSignal(0)
  const secret = useSignal<string | undefined>(undefined)
  const selected = useSignal<ReadonlyArray<Approval>>([])
  useDecisionKeys()
  const { fields, nav } = words()
  const text = approvalWords()
  const reload = () => {
    version.value += 1
  }
  return (
    <>
      {secret.value !== undefined && <Secret text={secret.value} />}
      <List
        title={nav.approvals}
        actions={selected.value.length > 0 && <Selected of={selected} onDone={reload} />}
        empty={text.empty}
        filters={[
          { name: "status", label: fields.status, options: ApprovalStatus.literals, nameOf: approvalStateName },
          { name: "created", label: fields.created, kind: "period" },
          { name: "account_id", label: fields.account, kind: "account" }
        ]}
        load={(api, query) =>
          Effect.tap(api.approvals.list({ query }), ({ data }) =>
            Effect.sync(() => {
              selected.value = refreshed(selected.value, data)
            })
          )
        }
        version={version.value}
        columns={[
          { name: text.action, cell: (approval) => <Asked of={approval} selected={selected} /> },
          {
            name: text.balanceAfter,
            wide: true,
            cell: ({ summary }) =>
              summary.balance_after !== null && <span class="nowrap">{money(summary.balance_after)}</span>
          },
          { name: text.by, cell: (approval) => <Requester of={approval} />, wide: true },
          { name: fields.created, cell: (approval) => <Time of={approval.created_at} />, wide: true, isTime: true },
          {
            name: fields.status,
            right: true,
            cell: (approval) => <Decision of={approval} secret={secret} onDone={reload} />
          }
        ]}
      />
      <Unrequested />
    </>
  )
}

/** The selected requests as they are now, without those that were decided meanwhile. */
const refreshed = (selected: ReadonlyArray<Approval>, rows: ReadonlyArray<Approval>): ReadonlyArray<Approval> =>
  selected
    .map((approval) => rows.find(({ id }) => id === approval.id) ?? approval)
    .filter(({ status }) => status === "pending")

const approvalStateName = (state: string): string =>
  (approvalWords().states as Readonly<Record<string, string>>)[state] ?? state

/** The server refuses who may not decide for another reason. */
const mayDecide = ({ requested_by, status, token_made_by }: Approval): boolean =>
  status === "pending" &&
  may("operator") &&
  ![requested_by.id, token_made_by?.id ?? requested_by.id].includes(session.state.value?.operator.id ?? null)

const Asked = ({
  of: approval,
  selected
}: {
  readonly of: Approval
  readonly selected: Signal<ReadonlyArray<Approval>>
}) => {
  const text = approvalWords()
  const { id, reason, summary } = approval
  return (
    <>
      {mayDecide(approval) && (
        <input
          type="checkbox"
          class="row"
          aria-label={text.select(headline(approval), legible(approval.requested_by.name))}
          checked={selected.value.some((each) => each.id === id)}
          onChange={({ currentTarget }) => {
            const others = selected.value.filter((each) => each.id !== id)
            selected.value = currentTarget.checked ? [...others, approval] : others
          }}
        />
      )}{" "}
      <b>{headline(approval)}</b>
      {summary.amount !== null && <div class="quiet">{actionName(approval)}</div>}
      <SummaryLines of={approval} />
      {reason !== null && (
        <div class="quiet">
          <bdi>{legible(reason)}</bdi>
        </div>
      )}
    </>
  )
}

/** One decision, with one reason, about all selected requests. It stops at the first that is refused. */
const Selected = ({
  of: selected,
  onDone
}: {
  readonly of: Signal<ReadonlyArray<Approval>>
  readonly onDone: () => void
}) => {
  const text = approvalWords()
  const { actions, fields } = words()
  const count = selected.value.length
  const each = async (decide: (id: string) => Promise<Outcome<Approval>>): Promise<Outcome<null>> => {
    for (const { id } of selected.value) {
      const outcome = await decide(id)
      if (outcome._tag === "Failed") {
        onDone()
        return outcome
      }
      if (selected.value.length > 1) selected.value = selected.value.filter((other) => other.id !== id)
    }
    return { _tag: "Done", value: null }
  }
  const onEnd = () => {
    selected.value = []
    onDone()
  }
  const question = <SelectionSheet of={selected.value} />
  const reason = { name: "reason", label: fields.reason, hint: text.reason }
  return (
    <>
      <Action
        label={`${actions.approve} (${count})`}
        tone="first"
        question={question}
        fields={[{ ...reason, isOptional: true }]}
        run={(values) =>
          each((id) =>
            call((api) =>
              api.approvalActions.approve({ params: { id }, payload: { reason: textIn(values, "reason") ?? null } })
            )
          )
        }
        onDone={onEnd}
      />
      <Action
        label={`${text.reject} (${count})`}
        tone="bad"
        question={question}
        fields={[reason]}
        run={(values) =>
          each((id) =>
            call((api) => api.approvalActions.reject({ params: { id }, payload: { reason: String(values["reason"]) } }))
          )
        }
        onDone={onEnd}
      />
      <button
        type="button"
        onClick={() => {
          selected.value = []
        }}
      >
        {text.unselect}
      </button>
    </>
  )
}

const useDecisionKeys = () =>
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!hasShortcuts.peek()) return
      const { key, target } = event
      if (!["a", "r", "x"].includes(key) || event.metaKey || event.ctrlKey || event.altKey) return
      if (target instanceof Element && target.closest("input:not(.row), select, textarea, dialog") !== null) return
      const row = globalThis.document.activeElement?.closest("main tr")
      const tone = key === "a" ? "button.first" : "button.bad"
      const place = globalThis.document.querySelector(`main > .head ${tone}`) === null ? row : globalThis.document
      const found =
        key === "x"
          ? row?.querySelector<HTMLElement>("input.row")
          : place?.querySelector<HTMLElement>(place === row ? tone : `main > .head ${tone}`)
      if (found === null || found === undefined) return
      // The key is not text of the dialog that opens.
      event.preventDefault()
      found.click()
    }
    globalThis.addEventListener("keydown", onKey)
    return () => globalThis.removeEventListener("keydown", onKey)
  }, [])

/** The state; while it waits, what another operator can do; once a key or token is approved, what its requester can do. */
const Decision = ({
  of: approval,
  onDone,
  secret
}: {
  readonly of: Approval
  readonly secret: Signal<string | undefined>
  readonly onDone: () => void
}) => {
  const text = approvalWords()
  const { actions, fields } = words()
  const isOwn = session.state.value?.operator.id === approval.requested_by.id
  if (!mayDecide(approval)) {
    return (
      <>
        <State of={approval.status} name={approvalStateName(approval.status)} />
        {isOwn && approval.status === "pending" && <div class="quiet">{text.own}</div>}
        {isToBeRepeated(approval) && (
          <div>
            {approval.action === "connection.register_webhook" ? (
              <a href={`/connections/${approval.resource?.id}`}>{text.register}</a>
            ) : (
              <ShowSecret
                of={approval}
                onDone={(shown) => {
                  secret.value = shown
                  onDone()
                }}
              />
            )}
          </div>
        )}
      </>
    )
  }
  const params = { id: approval.id }
  const question = <Sheet of={approval} />
  return (
    <>
      <Action
        label={actions.approve}
        tone="first"
        isSmall
        question={question}
        run={() => call((api) => api.approvalActions.approve({ params, payload: {} }))}
        onDone={onDone}
      />{" "}
      <Action
        label={text.reject}
        tone="bad"
        isSmall
        question={question}
        fields={[{ name: "reason", label: fields.reason, hint: text.reason }]}
        run={({ reason }) => call((api) => api.approvalActions.reject({ params, payload: { reason: String(reason) } }))}
        onDone={onDone}
      />
    </>
  )
}
