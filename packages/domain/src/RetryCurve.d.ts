import * as Result from "effect/Result";
import * as Schedule from "effect/Schedule";
/** The curve of the contract, counted from the end of an attempt. */
export declare const retryDelaysMs: ReadonlyArray<number>;
/**
 * How long after the end of the last attempt the next one is due, or `undefined` when there is none left.
 * `jitter`, from 0 to 1, is drawn by the caller and adds up to a tenth.
 */
export declare const nextAttemptDelayMs: (attemptsMade: number, delays?: ReadonlyArray<number>, jitter?: number) => number | undefined;
/** The same curve for `Effect.retry`, in processes that live that long: tests and the command line. */
export declare const retrySchedule: (delays?: ReadonlyArray<number>) => Schedule.Schedule<number>;
/** The delays of a setting such as `1m,5m,15m,1h` (`ms`, `s`, `m`, `h`, `d`), or what is wrong with it. */
export declare const parseRetryDelays: (setting: string) => Result.Result<ReadonlyArray<number>, string>;
