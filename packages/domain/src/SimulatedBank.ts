/**
 * What the simulated bank does with values that a caller sends: the simulator acts on them, and the reference lists them.
 */

/** By `customer.email` of a charge. */
export const simulatedCharges = {
  refused: { email: "refuse@simulator.test", effect: "`ACQUIRER_REJECTED`; the charge is `failed`" },
  slow: { email: "slow@simulator.test", effect: "the bank answers after 2 s" },
  lost: { email: "timeout@simulator.test", effect: "the bank's first answer is lost; the charge is found later" },
  paid: { email: "pay@simulator.test", effect: "the charge is paid a moment later" }
} as const

/** By `pix_key` of a payout. */
export const simulatedPayouts = {
  failed: { pixKey: "fail@simulator.test", effect: "the payout fails and its money comes back" },
  held: { pixKey: "hold@simulator.test", effect: "the payout stays `processing`" },
  lost: { pixKey: "timeout@simulator.test", effect: "the bank's answer is lost; the outcome is found later" }
} as const
