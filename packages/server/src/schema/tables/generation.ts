/** The generation of what callers and payout terms are cached from (`accounts/Caller.ts`), and the triggers that replace it. */

export const callerGeneration = [
  `-- One row. Each change of what callers and payout terms are cached from replaces the value in its own commit.
  CREATE TABLE caller_generation (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    generation uuid NOT NULL DEFAULT gen_random_uuid() -- random: after a restore to an earlier moment, no value comes again
  )`,
  `INSERT INTO caller_generation DEFAULT VALUES`,
  `CREATE FUNCTION replace_caller_generation() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE caller_generation SET generation = gen_random_uuid() WHERE id;
      RETURN NULL;
    END
  $$`
]

/**
 * The trigger of a table after such changes. It is deferred: the row is locked in the commit itself, so that an open transaction
 * delays no other change, and no two deadlock.
 */
export const replacesGeneration = (changes: string) =>
  `CREATE CONSTRAINT TRIGGER ${changes.split(" ").at(-1)}_replace_generation AFTER ${changes}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION replace_caller_generation()`
