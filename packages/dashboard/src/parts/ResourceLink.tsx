/** A resource that an action, an event or a ledger entry is about: a link where it has a page. */
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
  [/^operators/, "operators"]
]

export const ResourceLink = ({ id, name }: { readonly name: string; readonly id: string | null }) => {
  if (id === null) return null
  const page = pages.find(([pattern]) => pattern.test(name))?.[1]
  return page === undefined ? (
    <span class="id">{id}</span>
  ) : (
    <a class="id" href={`/${page}/${id}`}>
      {id}
    </a>
  )
}
