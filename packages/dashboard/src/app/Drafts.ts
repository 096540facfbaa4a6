/** Where this browser keeps drafts. A sign-out removes them. */
export const DRAFTS = "drafts"

export const forgetDrafts = (): void => {
  globalThis.indexedDB?.deleteDatabase(DRAFTS)
}
