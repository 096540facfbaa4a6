/**
 * `node scripts/cells.mjs`: 10,000 accounts of unequal size in 64 cells, on paper (docs/scaling.md).
 *
 * An account's load is 1 / rank (Zipf), in shares of all load. A cell is as loaded as its accounts. Accounts arrive in random order, and
 * nobody knows their size before: a placement sees the load of those that are there.
 */
const CELLS = 64
const ACCOUNTS = 10_000
const SEEDS = 100

/** mulberry32: the same numbers in each run. */
const randomOf = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

const weights = Array.from({ length: ACCOUNTS }, (_, index) => 1 / (index + 1))
const all = weights.reduce((sum, each) => sum + each, 0)
const loads = weights.map((each) => each / all)
const MEAN = 1 / CELLS

const shuffled = (random) => {
  const order = [...loads]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[order[last], order[other]] = [order[other], order[last]]
  }
  return order
}

const loadOf = (cell) => cell.reduce((sum, each) => sum + each, 0)

/** Cells with the loads of their accounts. `place` returns the index of a cell. */
const filled = (random, place) => {
  const cells = Array.from({ length: CELLS }, () => [])
  const sums = Array.from({ length: CELLS }, () => 0)
  for (const load of shuffled(random)) {
    const index = place(cells, sums, random)
    cells[index].push(load)
    sums[index] += load
  }
  return cells
}

const leastOf = (values) => values.indexOf(Math.min(...values))

const placements = {
  "by chance": (_cells, _sums, random) => Math.floor(random() * CELLS),
  "where the fewest accounts are": (cells) => leastOf(cells.map((cell) => cell.length)),
  "where the least load is": (_cells, sums) => leastOf(sums)
}

/** The accounts that no limit of a cell can hold. What is beside them stays where it is. */
const hasGiant = (cell, limit) => cell.some((load) => load > limit)

/** Moves accounts off the fullest cell to the emptiest until none without a giant is above the limit. */
const balanced = (cells, limit) => {
  let moves = 0
  let moved = 0
  for (;;) {
    const sums = cells.map(loadOf)
    const over = sums.map((sum, index) => (hasGiant(cells[index], limit) ? 0 : sum))
    const from = over.indexOf(Math.max(...over))
    if (over[from] <= limit) return { moves, moved }
    const to = leastOf(sums)
    const room = limit - sums[to]
    const needed = over[from] - limit
    // The smallest that suffices, otherwise the largest that fits.
    const fitting = cells[from].filter((each) => each <= room).toSorted((one, other) => one - other)
    const load = fitting.find((each) => each >= needed) ?? fitting.at(-1)
    if (load === undefined) return { moves, moved }
    cells[from].splice(cells[from].indexOf(load), 1)
    cells[to].push(load)
    moves++
    moved += load
  }
}

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]
const percent = (share) => `${(100 * share).toFixed(1)} %`

process.stdout.write(
  `largest accounts: ${[0, 1, 2, 9, 99].map((rank) => `${rank + 1}. ${(loads[rank] / MEAN).toFixed(2)}`).join(", ")} times the mean cell\n`
)
for (const [name, place] of Object.entries(placements)) {
  const runs = Array.from({ length: SEEDS }, (_, seed) => {
    const cells = filled(randomOf(seed), place)
    const sums = cells.map(loadOf).toSorted((one, other) => other - one)
    const rows = { fullest: sums[0], eighth: sums[7], middle: sums[32], emptiest: sums.at(-1) }
    const limit = 1.25 * MEAN
    const most = Math.max(...cells.map((cell) => cell.length))
    const result = balanced(cells, limit)
    const giants = cells.filter((cell) => hasGiant(cell, limit))
    const beside = giants.reduce((sum, cell) => sum + cell.filter((load) => load <= limit).length, 0)
    return { ...rows, ...result, most, beside, giants: giants.length }
  })
  const of = (key) => median(runs.map((run) => run[key]))
  const times = (key) => (of(key) / MEAN).toFixed(2)
  process.stdout.write(
    `${name}: fullest ${times("fullest")}, 8th ${times("eighth")}, middle ${times("middle")}, emptiest ${times("emptiest")}; ` +
      `at most ${of("most")} accounts; ${of("giants")} cells with a giant and ${of("beside")} others; ` +
      `${of("moves")} moves of ${percent(of("moved"))} of the load, and no other cell is above 1.25\n`
  )
}
