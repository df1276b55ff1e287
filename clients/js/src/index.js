/** The public surface of the JavaScript client: a survey is read, a client answers it, a report leaves. */

export { Client } from "./checked.js";
export { DeniableError } from "./errors.js";
export { readSurvey } from "./survey.js";
