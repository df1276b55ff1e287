/** A device's secret that can be used and not read; see `Options.key`. */
export interface DeviceKey {
  /** Tells this key from another one; says nothing of the secret. */
  readonly check: string;
  words(label: Uint8Array, count: number): Promise<{ width: number; word(): bigint }>;
}

/**
 * The key of this browser, in IndexedDB, made at the first call; rejects with a `StateError` where there is no
 * `crypto.subtle`.
 */
export function deviceKey(): Promise<DeviceKey>;
