/**
 * Schedules name lookups fairly between accounts.
 *
 * Guarantees:
 * - Running lookups are bounded in total and for an account: to `shared` while other accounts have lookups, else to `alone`.
 * - Waiting lookups are bounded too. Accounts take turns, so that the backlog of one account delays no other.
 * - When `waiting` lookups wait, a new one replaces the last one of the account with the longest backlog.
 */
export interface LookupLimits {
  /** Running: in total, for an account beside others, and for an account alone. */
  readonly running: number
  readonly shared: number
  readonly alone: number
  /** Waiting: for an account, and in total. */
  readonly waitingOfAccount: number
  readonly waiting: number
}

export const lookupLimits: LookupLimits = { running: 64, shared: 4, alone: 16, waitingOfAccount: 128, waiting: 4096 }

interface Account {
  running: number
  readonly waiting: Set<Job>
}

interface Job {
  readonly account: string
  readonly start: () => void
  readonly refuse: () => void
}

export const makeLookupScheduler = ({
  alone,
  running: maxRunning,
  shared,
  waiting: maxWaiting,
  waitingOfAccount
}: LookupLimits) => {
  /** Accounts with running or waiting lookups, in the order of their turns. */
  const accounts = new Map<string, Account>()
  let running = 0
  let waiting = 0

  const removeIdle = (id: string, account: Account) => {
    if (account.running === 0 && account.waiting.size === 0) accounts.delete(id)
  }

  const remove = (job: Job): boolean => {
    const account = accounts.get(job.account)
    if (account === undefined || !account.waiting.delete(job)) return false
    waiting--
    removeIdle(job.account, account)
    return true
  }

  const nextJob = () => {
    const limit = accounts.size > 1 ? shared : alone
    for (const account of accounts.values()) {
      if (account.running >= limit) continue
      for (const job of account.waiting) return { account, job }
    }
    return undefined
  }

  /** Starts lookups while the limits allow. An account goes to the end after its turn. */
  const startWaiting = () => {
    while (running < maxRunning) {
      const next = nextJob()
      if (next === undefined) return
      const { account, job } = next
      accounts.delete(job.account)
      accounts.set(job.account, account)
      account.waiting.delete(job)
      waiting--
      account.running++
      running++
      job.start()
    }
  }

  /** The account with the longest backlog, where that is longer than `count`. */
  const longestBacklog = (count: number): Account | undefined => {
    let longest: Account | undefined
    for (const account of accounts.values()) {
      if (account.waiting.size > (longest?.waiting.size ?? count)) longest = account
    }
    return longest
  }

  return {
    /**
     * Calls `start`, now or later, or `refuse` where the limits are reached. The caller then calls `finished`, or `cancel`
     * where it gives up before the start.
     */
    submit: (job: Job): void => {
      const account = accounts.get(job.account) ?? { running: 0, waiting: new Set() }
      if (account.waiting.size >= waitingOfAccount) return job.refuse()
      if (waiting >= maxWaiting) {
        const last = [...(longestBacklog(account.waiting.size)?.waiting ?? [])].at(-1)
        if (last === undefined) return job.refuse()
        remove(last)
        last.refuse()
      }
      accounts.set(job.account, account)
      account.waiting.add(job)
      waiting++
      startWaiting()
    },
    cancel: (job: Job): void => {
      if (remove(job)) startWaiting()
    },
    finished: (id: string): void => {
      const account = accounts.get(id)
      if (account === undefined) return
      account.running--
      running--
      removeIdle(id, account)
      startWaiting()
    },
    counts: () => ({ running, waiting })
  }
}
