/** An example of each command, made from its declaration. CLI-9. */
import type { Field } from "./Fields.ts"
import type { Operation } from "./Operations.ts"

const EXAMPLE_ID = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"

/** Where the declaration says too little for a good example. */
const chosen: Readonly<Record<string, string>> = {
  "chargeActions.refund": `pix charges refund ${EXAMPLE_ID} --amount 1990 --yes`,
  "payoutActions.create": `pix payouts create ${EXAMPLE_ID} --amount 5000 --pix-key-type email --pix-key ana@example.com`,
  "exceptionActions.resolve": `pix exceptions resolve ${EXAMPLE_ID} --action return`,
  "exceptionActions.refund": `pix exceptions refund ${EXAMPLE_ID} --amount 1990`,
  "connectionActions.create":
    "pix connections create --name Efi --kind api-pix --provider-profile efi --pix-key pix@example.com --data credentials.json",
  "connectionActions.update": `pix connections update ${EXAMPLE_ID} --paused`,
  "alertChannels.create":
    "pix alert-channels create --name Plantão --kind slack --events dispute.deadline,exception.opened --data target.json",
  "alertChannels.update": `pix alert-channels update ${EXAMPLE_ID} --data target.json`,
  "adjustments.create": `pix adjustments create --account ${EXAMPLE_ID} --amount -1990 --reason 'a fee was charged twice'`,
  "accounts.move": `pix accounts move ${EXAMPLE_ID} --target b`,
  "accounts.update": `pix accounts update ${EXAMPLE_ID} --payouts-paused`,
  "audit.export": "pix audit export --created-after 2026-11-01T00:00:00Z > audit.jsonl",
  "deliveries.list": "pix deliveries list --status failed --event charge.pix.paid"
}

const values: Readonly<Record<string, string>> = {
  amount: "1990",
  document: "11.222.333/0001-81",
  legal_name: "'Loja Exemplo Ltda'",
  email: "ana@example.com",
  since: "2026-11-01T00:00:00Z",
  url: "https://pix.example.com/callback",
  phone: "+5511999998888",
  pix_key: "pix@example.com",
  reason: "'sent twice'",
  text: "'The goods were delivered on 3 November'"
}

const valueOf = ({ choices, kind, name, path }: Field): string => {
  if (path[0] === "customer" && name === "document") return "529.982.247-25"
  return values[name] ?? (kind === "integer" ? "1" : (choices[0] ?? "Loja"))
}

/** A call that shows the required flags, or the first optional one. */
export const exampleOf = ({ body = [], id, idOf, isPaged, name, query, resource }: Operation): string => {
  const explicit = chosen[id]
  if (explicit !== undefined) return explicit
  const required = body.filter(({ isRequired }) => isRequired)
  const filter = query.find(({ kind, name: field }) => kind === "choice" && field !== "reveal")
  const shown = required.length > 0 ? required : body.slice(0, 1)
  const flags = shown.map((field) =>
    field.kind === "boolean" ? `--${field.flag}` : `--${field.flag} ${valueOf(field)}`
  )
  const filters = filter === undefined ? [] : [`--${filter.flag} ${filter.choices[0] ?? ""}`]
  return [
    "pix",
    resource,
    name,
    ...(idOf === undefined ? [] : [EXAMPLE_ID]),
    ...flags,
    ...filters,
    ...(isPaged ? ["--limit 50"] : [])
  ].join(" ")
}
