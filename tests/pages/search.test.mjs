/** A survey that discovers text: the search in steps, when it is asked anew, and what is told of it. */

import "./english.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";

import { Problem } from "../../src/deniable/service/pages/common.js";
import { discovers, keptBack, Search } from "../../src/deniable/service/pages/search.js";

const SURVEY = {
  encoding: {
    kind: "prefixes",
    levels: [
      [2, 8],
      [4, 8],
      [6, 16],
    ],
  },
};
const FOUND = { estimates: [{ symbol: "elk" }], level: 0.95, searched: { candidates: 675586, smallest: 0.0123 } };
/** A collector that gives these answers, or problems, one after the other. */
function collector(...answers) {
  const asked = [];
  const post = async (route, body) => {
    asked.push({ route, ...body });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { post, asked };
}

const unfinished = (levels) => new Problem(422, "a search must end within its limits", { resume: { levels } });

test("only surveys of prefixes have anything to discover", () => {
  assert.ok(discovers(SURVEY));
  assert.ok(!discovers({ encoding: { kind: "hashed" } }));
  assert.ok(!discovers({}), "a form has no encoding");
});

test("a search goes on from where it stopped, and takes longer steps where a level needs them", async () => {
  const { post, asked } = collector(unfinished(1), unfinished(1), unfinished(2), FOUND);
  const told = [];
  const found = await new Search(SURVEY, post, (text) => told.push(text)).run({ level: 0.95 }, 1000);
  assert.equal(found, FOUND);
  assert.deepEqual(
    asked.map(({ route, seconds, resume }) => [route, seconds, resume?.levels]),
    [
      ["discover", 6, undefined],
      ["discover", 6, 1],
      ["discover", 18, 1],
      ["discover", 6, 2],
    ],
  );
  assert.deepEqual(
    told,
    [1, 1, 2].map((done) => `Searching for what people wrote: level ${done} of 3.`),
  );
});

test("a few more answers are not worth another search; many are, and so is another question", async () => {
  const { post, asked } = collector(FOUND, FOUND, FOUND);
  const search = new Search(SURVEY, post, () => {});
  await search.run({ level: 0.95 }, 1000);
  await search.run({ level: 0.95 }, 1010);
  assert.equal(asked.length, 1);
  await search.run({ level: 0.95 }, 1100);
  await search.run({ level: 0.99 }, 1100);
  assert.equal(asked.length, 3);
});

test("a search under way is not begun again; another question ends it", async () => {
  const { post, asked } = collector(unfinished(1), FOUND, FOUND);
  const search = new Search(SURVEY, post, () => {});
  const first = search.run({ level: 0.95 }, 1000);
  assert.equal(search.run({ level: 0.95 }, 2000), first, "however many more have answered");
  const other = search.run({ level: 0.99 }, 2000);
  assert.equal(await first, undefined);
  assert.equal(await other, FOUND);
  assert.deepEqual(
    asked.map(({ level }) => level),
    [0.95, 0.99],
  );
});

test("a search that cannot end says why, and is begun again when it is asked for again", async () => {
  const stuck = collector(...Array.from({ length: 9 }, () => unfinished(0)));
  await assert.rejects(new Search(SURVEY, stuck.post, () => {}).run({}, 1000), /within its limits/);
  assert.deepEqual(
    stuck.asked.map(({ seconds }) => seconds),
    [6, 18, 54, 90],
  );
  const refused = collector(new Problem(409, "too few reports"));
  await assert.rejects(new Search(SURVEY, refused.post, () => {}).run({}, 10), /too few/);
});

test("what is shown is said with what is kept back", () => {
  assert.equal(
    keptBack(FOUND),
    "One text passed the test; 95% of such lists name nothing that nobody wrote. 675,586 were tested, and what fewer " +
      "than about 1.2% wrote cannot be told from chance: it is kept back.",
  );
  assert.match(
    keptBack({ ...FOUND, estimates: [] }),
    /^Nothing was written by so many that it can be told from chance/,
  );
});
