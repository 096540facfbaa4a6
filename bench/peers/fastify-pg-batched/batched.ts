/**
 * Batches concurrent calls, like our `database/batching/Batching.ts`: calls during a batch form the next one.
 *
 * Guarantees:
 * - one batch is in flight, and no call waits for a timer;
 * - a batch that fails is retried in halves, so that one member does not fail the others.
 */

/** A function for one member, over `run`, which takes many and returns their results in order. */
export const batched = <A, B>(maxBatch: number, run: (members: ReadonlyArray<A>) => Promise<ReadonlyArray<B>>) => {
  let waiting: Array<Waiting<A, B>> = []
  let inFlight = false

  const settle = async (batch: ReadonlyArray<Waiting<A, B>>): Promise<void> => {
    try {
      const results = await run(batch.map(({ member }) => member))
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!)
    } catch (error) {
      if (batch.length === 1) return batch[0]!.reject(error)
      const half = batch.length >> 1
      await settle(batch.slice(0, half))
      await settle(batch.slice(half))
    }
  }

  const flush = () => {
    const batch = waiting.length <= maxBatch ? waiting : waiting.slice(0, maxBatch)
    waiting = batch === waiting ? [] : waiting.slice(maxBatch)
    inFlight = true
    void settle(batch).finally(() => {
      inFlight = false
      if (waiting.length > 0) flush()
    })
  }

  return (member: A): Promise<B> =>
    new Promise((resolve, reject) => {
      waiting.push({ member, resolve, reject })
      if (!inFlight) flush()
    })
}

interface Waiting<A, B> {
  readonly member: A
  readonly resolve: (result: B) => void
  readonly reject: (error: unknown) => void
}
