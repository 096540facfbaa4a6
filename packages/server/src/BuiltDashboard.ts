/** The folder of the built dashboard. */
import { fileURLToPath } from "node:url"

/** This module is at the top of `src`, because `dist` has no folders: the relative path is the same from both. */
export const builtDashboard = fileURLToPath(new URL("../../dashboard/dist/", import.meta.url))
