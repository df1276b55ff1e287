/** Work that is done once where it would be asked for often. */

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

/** A function that does `work` in the next frame, once, however often it is called until then. */
export function oncePerFrame(work) {
  let frame;
  return () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => work());
  };
}
