/** What an operator sets up before the storm: a connection to the bank, accounts, keys and endpoints. All over HTTP. */
import type { AccountSetup, Endpoint, Fields } from "../judge/History.ts"
import { textOf } from "../judge/History.ts"
import type { Bank } from "./Bank.ts"
import type { Random } from "./Random.ts"
import { send } from "./Record.ts"

export interface Account extends AccountSetup {
  readonly apiKey: string
  readonly isAutomatic: boolean
}

export interface Installation {
  readonly accounts: ReadonlyArray<Account>
  readonly endpoints: ReadonlyArray<Endpoint>
}

export const OPERATOR_TOKEN = "correct horse battery staple of the histories"

export const operator = { "x-operator-token": OPERATOR_TOKEN }

export const setUp = async (
  urls: {
    readonly publicUrl: string
    readonly operatorUrl: string
    readonly callbackPort: number
    readonly receivers: string
  },
  bank: Bank,
  random: Random
): Promise<Installation> => {
  const operate = async (
    method: string,
    path: string,
    body: Fields,
    headers: Readonly<Record<string, string>> = operator
  ) => {
    const base = path.startsWith("/v1") ? urls.publicUrl : `${urls.operatorUrl}/operator/v1`
    const answer = await send(`${base}${path}`, method, headers, body)
    if (answer === undefined || answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer.body
  }
  const { client, clientId, clientSecret } = bank.double
  const connection = await operate("POST", "/connections", {
    name: "Bank",
    kind: "api-pix",
    profile: bank.double.profile.name,
    settings: { base_url: bank.double.baseUrl, token_url: bank.double.tokenUrl },
    credentials: {
      client_id: clientId,
      client_secret: clientSecret,
      certificate: client.cert,
      private_key: client.key,
      ca: client.ca
    },
    pix_key: bank.double.key,
    is_default: true
  })
  await operate("POST", `/connections/${textOf(connection, "id")}/register-webhook`, {
    url: `https://127.0.0.1:${urls.callbackPort}`
  })

  const accounts: Array<Account> = []
  const endpoints: Array<Endpoint> = []
  for (let index = 0; index < 3; index++) {
    const setup = {
      feeFixed: random.between(0, 60),
      feeBasisPoints: random.between(0, 120),
      releaseDelayMs: index === 1 ? 3000 : 0,
      isAutomatic: index !== 2
    }
    const account = await operate("POST", "/accounts", {
      name: `Loja ${index}`,
      legal_name: `Loja ${index} Ltda`,
      document: "11222333000181",
      phone: "+5511999990000",
      payout_fee: { fixed: setup.feeFixed, basis_points: setup.feeBasisPoints },
      release_delay: setup.releaseDelayMs / 1000,
      auto_payout_enabled: setup.isAutomatic
    })
    const id = textOf(account, "id")
    const application = await operate("POST", `/accounts/${id}/applications`, { name: "Loja" })
    const scopes = [
      "charge:read",
      "charge:write",
      "payout:read",
      "payout:write",
      "balance:read",
      "webhook:read",
      "webhook:write"
    ]
    const key = await operate("POST", `/applications/${textOf(application, "id")}/keys`, { name: "Loja", scopes })
    const apiKey = textOf(key, "key")
    for (const [nth, events] of [EVENTS, EVENTS.filter((name) => name.startsWith("payment"))].entries()) {
      const path = `/${index}/${nth}`
      const secret = `the secret of ${path}`
      const made = await operate(
        "POST",
        "/v1/webhooks",
        { url: `${urls.receivers}${path}`, events, secret },
        { "x-api-key": apiKey }
      )
      endpoints.push({ id: textOf(made, "id"), account: id, path, secret, events })
    }
    accounts.push({ id, apiKey, ...setup })
  }
  return { accounts, endpoints }
}

const EVENTS = [
  ...["created", "emitted", "paid", "failed", "refunded", "infraction", "charged_back"].map(
    (action) => `charge.pix.${action}`
  ),
  ...["created", "processing", "failed", "canceled"].map((action) => `payment.pix.${action}`)
]
