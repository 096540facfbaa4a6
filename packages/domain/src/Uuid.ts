/**
 * Identifiers: UUIDv7, so that the order of ids is the order of creation.
 *
 * Guarantees:
 * - The millisecond inside an id is the `created_at` of what it names, so that a list ordered by id is ordered by
 *   creation date and a filter on creation date is a range of ids.
 * - Ids of one generator are strictly increasing while its clock steps back by at most `CLOCK_TOLERANCE_MS`.
 * - After a larger step back (the clock was ahead and was corrected) the next id has the clock's time again. Ids stay
 *   unique: 62 bits of each are random.
 *
 * Source: RFC 9562 5.7; decisions.md "Values".
 */

/** True for any UUID spelling (upper or lower case, any version). */
export const isUuid = (text: string): boolean => uuidPattern.test(text)

/** The largest step back of a clock that ids do not follow. NTP slews smaller differences instead of stepping. */
export const CLOCK_TOLERANCE_MS = 1000

/** Makes increasing UUIDv7s (see the guarantees above). `randomBytes` fills the array that it is given. */
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
      // 11 random bits of the 12 bit counter, so that a burst inside one millisecond has room to count.
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

/** An id and the creation time that it carries. */
export interface Generated {
  readonly id: string
  readonly epochMs: number
}

/** The smallest id that a resource created in this millisecond can have. */
export const lowestIdAt = (epochMs: number): string => {
  const time = Math.max(0, Math.min(epochMs, maxEpochMs)).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

const maxEpochMs = 2 ** 48 - 1

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
