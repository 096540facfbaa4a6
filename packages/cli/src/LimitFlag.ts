/** `--limit`: a whole number from 1. */
import * as Flag from "effect/cli/Flag"

export const limitFlag = (description: string) =>
  Flag.Int("limit").pipe(
    Flag.filter(
      (limit) => limit >= 1,
      () => "a number from 1"
    ),
    Flag.withDescription(description),
    Flag.optional
  )
