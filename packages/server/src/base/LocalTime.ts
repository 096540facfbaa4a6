/** Times for people and their spreadsheets. */

/** Makes `2026-11-26 22:15:03`, the time in a zone, of an instant as the API writes it. */
export const localTimeIn = (timeZone: string): ((instant: string) => string) => {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" })
  return (instant) => format.format(Date.parse(instant))
}
