/**
 * Identifiers: UUIDv7, so that the order of ids is the order of creation.
 *
 * Guarantees: ids of one generator are strictly increasing, and the millisecond inside an id is the
 * `created_at` of what it names, so that a list ordered by id is ordered by creation date and a filter on
 * creation date is a range of ids.
 *
 * Source: RFC 9562 5.7; decisions.md "Values".
 */
/** True for any UUID spelling (upper or lower case, any version). */
export declare const isUuid: (text: string) => boolean;
/** Makes strictly increasing UUIDv7s. `randomBytes` fills the array that it is given. */
export declare const makeGenerator: (randomBytes: (target: Uint8Array) => void) => (epochMs: number) => Generated;
/** An id and the creation time that it carries. */
export interface Generated {
    readonly id: string;
    readonly epochMs: number;
}
/** The smallest id that a resource created in this millisecond can have. */
export declare const lowestIdAt: (epochMs: number) => string;
