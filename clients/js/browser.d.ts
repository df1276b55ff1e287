import type { Client, Options, Survey } from "./index.js";
import type { DeviceKey } from "./key.js";

/** A client whose `report` and `queue` are promises. */
export interface BrowserClient extends Client<DeviceKey> {
  /** Whether its secret is a key that no script can read. */
  readonly keyed: boolean;
}

/**
 * A client of this browser: state in `localStorage`, or in `storage`, and a key that cannot be read where the platform
 * has one.
 */
export function browserClient(survey: Survey | string | object, options?: Options): Promise<BrowserClient>;
