/** The commands of Redis that `redisStore` sends, as its documentation describes them, with a clock that tests move. */
export class RedisDouble {
  private nowMs = 0
  private readonly values = new Map<string, { value: string | Map<string, number>; readonly endsMs: number }>()

  readonly send = async ([name = "", key = "", ...rest]: ReadonlyArray<string>): Promise<unknown> => {
    // Others get their turn between two commands.
    await Promise.resolve()
    const stored = this.read(key)
    switch (name) {
      case "SET": {
        const [value = "", ...options] = rest
        if (options.includes("NX") && stored !== undefined) return null
        this.values.set(key, { value, endsMs: this.nowMs + Number(options.at(options.indexOf("EX") + 1)) * 1000 })
        return "OK"
      }
      case "GET":
        return stored ?? null
      case "DEL":
        return Number(this.values.delete(key))
      case "ZADD": {
        const [option, score = "", member = ""] = rest
        const scores = stored instanceof Map ? stored : new Map<string, number>()
        const before = scores.get(member)
        if (option !== "GT") throw new Error(`ZADD ${option} is not known`)
        if (before === undefined || Number(score) > before) scores.set(member, Number(score))
        if (stored === undefined) this.values.set(key, { value: scores, endsMs: Infinity })
        return Number(before === undefined)
      }
      case "ZSCORE":
        return stored instanceof Map ? String(stored.get(rest[0] ?? "")) : null
      case "EXPIRE":
        if (stored === undefined) return 0
        this.values.set(key, { value: stored, endsMs: this.nowMs + Number(rest[0]) * 1000 })
        return 1
      default:
        throw new Error(`${name} is not known`)
    }
  }

  pass(seconds: number): void {
    this.nowMs += seconds * 1000
  }

  keys(): ReadonlyArray<string> {
    return [...this.values.keys()].filter((key) => this.read(key) !== undefined).toSorted()
  }

  private read(key: string) {
    const stored = this.values.get(key)
    return stored === undefined || stored.endsMs <= this.nowMs ? undefined : stored.value
  }
}
