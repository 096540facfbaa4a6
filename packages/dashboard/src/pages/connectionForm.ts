/** The fields of a connection in forms, and the bodies that they make. */
import { ConnectionProfile, exceptionRules } from "@pix-payments/domain/AcquirerConnection"
import { inWords } from "../parts/reasons.ts"
import { type Field, textIn, type Values } from "../parts/Form.tsx"
import { words } from "../words/Words.ts"
import { connectionWords } from "./connectionWords.ts"

/** What identifies the connection at its provider. */
const generalFields = (isOptional: boolean): ReadonlyArray<Field> => {
  const text = connectionWords()
  const { fields, form } = words()
  return [
    { name: "name", label: fields.name, hint: form.name, isOptional },
    { name: "pix_key", label: text.key, hint: text.keyHint, isOptional }
  ]
}

const ruleField = (initial?: string): Field => {
  const { rule, rules } = connectionWords()
  return {
    name: "exception_rule",
    label: rule,
    kind: "choice",
    options: exceptionRules,
    nameOf: (option) => (rules as Readonly<Record<string, string>>)[option] ?? option,
    initial
  }
}

const urlFields = (): ReadonlyArray<Field> => {
  const text = connectionWords()
  return [
    { name: "settings.base_url", label: text.baseUrl, hint: text.urlOfApiHint, isOptional: true },
    { name: "settings.token_url", label: text.tokenUrl, hint: text.urlOfApiHint, isOptional: true }
  ]
}

export const credentialFields = (isOptional: boolean): ReadonlyArray<Field> => {
  const text = connectionWords()
  return [
    { name: "credentials.client_id", label: text.clientId, hint: text.textHint, isOptional },
    { name: "credentials.client_secret", label: text.clientSecret, hint: text.textHint, kind: "secret", isOptional },
    { name: "credentials.certificate", label: text.pem, hint: text.pemHint, kind: "long", isOptional },
    { name: "credentials.private_key", label: text.privateKey, hint: text.privateKeyHint, kind: "long", isOptional },
    { name: "credentials.ca", label: text.ca, hint: text.caHint, kind: "long", isOptional: true },
    {
      name: "credentials.developer_key",
      label: text.developerKey,
      hint: text.textHint,
      kind: "secret",
      isOptional: true
    },
    { name: "credentials.current_account", label: text.currentAccount, hint: text.currentAccountHint, isOptional: true }
  ]
}

export const creationFields = (): ReadonlyArray<Field> => [
  ...generalFields(false).slice(0, 1),
  {
    name: "profile",
    label: connectionWords().profile,
    kind: "choice",
    options: ConnectionProfile.literals,
    nameOf: inWords
  },
  ...generalFields(false).slice(1),
  ...credentialFields(false),
  ruleField(),
  ...urlFields()
]

export const changeFields = (rule: string): ReadonlyArray<Field> => [...generalFields(true), ruleField(rule)]

const parts = [
  "client_id",
  "client_secret",
  "certificate",
  "private_key",
  "ca",
  "developer_key",
  "current_account"
] as const

/** The credentials that were filled. */
export const credentialsIn = (values: Values): Partial<Record<(typeof parts)[number], string>> =>
  Object.fromEntries(
    parts.flatMap((part) => {
      const value = textIn(values, `credentials.${part}`)
      return value === undefined ? [] : [[part, value]]
    })
  )

export const ruleIn = (values: Values) =>
  exceptionRules.find((rule) => rule === textIn(values, "exception_rule")) ?? "hold"

export const profileIn = (values: Values) =>
  ConnectionProfile.literals.find((profile) => profile === textIn(values, "profile")) ?? "bacen"
