/** What `deniable.min.js` is made of: the same, but for the sentences on wrong options. */

export { Client } from "./client.js";
export { DeniableError } from "./errors.js";
export { readSurvey } from "./survey.js";
