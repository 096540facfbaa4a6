/** Whether single letters are shortcuts: a person whose speech input types them turns them off, in this browser. */
import { signal } from "@preact/signals"

export const hasShortcuts = signal(globalThis.localStorage?.getItem("shortcuts") !== "off")

export const setShortcuts = (isOn: boolean): void => {
  hasShortcuts.value = isOn
  globalThis.localStorage?.setItem("shortcuts", isOn ? "on" : "off")
}
