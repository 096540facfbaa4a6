/** A resource that an action, an event or a ledger entry is about: its name or short id, a link where it has a page. */
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { IdLink, ShortLink } from "./Detail.tsx"
import { isNamed, Named } from "./Named.tsx"

const pages: ReadonlyArray<readonly [RegExp, string]> = [
  [/^webhook/, "endpoints"],
  [/^(?:charge|checkoutCharge|simulatorCharge|simulatorReturn|refund)/, "charges"],
  [/^(?:payout|payment|simulatorPayout)/, "payouts"],
  [/^(?:dispute|simulatorDispute)/, "disputes"],
  [/^deliver/, "deliveries"],
  [/^account/, "accounts"],
  [/^application/, "applications"],
  [/^connection/, "connections"],
  [/^exception/, "exceptions"],
  [/^reconciliation/, "reconciliations"],
  [/^operators/, "operators"]
]

export const ResourceLink = ({ id, name }: { readonly name: string; readonly id: string | null }) => {
  if (id === null) return null
  const page = pages.find(([pattern]) => pattern.test(name))?.[1]
  if (name.startsWith("keys")) return <Named kind="keys" id={id} />
  if (page === undefined) {
    return (
      <span class="id" title={id}>
        {shortIdOf(id)}
      </span>
    )
  }
  return page === "accounts" || isNamed(page) ? <IdLink id={id} to={page} /> : <ShortLink id={id} to={page} />
}
