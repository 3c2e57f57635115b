/** Says of a case what is wrong with how it was taken; nothing when all is well. */
export type Judge = (fault: string | undefined, what: () => string) => void;

/** Which cases of a kind are made: each by the seed and its number, so that one can be had again. */
export interface Cases {
  readonly seed: number;
  readonly first: number;
  readonly count: number;
}

/** Runs cases, so many at a time; one that throws is a fault. */
export async function eachCase(
  { first, count }: Cases,
  lanes: number,
  judge: Judge,
  run: (index: number) => Promise<string | undefined>,
): Promise<void> {
  let next = first;
  const lane = async (): Promise<void> => {
    while (next < first + count) {
      const index = next++;
      let fault: string | undefined;
      try {
        fault = await run(index);
      } catch (error) {
        fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
      }
      judge(fault, () => `case ${index}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
