/** Work that is done once for all who ask, and again only after it failed. */

/** A function that gives the promise of `work`, started when it is first called; `work` is told which try it is. */
export function untilItFails(work) {
  let promise;
  let tries = 0;
  return () => {
    promise ??= work(++tries).catch((problem) => {
      promise = undefined;
      throw problem;
    });
    return promise;
  };
}
