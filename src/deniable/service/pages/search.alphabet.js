/**
 * What texts are made of, where they are searched for: fewer characters are searched faster and further. It belongs to
 * the search and not to the survey, so it stands after the # of the private link. No element is touched here.
 */

export const ALPHABETS = ["any", "letters", "digits", "domains", "own"];

/** The choice as a link has it: nothing for any text. */
export function written(alphabet, characters) {
  if (alphabet === "own") return characters ? { alphabet, characters } : {};
  return alphabet === "any" ? {} : { alphabet };
}

/** The choice that a link has, which may be anybody's. */
export function readAlphabet(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const found = parts.get("alphabet");
  const characters = parts.get("characters") ?? "";
  const alphabet = ALPHABETS.includes(found) && (found !== "own" || characters) ? found : "any";
  return { alphabet, characters: alphabet === "own" ? characters : "" };
}

/** As the collector is asked: a name that it knows, the characters as they were named, each once; nothing: any text. */
export function searched({ alphabet, characters }) {
  if (alphabet === "own") return [...new Set(characters)].join("") || undefined;
  return alphabet === "any" ? undefined : alphabet;
}
