/** Days in SQL. A day is one of the installation's time zone. */

export const TIMEZONE = "(SELECT timezone FROM installation_settings)"

/** The day of an instant. */
export const dayOf = (instant: string): string => `(${instant} AT TIME ZONE ${TIMEZONE})::date`

export const TODAY = dayOf("now()")

/** The first instant of a day. */
export const startOf = (day: string): string => `(${day}::timestamp AT TIME ZONE ${TIMEZONE})`
