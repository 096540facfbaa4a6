/** The txid of a charge: the identifier by which banks, statements and fiscal documents know it (CHG-27). */
import type { Charge } from "./generated/Resources.ts"

/** The txid of a charge, known before it is paid: its id without hyphens. */
export const txidOf = ({ id }: Pick<Charge, "id">): string => id.replaceAll("-", "")
