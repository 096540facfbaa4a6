/** Where the built dashboard is. */
import { fileURLToPath } from "node:url"

/** This module is at the top of `src`, and `dist` has no folders, so that the way is the same from both. */
export const builtDashboard = fileURLToPath(new URL("../../dashboard/dist/", import.meta.url))
