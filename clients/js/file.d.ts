import type { Storage } from "./index.js";

/** A storage for Node in the file at `path`: whole after a crash, one change at a time, readable by its owner alone. */
export function fileStorage(path: string): Required<Storage>;
