/** A request id, which leads to its entries of the request log. */
import { requestPath } from "../app/Router.ts"

export const RequestLink = ({ id }: { readonly id: string }) => (
  <a class="id" href={requestPath(id)}>
    {id}
  </a>
)
