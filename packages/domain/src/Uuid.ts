/**
 * Identifiers: UUIDv7 (RFC 9562), whose order is the order of creation (API-3).
 *
 * Guarantees
 * - The millisecond in an id is the `created_at` of its resource: a list ordered by id is ordered by creation, and a
 *   filter on creation is a range of ids.
 * - Ids of one generator increase strictly while its clock steps back by at most `CLOCK_TOLERANCE_MS`.
 * - After a larger step back (the clock was ahead and was corrected) the next id has the clock's time again. Ids stay
 *   unique: each has 62 random bits.
 */

/** Whether the text is a UUID, of any version and case. */
export const isUuid = (text: string): boolean => uuidPattern.test(text)

/** Eight digits of a UUIDv7 that say when it was made, within 50 days: what lists print, and a search finds. */
export const shortIdOf = (id: string): string => id.slice(4, 8) + id.slice(9, 13)

/** Whether a text may be a short id. */
export const isShortId = (text: string): boolean => /^[0-9a-f]{8}$/i.test(text)

/** Before every id. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000"

/** The largest step back of the clock that ids do not follow. NTP slews smaller differences. */
export const CLOCK_TOLERANCE_MS = 1000

/** A generator of increasing UUIDv7s. `randomBytes` fills the array that it is given. */
export const makeGenerator = (randomBytes: (target: Uint8Array) => void) => {
  const pool = new Uint8Array(8 * 256)
  let used = pool.length
  let lastMs = 0
  let counter = 0

  return (epochMs: number): Generated => {
    if (used + 8 > pool.length) {
      randomBytes(pool)
      used = 0
    }
    if (epochMs > lastMs || epochMs < lastMs - CLOCK_TOLERANCE_MS) {
      lastMs = epochMs
      // 11 random bits of the 12-bit counter, so that a burst within one millisecond has room to count.
      counter = ((pool[used + 6]! << 8) | pool[used + 7]!) & 0x7ff
    } else if (++counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
    const time = lastMs.toString(16).padStart(12, "0")
    const tail = hex[(pool[used]! & 0x3f) | 0x80]! + hex[pool[used + 1]!]!
    let node = ""
    for (let i = 2; i < 8; i++) node += hex[pool[used + i]!]!
    used += 8
    return {
      id: `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${tail}-${node}`,
      epochMs: lastMs
    }
  }
}

/** An id and its creation time. */
export interface Generated {
  readonly id: string
  readonly epochMs: number
}

/** The smallest id that a resource created in this millisecond can have. */
export const lowestIdAt = (epochMs: number): string => {
  const time = Math.max(0, Math.min(epochMs, maxEpochMs)).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

/** The id right after an id in the order of ids, or right before it. Ids of zeros and of ones stay as they are. */
export const idBeside = (id: string, step: 1 | -1): string => {
  const number = BigInt(`0x${id.replaceAll("-", "")}`) + BigInt(step)
  if (number < 0n || number >= 1n << 128n) return id
  return number
    .toString(16)
    .padStart(32, "0")
    .replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

const maxEpochMs = 2 ** 48 - 1

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
