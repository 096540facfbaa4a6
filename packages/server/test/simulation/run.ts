import * as Effect from "effect/Effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedPostgres from "../../src/sql/EmbeddedPostgres.ts"
import { openDatabase } from "./Database.ts"
import { simulate } from "./Simulation.ts"
const dir = await mkdtemp(join(tmpdir(), "sim-"))
const [from, to] = (process.argv[2] ?? "1-20").split("-").map(Number)
await Effect.runPromise(Effect.scoped(Effect.gen(function* () {
  const { url } = yield* EmbeddedPostgres.start({ dataDir: dir })
  const database = yield* openDatabase(url)
  yield* Effect.promise(async () => {
    const counts = new Map<string, number>()
    const t0 = performance.now()
    let n = 0
    for (let seed = from!; seed <= to!; seed++) {
      const o = await simulate(seed, database)
      n++
      for (const [k, v] of o.counts) counts.set(k, (counts.get(k) ?? 0) + v)
      if (o.broken.length > 0) {
        console.log(`seed ${seed} broken after ${n}:`, o.broken.slice(0, 5).join("\n"))
        if (process.argv[3] === "-v") console.log(o.history.join("\n"))
        break
      }
    }
    console.log(n, "seeds", performance.now() - t0, "ms", [...counts].map(([k, v]) => `${k}: ${v}`).join("; "))
  })
})))
await rm(dir, { recursive: true, force: true })
