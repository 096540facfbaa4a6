/**
 * Where the state of a charge of the API is, for lists by state: in `charge_settlements` where it is paid by a settlement, else
 * in `charge_states`. So a payment changes no index of `charges`.
 *
 * Why: docs/decisions/0032-states.md.
 */

/** The lifetime of a charge in milliseconds; the largest number if it has no end. */
const LIFETIME = "coalesce((extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807)"

/**
 * The state that a charge in this state has in `charge_states`. A new charge is stored as pending, so that the acquirer's answer
 * changes no row there.
 */
export const listedStateOf = (status: string): string =>
  `CASE ${status} WHEN 'processing' THEN 'pending' ELSE ${status} END`

/** The lifetime that a charge in this state has in `charge_states`: that of a pending one. */
export const lifetimeIn = (status: string): string =>
  `CASE WHEN ${status} IN ('processing', 'pending') THEN ${LIFETIME} ELSE 0 END`

/** The condition that the state is in `charge_settlements`. */
export const isSettled = (status: string, endToEndId: string): string =>
  `${status} = 'paid' AND ${endToEndId} IS NOT NULL`
