/** The page for an address with nothing behind it: its texts, and nothing else. */

import { open } from "./languages.js";

open();
