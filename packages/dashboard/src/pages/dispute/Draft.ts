/**
 * Drafts of defenses, kept in this browser: texts and files survive a reload.
 *
 * Guarantees: a draft is its operator's, of one dispute. It ends with the defense, with a sign-out, and 30 days after its dispute
 * began. Where the browser keeps nothing, `isKept` says so.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { DRAFTS } from "../../app/Drafts.ts"
import { session } from "../../app/Session.ts"

export type Texts = Readonly<Record<string, string>>

export interface Draft {
  readonly texts: Texts
  readonly files: ReadonlyArray<File>
  readonly isKept: boolean
}

const STORE = "defenses"
const KEPT_MS = 30 * 24 * 60 * 60 * 1000

type Part = "texts" | "files"

const keyOf = (dispute: string, part: Part): ReadonlyArray<string> => [owner(), dispute, part]
const owner = (): string => session.state.peek()?.operator.id ?? "installation"

const settled = <A>(request: IDBRequest<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result))
    request.addEventListener("error", () => reject(request.error ?? new Error("the browser keeps nothing")))
  })

/** Runs in a transaction, and leaves the database closed: a sign-out removes it. */
const inStore = async <A>(use: (store: IDBObjectStore) => Promise<A>): Promise<A> => {
  const opening = globalThis.indexedDB.open(DRAFTS)
  opening.addEventListener("upgradeneeded", () => opening.result.createObjectStore(STORE))
  const database = await settled(opening)
  try {
    return await use(database.transaction(STORE, "readwrite").objectStore(STORE))
  } finally {
    database.close()
  }
}

export const readDraft = (dispute: string, nowMs: number): Promise<Draft> =>
  inStore(async (store) => {
    store.delete(IDBKeyRange.bound([owner()], [owner(), lowestIdAt(Math.floor(nowMs) - KEPT_MS)]))
    const [texts, files] = await Promise.all([
      settled<Texts | undefined>(store.get([...keyOf(dispute, "texts")])),
      settled<ReadonlyArray<File> | undefined>(store.get([...keyOf(dispute, "files")]))
    ])
    return { texts: texts ?? {}, files: files ?? [], isKept: true }
  }).catch(() => ({ texts: {}, files: [], isKept: false }))

/** False where the browser did not keep it. */
export const keep = (dispute: string, part: Part, value: Texts | ReadonlyArray<File>): Promise<boolean> =>
  inStore((store) => settled(store.put(value, [...keyOf(dispute, part)]))).then(
    () => true,
    () => false
  )

export const forgetDraft = (dispute: string): Promise<unknown> =>
  inStore((store) => settled(store.delete(IDBKeyRange.bound([owner(), dispute], [owner(), dispute, "~"])))).catch(
    () => {}
  )
