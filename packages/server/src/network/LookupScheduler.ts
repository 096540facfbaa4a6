/**
 * Who may look up a name now.
 *
 * Guarantees:
 * - look-ups are bounded in all, and for one account: to a few while another account has any, to more while it is alone;
 * - those that wait are bounded as well, and get their turns account by account: what waits of one account delays no
 *   other;
 * - once as many wait as may, one more takes the place of the last of the account with the most.
 */
export interface Shares {
  /** At once: in all; for an account that is not alone; for one that is. */
  readonly places: number
  readonly shared: number
  readonly alone: number
  /** Waiting: for one account, and in all. */
  readonly waitingOfAccount: number
  readonly waiting: number
}

export const lookupLimits: Shares = { places: 64, shared: 4, alone: 16, waitingOfAccount: 128, waiting: 4096 }

interface Account {
  running: number
  readonly waiting: Set<Job>
}

interface Job {
  readonly account: string
  readonly begin: () => void
  readonly refuse: () => void
}

export const makeLookupScheduler = ({ alone, places, shared, waiting: mostWaiting, waitingOfAccount }: Shares) => {
  /** Those with something under way or waiting, in the order of their turns. */
  const accounts = new Map<string, Account>()
  let running = 0
  let waiting = 0

  const forget = (id: string, account: Account) => {
    if (account.running === 0 && account.waiting.size === 0) accounts.delete(id)
  }

  const leave = (job: Job): boolean => {
    const account = accounts.get(job.account)
    if (account === undefined || !account.waiting.delete(job)) return false
    waiting--
    forget(job.account, account)
    return true
  }

  const nextJob = () => {
    const most = accounts.size > 1 ? shared : alone
    for (const account of accounts.values()) {
      if (account.running >= most) continue
      for (const job of account.waiting) return { account, job }
    }
    return undefined
  }

  /** Lets begin what may; an account that had its turn comes last. */
  const turn = () => {
    while (running < places) {
      const next = nextJob()
      if (next === undefined) return
      const { account, job } = next
      accounts.delete(job.account)
      accounts.set(job.account, account)
      account.waiting.delete(job)
      waiting--
      account.running++
      running++
      job.begin()
    }
  }

  /** The one with the most that wait, where that is more than `count`. */
  const busiest = (count: number): Account | undefined => {
    let most: Account | undefined
    for (const account of accounts.values()) {
      if (account.waiting.size > (most?.waiting.size ?? count)) most = account
    }
    return most
  }

  return {
    /**
     * Calls `begin` once there is a place, now or later, or `refuse` where there is none to wait for. What has begun says
     * `ended`; what is given up before says `leave`.
     */
    ask: (job: Job): void => {
      const account = accounts.get(job.account) ?? { running: 0, waiting: new Set() }
      if (account.waiting.size >= waitingOfAccount) return job.refuse()
      if (waiting >= mostWaiting) {
        const last = [...(busiest(account.waiting.size)?.waiting ?? [])].at(-1)
        if (last === undefined) return job.refuse()
        leave(last)
        last.refuse()
      }
      accounts.set(job.account, account)
      account.waiting.add(job)
      waiting++
      turn()
    },
    leave: (job: Job): void => {
      if (leave(job)) turn()
    },
    ended: (id: string): void => {
      const account = accounts.get(id)
      if (account === undefined) return
      account.running--
      running--
      forget(id, account)
      turn()
    },
    counts: () => ({ running, waiting })
  }
}
