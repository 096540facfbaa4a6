/** A return is shown on the page of its charge: its address leads there. */
import { useEffect } from "preact/hooks"
import { go } from "../app/Router.ts"
import { Resource, useResource } from "../parts/Detail.tsx"

export const RefundPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.refunds.retrieve({ params: { id } }))
  return <Resource loaded={loaded}>{(refund) => <Lead to={`/charges/${refund.charge_id}`} />}</Resource>
}

const Lead = ({ to }: { readonly to: string }) => {
  useEffect(() => go(to, "replace"), [to])
  return null
}
