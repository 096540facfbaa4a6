/**
 * Histograms of latencies in microseconds with 64 buckets for each power of two: an error below 1.6 %.
 */

export type Histogram = ReadonlyArray<number>

export const makeHistogram = (): Array<number> => Array.from({ length: 64 * 27 }, () => 0)

export const record = (histogram: Array<number>, micros: number): void => {
  const value = Math.max(0, Math.min(micros, 2 ** 31 - 1)) | 0
  const shift = Math.max(0, 25 - Math.clz32(value))
  histogram[shift * 64 + (value >> shift)]! += 1
}

export const merge = (histograms: ReadonlyArray<Histogram>): Histogram =>
  histograms.reduce((sum, each) => sum.map((count, index) => count + (each[index] ?? 0)), makeHistogram())

/** The latency in microseconds that `share` of all values do not exceed. */
export const quantile = (histogram: Histogram, share: number): number => {
  const total = histogram.reduce((sum, count) => sum + count, 0)
  let remaining = Math.ceil(total * share)
  for (let index = 0; index < histogram.length; index++) {
    remaining -= histogram[index] ?? 0
    if (remaining <= 0) return valueOf(index)
  }
  return 0
}

/** The middle of a bucket. With a shift, only the upper 64 buckets are used. */
const valueOf = (index: number): number => {
  const shift = index < 128 ? 0 : Math.floor(index / 64) - 1
  return (index - shift * 64) * 2 ** shift + 2 ** shift / 2
}
