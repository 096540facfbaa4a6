/** An account: its balance, settings and applications. */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { go } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { centsOf, money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Brakes } from "../parts/Brakes.tsx"
import { Card, Facts, Head, Resource, useResource } from "../parts/Detail.tsx"
import { textIn } from "../parts/Form.tsx"
import { ChangeLimits, LimitFacts, limitsTitle } from "../parts/Limits.tsx"
import { Table } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { statementAccountFact, statementAccountFields, statementAccountIn } from "../parts/statementAccount.ts"
import { Time } from "../parts/Time.tsx"
import { documentOf, phoneOf } from "../parts/reasons.ts"
import { inBoth, words } from "../words/Words.ts"

export const AccountPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.accounts.retrieve({ params: { id } }))
  const { cards, fields, nav } = words()
  const text = accountWords()
  return (
    <Resource loaded={loaded}>
      {(account) => (
        <>
          <Head title={account.name} state={account.status} id={account.id} operation={`/accounts/${id}`}>
            <a href={`/charges?account_id=${id}`}>{nav.charges}</a>
            <a href={`/payouts?account_id=${id}`}>{nav.payouts}</a>
            <a href={`/ledger?account_id=${id}`}>{nav.ledger}</a>
            <a href={`/statements?account_id=${id}`}>{nav.statements}</a>
            <a href={`/closes?account_id=${id}`}>{nav.closes}</a>
          </Head>
          <section class="cols">
            <Applications accountId={id} />
            <div class="stack">
              <Card title={cards.balance}>
                <Facts
                  of={[
                    [fields.available, <b key="available">{money(account.balance.available)}</b>],
                    [fields.pending, money(account.balance.pending)]
                  ]}
                />
              </Card>
              <Brakes
                of={account}
                whose={account.name}
                change={(payload) => call((api) => api.accounts.update({ params: { id }, payload }))}
                onDone={loaded.reload}
              />
              <Card
                title={limitsTitle()}
                note={
                  may("admin") && (
                    <ChangeLimits
                      of={account.limits}
                      whose={account.name}
                      change={(limits) => call((api) => api.accounts.update({ params: { id }, payload: { limits } }))}
                      onDone={loaded.reload}
                    />
                  )
                }
              >
                <LimitFacts of={account.limits} />
              </Card>
              <Card title={cards.settings} note={may("admin") && <Change of={account} onDone={loaded.reload} />}>
                <Facts
                  of={[
                    [fields.legal_name, account.legal_name],
                    [fields.document, documentOf(account.document)],
                    [fields.phone, phoneOf(account.phone)],
                    ...(account.moved_to === null ? [] : [[words().nav.cell, account.moved_to] as const]),
                    [fields.auto_payout, account.auto_payout_enabled ? cards.yes : cards.no],
                    [
                      text.limit,
                      account.approval_limit === null ? text.noLimit : text.above(money(account.approval_limit))
                    ],
                    [
                      fields.fee,
                      `${money(account.payout_fee.fixed)} + ${(account.payout_fee.basis_points / 100).toLocaleString("pt-BR")} %`
                    ],
                    statementAccountFact(account.statement_account),
                    [fields.created, <Time of={account.created_at} key="created" />]
                  ]}
                />
              </Card>
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

/** What decides which payouts wait for a person. It sends the fields that were changed, so that it keeps others' changes. */
const Change = ({ of: account, onDone }: { readonly of: OperatorAccount; readonly onDone: () => void }) => {
  const text = accountWords()
  const { cards, fields } = words()
  const { approval_limit: limit, auto_payout_enabled: isAutomatic, statement_account: of } = account
  const writtenLimit = limit === null ? undefined : money(limit)
  return (
    <Action
      label={text.change}
      isSmall
      question={text.ask}
      fields={[
        {
          name: "auto_payout_enabled",
          label: fields.auto_payout,
          kind: "choice",
          options: ["true", "false"],
          nameOf: (option) => (option === "true" ? cards.yes : cards.no),
          initial: String(isAutomatic)
        },
        {
          name: "approval_limit",
          label: text.limit,
          hint: text.limitHint,
          initial: writtenLimit,
          isOptional: true
        },
        ...statementAccountFields(of)
      ]}
      run={(values) => {
        const written = textIn(values, "approval_limit")
        const isToBeAutomatic = values["auto_payout_enabled"] === "true"
        const payload = {
          ...statementAccountIn(values, of),
          ...(isToBeAutomatic !== isAutomatic && { auto_payout_enabled: isToBeAutomatic }),
          ...(written !== writtenLimit && { approval_limit: written === undefined ? null : centsOf(written) })
        }
        return call((api) => api.accounts.update({ params: { id: account.id }, payload }))
      }}
      onDone={onDone}
    />
  )
}

const accountWords = inBoth({
  en: {
    limit: "Approval limit",
    noLimit: "none",
    above: (amount: string) => `payouts above ${amount} need two operators`,
    limitHint: "In reais, as 1.000,00. With four eyes, payouts above it need two operators. Empty: none.",
    change: "Change",
    ask: "Payouts that are not automatic wait until an operator approves them."
  },
  pt: {
    limit: "Limite de aprovação",
    noLimit: "nenhum",
    above: (amount) => `pagamentos acima de ${amount} precisam de dois operadores`,
    limitHint:
      "Em reais, como 1.000,00. Com dupla aprovação, pagamentos acima dele precisam de dois operadores. Vazio: nenhum.",
    change: "Alterar",
    ask: "Pagamentos que não são automáticos esperam a aprovação de um operador."
  }
})

const Applications = ({ accountId }: { readonly accountId: string }) => {
  const params = { id: accountId }
  const { value } = useLoaded(accountId, (signal) =>
    call((api) => api.applications.list({ params, query: { limit: 100 } }), signal)
  )
  const { actions, ask, cards, empty, fields, form } = words()
  return (
    <Card
      title={cards.applications}
      note={
        may("developer") && (
          <Action
            label={actions.createApplication}
            isSmall
            question={ask.application}
            fields={[{ name: "name", label: fields.name, hint: form.name }]}
            run={({ name }) => call((api) => api.applications.create({ params, payload: { name: String(name) } }))}
            onDone={({ id }) => go(`/applications/${id}?account=${accountId}`)}
          />
        )
      }
    >
      {value?.data.length === 0 && <p class="quiet pad">{empty.applications}</p>}
      {value !== undefined && value.data.length > 0 && (
        <Table
          rows={value.data}
          linkOf={({ id }) => `/applications/${id}?account=${accountId}`}
          columns={[
            { name: fields.name, cell: ({ name }) => name },
            { name: fields.status, cell: ({ active }) => <State of={active ? "active" : "inactive"} /> },
            { name: fields.created, cell: (application) => <Time of={application.created_at} />, right: true }
          ]}
        />
      )}
    </Card>
  )
}
