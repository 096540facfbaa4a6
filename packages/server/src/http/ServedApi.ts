/**
 * The part of `/v1` that this server routes. What is not here is neither routed nor in its `/openapi.json`.
 */
import { AccountGroup, BalanceGroup, ChargesGroup, PaymentsApi, PayoutsGroup } from "@pix-payments/api/PaymentsApi"
import * as HttpApi from "effect/http-api/HttpApi"

export class ServedApi extends HttpApi.make("payments")
  .add(ChargesGroup)
  .add(PayoutsGroup)
  .add(BalanceGroup)
  .add(AccountGroup)
  .annotateMerge(PaymentsApi.annotations) {}
