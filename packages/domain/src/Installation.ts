/** The settings of an installation. */
import * as Schema from "effect/Schema"

/** Whether actions need a second operator. `auto`: on for good once two active operators could approve. */
export const FourEyes = Schema.Literals(["auto", "on", "off"])
export type FourEyes = typeof FourEyes.Type

/** The time zone whose days figures, statements and closes have, until an admin sets another one. */
export const DEFAULT_TIMEZONE = "America/Sao_Paulo"

const isTimezone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "" && name.includes("/")
  } catch {
    return false
  }
}

/** The name of a time zone, such as `America/Manaus`. */
export const Timezone = Schema.String.check(
  Schema.makeFilter((name) => isTimezone(name) || "must be the name of a time zone", { toJsonSchema: () => ({}) })
)
