/**
 * The seeds of a test of random histories: the same ones each time, so that a build fails for what changed. For `REFUND`,
 * `REFUND_HISTORIES=5000 REFUND_FIRST=101 vitest run …` looks at other ones, `REFUND_SEED=42` at one alone.
 */
export const seedsOf = (name: string, count: number): ReadonlyArray<number> => {
  const given = (what: string) => process.env[`${name}_${what}`]
  const one = given("SEED")
  if (one !== undefined) return [Number(one)]
  const first = Number(given("FIRST") ?? 1)
  return Array.from({ length: Number(given("HISTORIES") ?? count) }, (_, index) => first + index)
}
