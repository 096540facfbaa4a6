/**
 * Keeps what a page shows up to date: by the event stream, and by polling where there are no events or no stream.
 *
 * Guarantees:
 * - A tab has one stream at most. It has none while it is hidden, and makes no request after 20 minutes without input, so
 *   that a session still ends after 30 idle minutes.
 * - The stream continues after the last event that arrived. Attempts are 1 s, 2 s, up to 30 s apart. After 410
 *   (OPR-104) everything is loaded again, and the stream continues from now.
 * - Data is loaded again at most once in `atMost` seconds after its last answer, and not under an open dialog.
 * - A load is not started while one is in flight: a slow answer is shown, and what became due in between is loaded after it.
 * - Viewers, who have no stream (OPR-109), poll.
 *
 * Why fetch, and not EventSource: that one does not show the status of an answer, so 410 would look like an outage.
 */
import { signal } from "@preact/signals"
import { hasSession } from "./Client.ts"

export interface Live {
  /** Texts of the events that concern the data: the beginning of a name, or an id. */
  readonly events?: ReadonlyArray<string>
  /** Seconds between two loads without an event. */
  readonly every?: number
  /** Seconds between two loads at least, however many events there are. */
  readonly atMost?: number
}

/** `live`: by the stream. `polling`: without one. `paused`: hidden or idle. `offline`: the stream ended, and is opened again. */
export const liveState = signal<"live" | "polling" | "paused" | "offline">("paused")

const TICK_MS = 250
const IDLE_MS = 20 * 60_000
/** The server sends something each 15 s. */
const SILENCE_MS = 40_000
const POLL_S = 30
const LONGEST_WAIT_MS = 30_000

interface Subscriber extends Live {
  readonly refresh: () => void
  readonly isLoading: () => boolean
  loadedAt: number
  isDue: boolean
}

const subscribers = new Set<Subscriber>()

export interface Subscription extends Disposable {
  /** A load ended. */
  readonly onLoaded: () => void
}

export const subscribe = (live: Live, refresh: () => void, isLoading: () => boolean): Subscription => {
  const subscriber: Subscriber = { ...live, refresh, isLoading, loadedAt: now(), isDue: false }
  subscribers.add(subscriber)
  return {
    onLoaded: () => {
      subscriber.loadedAt = now()
    },
    [Symbol.dispose]: () => void subscribers.delete(subscriber)
  }
}

const now = (): number => globalThis.performance.now()

/** All that was loaded before an instant is loaded again. */
const expire = (before: number): void => {
  for (const subscriber of subscribers) {
    if (subscriber.loadedAt < before || subscriber.isLoading()) subscriber.isDue = true
  }
}

const onEvent = (data: string): void => {
  for (const subscriber of subscribers) {
    if (subscriber.events?.some((text) => data.includes(text)) === true) subscriber.isDue = true
  }
}

const refreshDue = (isPolling: boolean): void => {
  if (globalThis.document.querySelector("dialog[open]") !== null) return
  for (const subscriber of subscribers) {
    if (subscriber.isLoading()) continue
    const { atMost = 1, every = POLL_S, isDue, loadedAt } = subscriber
    const elapsed = (now() - loadedAt) / 1000
    const longest = isPolling ? Math.min(every, POLL_S / 2) : every
    if (elapsed >= longest || (isDue && elapsed >= atMost)) {
      subscriber.isDue = false
      subscriber.refresh()
    }
  }
}

let stream: AbortController | undefined
let lastId: string | undefined
let lastByteAt = 0
let failures = 0
let retryAt = 0

const follow = async (abort: AbortController): Promise<void> => {
  const openedAt = now()
  const answer = await fetch("/operator/v1/events/stream", {
    headers: lastId === undefined ? {} : { "last-event-id": lastId },
    cache: "no-store",
    signal: abort.signal
  })
  if (answer.status === 401) hasSession.value = false
  if (answer.status === 410) {
    lastId = undefined
    expire(now())
    return
  }
  if (!answer.ok || answer.body === null) throw new Error(String(answer.status))
  // What was loaded before the stream began may have changed in between.
  if (lastId === undefined) expire(openedAt)
  liveState.value = "live"
  failures = 0
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error("ended")
    lastByteAt = now()
    const messages = (text + value).split("\n\n")
    text = messages.pop()!
    messages.forEach(read)
  }
}

/** A heartbeat has an id, and no data. */
const read = (message: string): void => {
  for (const line of message.split("\n")) {
    if (line.startsWith("id: ")) lastId = line.slice(4)
    else if (line.startsWith("data: ")) onEvent(line.slice(6))
  }
}

const open = (): void => {
  const abort = new AbortController()
  stream = abort
  lastByteAt = now()
  const end = () => {
    if (stream === abort) stream = undefined
    if (abort.signal.aborted) return
    retryAt = now() + Math.min(LONGEST_WAIT_MS, 1000 * 2 ** failures)
    failures += 1
    liveState.value = "offline"
  }
  follow(abort).then(() => {
    stream = undefined
    retryAt = now()
  }, end)
}

const close = (): void => {
  stream?.abort()
  stream = undefined
}

let lastInputAt = now()

/** Begins to keep pages up to date. `mayStream` says whether the operator has events. */
export const startLive = (isSignedIn: () => boolean, mayStream: () => boolean): void => {
  for (const name of ["pointerdown", "keydown", "wheel", "focus"]) {
    globalThis.addEventListener(name, () => (lastInputAt = now()), { passive: true, capture: true })
  }
  setInterval(() => {
    const isAwake = globalThis.document.visibilityState === "visible" && now() - lastInputAt < IDLE_MS
    if (!isSignedIn() || !isAwake) {
      close()
      liveState.value = "paused"
      return
    }
    if (!mayStream()) {
      close()
      liveState.value = "polling"
    } else if (stream === undefined) {
      if (now() >= retryAt) open()
    } else if (now() - lastByteAt > SILENCE_MS) {
      close()
    }
    refreshDue(liveState.value !== "live")
  }, TICK_MS)
}
