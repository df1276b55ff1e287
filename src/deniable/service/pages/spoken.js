/** The page speaks before all it does is here: its texts are fetched beside its other modules, which are many. */

import { open } from "./languages.js";

open();
