/**
 * What a batch does about accounts that another transaction has locked.
 *
 * - `skip`: it leaves out their members and answers them `LOCKED`.
 * - `wait`: all its members are of one account, and it waits for the lock.
 */
export type LockMode = "skip" | "wait"

/** The answer for a member whose account is locked. */
export const LOCKED = Symbol("the member's account is locked")
