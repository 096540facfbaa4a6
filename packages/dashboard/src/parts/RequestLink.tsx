/** A request id, which leads to its entries of the request log. One that a caller chose is shown whole. */
import { isUuid, shortIdOf } from "@pix-payments/domain/Uuid"
import { requestPath } from "../app/Router.ts"

export const RequestLink = ({ id }: { readonly id: string }) => (
  <a class="id" href={requestPath(id)} title={id}>
    {isUuid(id) ? shortIdOf(id) : id}
  </a>
)
