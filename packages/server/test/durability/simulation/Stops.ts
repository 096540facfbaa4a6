/**
 * Which states of an account are possible. An update without an answer may be applied now or later:
 * it asks for stays possible.
 */
export interface Stop {
  readonly status?: "active" | "inactive"
  readonly charges_paused?: boolean
}

interface Setting {
  possible: ReadonlySet<boolean>
  inFlight: number
  isUnclear: boolean
  /** Grows with each update. */
  updates: number
}

/** The possible states at a call. */
export interface Known {
  readonly isStopped: boolean
  readonly isOpen: boolean
  readonly updates: number
}

export type Stops = ReturnType<typeof makeStops>

export const makeStops = () => {
  const settings = new Map<string, Setting>()

  const settingOf = (accountId: string, name: keyof Stop): Setting => {
    const key = `${accountId} ${name}`
    const known = settings.get(key) ?? { possible: new Set([false]), inFlight: 0, isUnclear: false, updates: 0 }
    settings.set(key, known)
    return known
  }

  const known = (accountId: string, kind: "charge" | "payout"): Known => {
    const those = [
      settingOf(accountId, "status"),
      ...(kind === "charge" ? [settingOf(accountId, "charges_paused")] : [])
    ]
    return {
      isStopped: those.some(({ possible }) => !possible.has(false)),
      isOpen: those.every(({ possible }) => !possible.has(true)),
      updates: those.reduce((sum, { updates }) => sum + updates, 0)
    }
  }

  return {
    known,

    /** True where it was so from then until now. */
    held: (accountId: string, kind: "charge" | "payout", then: Known, what: "isStopped" | "isOpen"): boolean =>
      then[what] && known(accountId, kind).updates === then.updates,

    /** An update begins; what is returned is called when it was answered. */
    begin: (accountId: string, { charges_paused, status }: Stop) => {
      const asked = [
        ...(status === undefined ? [] : [{ setting: settingOf(accountId, "status"), value: status === "inactive" }]),
        ...(charges_paused === undefined
          ? []
          : [{ setting: settingOf(accountId, "charges_paused"), value: charges_paused }])
      ]
      const begun = asked.map(({ setting, value }) => {
        setting.possible = new Set([...setting.possible, value])
        setting.inFlight++
        setting.updates++
        return { setting, value, number: setting.updates, isAlone: setting.inFlight === 1 }
      })
      return (isDone: boolean) => {
        for (const { isAlone, number, setting, value } of begun) {
          setting.inFlight--
          if (!isDone) setting.isUnclear = true
          // No other update was in progress.
          else if (isAlone && number === setting.updates && !setting.isUnclear) setting.possible = new Set([value])
        }
      }
    }
  }
}
