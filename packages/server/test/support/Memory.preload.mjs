/** Loaded before the service (`--import`, with `--expose-gc`): at each SIGUSR2 it collects garbage and writes its memory. */
process.on("SIGUSR2", () => {
  globalThis.gc()
  const { heapUsed, rss } = process.memoryUsage()
  process.stdout.write(`memory ${JSON.stringify({ heapUsed, rss })}\n`)
})
