/** One privatised answer: the only thing that may leave a device. Safe to show. */

import { bytesFor, ceil, join, little, unhex } from "./bytes.js";

/** The report that names these cells: a cell's number, or bit j in byte j // 8 at place j % 8. */
export function reportOf({ digest, encoding, mechanism }, cohort, named) {
  const { cohorts } = encoding;
  const { bits, columns: cells = encoding.cells } = mechanism;
  // As many bytes as the survey's cells or bits need, whatever the answer is.
  const payload = little(bits ? 0 : named[0], bits ? ceil(cells / 8) : bytesFor(cells));
  if (bits) for (const cell of named) payload[cell >> 3] |= 1 << (cell & 7);
  return {
    cohort,
    payload,
    /** The bytes that leave the device: version, 8 bytes of the survey's digest, cohort, payload. */
    pack: () => join([1], unhex(digest.slice(0, 16)), little(cohort, bytesFor(cohorts)), payload),
  };
}
