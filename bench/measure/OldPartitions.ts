/** Partitions for rows of the past, which the service makes only for rows to come. */
import { partitionedTables } from "@pix-payments/server/schema/partitions/PartitionedTables"
import { boundOf, periodAfter } from "@pix-payments/server/database/Period"
import * as DateTime from "effect/DateTime"
import { withDatabase } from "./Database.ts"

/** Makes the partitions of the months and quarters before now, where a table has any. */
export const makeOldPartitions = (databaseUrl: string, months: number) =>
  withDatabase(databaseUrl, async (database) => {
    const now = DateTime.toEpochMillis(DateTime.nowUnsafe())
    for (const { name, period, storage } of partitionedTables) {
      const count = period === "month" ? months : Math.ceil(months / 3)
      const bounds = Array.from({ length: count + 1 }, (_, at) => boundOf(periodAfter(period, now, at - count)))
      for (const [at, from] of bounds.slice(0, -1).entries()) {
        await database.query(
          `CREATE TABLE ${name}_before_${count - at} PARTITION OF ${name} FOR VALUES FROM ('${from}') TO ('${bounds[at + 1]}')
             WITH (${storage})`
        )
      }
    }
  })
