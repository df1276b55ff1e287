import type { Form } from "./form.js";
import type { Client, Options, Survey } from "./index.js";
import type { DeviceKey } from "./key.js";

/** A client whose `report` and `queue` are promises. */
export type BrowserClient<Asked extends Survey | Form | string | object = Survey> = Client<DeviceKey, Asked> & {
  /** Whether its secret is a key that no script can read. */
  readonly keyed: boolean;
};

/**
 * A client of this browser: state in `localStorage`, or in `storage`, and a key that cannot be read where the platform
 * has one.
 */
export function browserClient<Asked extends Survey | Form | string | object>(
  survey: Asked,
  options?: Options,
): Promise<BrowserClient<Asked>>;
