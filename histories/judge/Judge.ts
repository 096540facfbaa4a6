/** All models over one history. It imports nothing of the service: what it knows is docs/contract.md. */
import { judgeAccounts } from "./Accounts.ts"
import { judgeBank } from "./Bank.ts"
import { judgeEvents } from "./Events.ts"
import type { Conviction, History } from "./History.ts"
import { judgeKeys } from "./Keys.ts"
import { judgeLists } from "./Lists.ts"
import { judgeResources } from "./Resources.ts"
import { judgeAnswers } from "./Answers.ts"
import { sightingsOf } from "./Sightings.ts"
import { judgeWebhooks } from "./Webhooks.ts"

export interface Judgement {
  readonly convictions: ReadonlyArray<Conviction>
  /** Accounts whose order was not found within the bound of the search: neither right nor wrong. */
  readonly undecided: ReadonlyArray<string>
  readonly operations: number
}

export const judge = (history: History): Judgement => {
  const sightings = sightingsOf(history)
  const accounts = judgeAccounts(history, sightings)
  return {
    convictions: [
      ...judgeAnswers(history),
      ...judgeKeys(history),
      ...judgeResources(history, sightings),
      ...accounts.convictions,
      ...judgeLists(history),
      ...judgeEvents(history, sightings),
      ...judgeWebhooks(history, sightings),
      ...judgeBank(history, sightings)
    ],
    undecided: accounts.undecided,
    operations: history.calls.length + history.deliveries.length + history.facts.length
  }
}
