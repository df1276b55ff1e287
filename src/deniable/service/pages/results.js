/**
 * The results of one survey, live: what is asked of the collector, and when. The shares come first; the trend and the
 * comparison follow, and no answer waits for a picture to be drawn. It reads what any client may read.
 */

import { noChanges, showChanges, showFigures } from "./changes.js";
import { library, Picture } from "./charts.js";
import { $, ask, decoderKey, digestHere, download, el, fill, short, symbolText } from "./common.js";
import { kept } from "./entered.js";
import { isForm } from "./form.asking.js";
import { health } from "./health.js";
import { candidatesHere, dropKey, dropOwnKey, findKey, isAdministrator, keepKey } from "./keys.js";
import { kindOf } from "./kinds.js";
import { open } from "./languages.js";
import { distinctLines, fileName, heading, rangeNames } from "./naming.js";
import { dayOf, endOf, halves, incomparable } from "./periods.js";
import { problemText } from "./problems.js";
import { AlphabetField, arrange } from "./search.fields.js";
import { discovers, keptBack, Search } from "./search.js";
import { drawShares, head } from "./shares.js";
import { merged, readers, soFar } from "./sofar.js";
import { handOver, manage } from "./surveys.js";
import { sentences, text } from "./texts.js";
import { Trend } from "./trend.js";

const EVERY = 4000; // milliseconds between looks at the counts
const SLOWEST = 8; // looks after which results are asked for although no count has changed
// In sessionStorage: the survey that was deleted here, so that a reload still says so.
const DELETED = "deniable-deleted/1";
const PARTS = ["facts", "about-shares", "health-part", "experts"];

const say = (said, kind = "") => fill($("status"), said && el("p", { class: `note ${kind}` }, ...[said].flat()));

const rangeNote = (...said) => fill($("range-note"), said[0] && el("p", { class: "note bad" }, ...said));

/** Work whose failure is told. */
const guarded = (work) => () => Promise.resolve(work()).catch((problem) => say(problemText(problem), "bad"));

/** The one thing beside the results that stands under the question: placeholders, or how many answers there are. */
function only(id) {
  $("main").removeAttribute("aria-busy");
  for (const other of ["waiting", "so-far", "all"]) $(other).hidden = other !== id;
}

function locked(key) {
  only();
  fill($("status"), el("p", { class: "note", "data-text": key }, text(key)));
  $("door").hidden = false;
  $("door").onsubmit = (event) => {
    event.preventDefault();
    keepKey($("token").value);
    location.reload();
  };
}

async function offerDecoders() {
  const { paths } = await ask("/openapi.json");
  const { parameters } = paths["/v1/surveys/{digest}/estimate"].get;
  for (const name of parameters.find((one) => one.name === "decoder").schema.enum)
    $("decoder").append(el("option", { value: name, "data-text": decoderKey(name) }, text(decoderKey(name))));
}

/** The survey of this page and how it stands, what was told of it last, and which answer is still wanted. */
class Results {
  #digest = digestHere();
  #base = `/v1/surveys/${this.#digest}`;
  #pictures = {
    shares: new Picture($("shares")),
    trend: new Picture($("trend")),
    changes: new Picture($("changes")),
  };
  #trend = new Trend(this.#pictures.trend, (start) => dayOf(start, this.#rules.window));
  #token;
  #survey;
  #channel; // in numbers
  #form; // what shows a form
  #ranges; // what shows two times as a table
  #tabulated; // the two times that it was asked for
  #search; // what finds texts that nobody listed
  #alphabet; // what these are made of
  #rules;
  #closed = false;
  #gone = false;
  #candidates = [];
  #told = { windows: [], live: false, reports: 0 };
  #shares; // what is on the page
  #seen; // the counts that it was made of, as text
  #looks = 0;
  #turn = 0; // of the newest question: an older answer is worthless
  #compared;

  #post(path, body, more = {}) {
    return ask(`${this.#base}/${path}`, { method: "POST", token: this.#token, body, ...more });
  }

  get #isOpen() {
    return this.#survey.alphabet?.kind === "open";
  }

  get #inOrder() {
    const { encoding, alphabet } = this.#survey;
    return encoding?.kind === "neighbours" || alphabet?.symbols?.every((symbol) => typeof symbol === "number");
  }

  async start() {
    this.#token = await findKey();
    this.#candidates = candidatesHere();
    let found;
    try {
      found = await ask(this.#base);
    } catch (problem) {
      if (problem.status === 404) {
        only();
        if (sessionStorage.getItem(DELETED) === this.#digest) return this.#deleted(text("results.gone"));
        fill($("question"), text("results.unknown"));
        return say(text("results.unknownWhy"));
      }
      say(text("words.trying"));
      return setTimeout(() => this.start(), EVERY);
    }
    this.#standing(found);
    await this.#entitle();
    if (this.#rules.results === "private" && !this.#token) return locked("results.private");
    guarded(offerDecoders)();
    library().catch(() => {}); // while the shares are decoded; whoever draws is told if there is none
    if (isForm(this.#survey)) await this.#sections();
    else if (this.#isOpen) {
      $("open").hidden = false;
      $("candidates").value = this.#candidates.join("\n");
      if (discovers(this.#survey)) this.#discover();
      this.#entitleList();
    } else if (this.#inOrder) {
      $("order").value = "own"; // 1 to 5 stars
    }
    if (!this.#form) this.#offerDownloads();
    this.#listen();
    this.#tick();
  }

  /** What the survey is called here, and its channel in numbers and words. */
  async #entitle() {
    if (!isForm(this.#survey)) this.#channel = (await kindOf(this.#survey)).numbers(this.#survey);
    fill($("question"), this.#survey.name || text("results.nameless"));
    document.title = text("results.titleOf", { name: short(this.#survey.name || this.#digest.slice(0, 8)) });
  }

  /** What a list of candidates is for. */
  #entitleList() {
    $("order").lastElementChild.textContent = text("results.byList");
    if (!this.#search) return;
    $("open-title").textContent = text("search.found");
    $("open-lead").textContent = text("search.lead");
    $("look").textContent = text("search.look");
  }

  /** All of it in another language: what was chosen and entered stays. */
  async again() {
    if (this.#gone || !this.#survey) return location.reload();
    await this.#entitle();
    if (!$("door").hidden) return;
    if (this.#isOpen) this.#entitleList();
    this.#ranges?.element.remove();
    this.#ranges = undefined;
    this.#tabulated = undefined;
    if (this.#told.windows.length) this.#offerWindows();
    if (this.#form) await kept($("form-results"), () => this.#sections());
    else this.#offerDownloads();
    await Promise.all([!$("manage").hidden && kept($("manage"), () => this.#own()), this.#refresh()]);
  }

  /** A form has a section a question. */
  async #sections() {
    const { FormResults } = await import("./form.results.js");
    this.#form = new FormResults(this.#survey, {
      digest: this.#digest,
      candidates: this.#form?.candidates,
      turned: this.#form?.turned,
      post: (route, body, more) => this.#post(route, { ...this.#question(), ...body }, more),
      table: (body, more) => this.#table(body, more),
      range: () => this.#range(),
      tally: () => this.#tally(),
      guarded,
      again: guarded(() => this.#refresh()),
    });
  }

  /** Texts appear by themselves; a list is tested together with what is found. */
  #discover() {
    this.#search = new Search(
      this.#survey,
      (...asked) => this.#post(...asked),
      (told) => say(told),
    );
    $("order").parentElement.hidden = true; // the largest come first
    this.#alphabet = new AlphabetField(guarded(() => this.look(this.#candidates)));
    arrange(this.#alphabet, this.#candidates.length > 0);
    $("decoder").parentElement.hidden = true;
  }

  #listen() {
    const on = (ids, work) => {
      for (const id of ids) $(id).addEventListener("change", guarded(work));
    };
    on(["from", "to", "level", "decoder", "turnover", "change"], () => this.#refresh());
    on(["top", "raw", "order"], () => this.#draw());
    on(["a-from", "a-to", "b-from", "b-to"], () => this.#compare(this.#turn));
    $("compare-as-table").addEventListener(
      "toggle",
      guarded(() => this.#asTable()),
    );
    addEventListener("hashchange", () => location.reload());
  }

  /** How the survey stands now: it may have been closed, reopened or changed, here or by its closing date. */
  #standing(found) {
    this.#survey = found.survey;
    this.#rules = found.rules;
    this.#closed = found.state === "closed";
    const again = /event|window(?!.*share)/.test(this.#survey.participation);
    for (const id of ["turnover-part", "change-part"]) $(id).hidden = !again;
    $("closed").hidden = !this.#closed;
  }

  /** The part for whoever asked, with the survey as it is now. */
  async #own() {
    const again = async () => {
      this.#standing(await ask(this.#base));
      await Promise.all([this.#own(), this.#refresh()]);
    };
    await manage($("manage"), {
      digest: this.#digest,
      token: this.#token,
      reports: this.#told.reports,
      looked: this.#candidates.length,
      again,
      gone: (said) => this.#deleted(said),
      // A new survey takes the administrator's key: a private link alone cannot make one.
      duplicate: isAdministrator() && handOver,
      edit: isAdministrator() && handOver,
    });
  }

  /** Instead of everything else: that the survey is gone, and the way back. */
  #deleted(said) {
    this.#gone = true;
    this.#turn++; // what is still being asked for is not shown
    dropOwnKey();
    sessionStorage.setItem(DELETED, this.#digest);
    only();
    say("");
    $("manage").hidden = true;
    fill($("question"), text("results.deleted"));
    $("lead").textContent = sentences(said, text("results.deletedLink"));
    const back = text(isAdministrator() ? "results.back" : "results.start");
    $("lead").after(el("p", {}, el("a", { class: "button", href: "/" }, back)));
    document.title = text("results.deletedTitle");
    $("question").tabIndex = -1;
    $("question").focus();
  }

  /** Look whether counts have changed; if so, ask for everything again. */
  async #tick() {
    if (this.#gone) return;
    if (!document.hidden) {
      try {
        const { closes } = this.#rules;
        if (!this.#closed && closes && new Date(closes) <= new Date()) this.#standing(await ask(this.#base));
        const told = await ask(`${this.#base}/windows`, { token: this.#token });
        const now = JSON.stringify(told) + this.#closed;
        if (now !== this.#seen || ++this.#looks >= SLOWEST) {
          this.#looks = 0;
          this.#told = told;
          this.#seen = now;
          if ($("to").length !== told.windows.length + 1) this.#offerWindows();
          await Promise.all([this.#refresh(), told.live && $("manage").hidden && this.#own()]);
        }
      } catch (problem) {
        if (problem.status === 401 || problem.status === 403) {
          dropKey();
          return locked("results.wrongKey");
        }
        if (this.#gone) return;
        say(problem.status ? problemText(problem) : text("words.trying"));
        this.#seen = undefined;
      }
    }
    setTimeout(() => this.#tick(), EVERY);
  }

  /** Windows as choices; what was chosen stays. */
  #offerWindows() {
    const { windows } = this.#told;
    const put = (id, first, fallback) => {
      const before = $(id).value;
      const options = windows.map(({ start }) => el("option", { value: start }, dayOf(start, this.#rules.window)));
      fill($(id), ...first, ...options);
      $(id).value = before && [...$(id).options].some((option) => option.value === before) ? before : fallback;
    };
    put("from", [el("option", { value: "" }, text("results.beginning"))], "");
    put("to", [el("option", { value: "" }, text("results.now"))], "");
    if (windows.length > 1) for (const [id, start] of Object.entries(halves(windows))) put(id, [], start);
  }

  /** How to decode, as the form says. */
  #question(more = {}) {
    const asked = { level: Number($("level").value), ...more, decoder: $("decoder").value };
    if (this.#isOpen) asked.candidates = this.#candidates;
    const found = Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
    for (const part of ["turnover", "change"]) if ($(part).value) found[part] = Number($(part).value);
    return found;
  }

  #range() {
    return { from: $("from").value || undefined, to: endOf(this.#told.windows, $("to").value) };
  }

  /** Everything again. What was asked for meanwhile makes an older answer worthless. */
  async #refresh() {
    const mine = ++this.#turn;
    $("live").hidden = this.#closed;
    $("live").textContent = this.#told.live
      ? text("results.live")
      : sentences(readers(this.#rules), text("results.whoAsked"));
    if (this.#isOpen && !this.#search && !this.#candidates.length) {
      only("all");
      for (const part of [...PARTS, "trend-part", "compare-part"]) $(part).hidden = true;
      say(text("forms.nameThem"));
      return;
    }
    if ($("to").value && $("from").value > $("to").value)
      return rangeNote(text("results.range"), " ", text("forms.before"));
    if (this.#form) return this.#refreshForm(mine);
    let found;
    try {
      found = await this.#estimate();
    } catch (problem) {
      if (mine !== this.#turn) return;
      if (problem.status !== 409) throw problem;
      // What is on the page stays where only the range was too narrow.
      if (this.#shares && ($("from").value || $("to").value))
        return rangeNote(problemText(problem), " ", text("forms.before"));
      return this.#wait();
    }
    if (mine !== this.#turn || !found) return;
    this.#shares = found;
    say("");
    rangeNote("");
    if (this.#search) $("merged").textContent = keptBack(found);
    else $("merged").textContent = this.#isOpen ? merged(this.#candidates.length, found.estimates.length) : "";
    only("all");
    for (const part of PARTS) $(part).hidden = false;
    head(found, this.#channel, this.#rules);
    health(found, this.#channel, this.#digest);
    // Nothing waits for the pictures: their library may still be on its way.
    // Shares over time need a list that was the same all the time.
    await Promise.all([this.#draw(), ...(this.#search ? [] : [this.#over(mine), this.#compare(mine)])]);
  }

  /** The shares of the range; what nobody listed is searched for. */
  #estimate() {
    if (!this.#search) return this.#post("estimate", this.#question({ ...this.#range(), order: "own" }));
    return this.#search.run(this.#found(), this.#told.reports);
  }

  /** What is asked of a search. */
  #found() {
    const { level, candidates } = this.#question();
    const alphabet = this.#alphabet.asked;
    return { level, alphabet, candidates: candidates?.length ? candidates : undefined, ...this.#range() };
  }

  async #refreshForm(mine) {
    const { windows } = this.#told;
    const shown = () => {
      only("all");
      rangeNote("");
    };
    const options = { windows, rules: this.#rules, shown };
    const problem = await this.#form.refresh(() => mine === this.#turn, options);
    if (mine !== this.#turn) return;
    if (!problem) return say("");
    if (this.#form.isShown && ($("from").value || $("to").value))
      return rangeNote(problemText(problem), " ", text("forms.before"));
    this.#wait();
  }

  async #draw() {
    if (!this.#shares) return;
    await drawShares(this.#shares, this.#pictures.shares, heading(this.#shares, this.#rules.window));
  }

  /** Too few answers for results: how many there are, and whether more can come. */
  #wait() {
    const { reports, live } = this.#told;
    const { least, count, words } = soFar(reports, this.#rules, { closed: this.#closed, live });
    say("");
    only("so-far");
    $("so-far-bar").max = least;
    $("so-far-bar").value = reports;
    $("so-far-count").textContent = count;
    $("so-far-words").textContent = words;
  }

  /** Every window, and where one differs from those before it. */
  async #over(mine) {
    $("trend-part").hidden = this.#told.windows.length < 2;
    if (this.#told.windows.length < 2) return;
    let told;
    try {
      told = await this.#post("trend", this.#question());
    } catch (problem) {
      if (problem.status !== 409) throw problem;
      told = { windows: [] };
    }
    if (mine === this.#turn) await this.#trend.show(told, this.#shares);
  }

  async #compare(mine) {
    const { windows } = this.#told;
    $("compare-part").hidden = windows.length < 2;
    if (windows.length < 2) return;
    const [aFrom, aTo, bFrom, bTo] = ["a-from", "a-to", "b-from", "b-to"].map((id) => $(id).value);
    const problem = incomparable({ aFrom, aTo, bFrom, bTo });
    if (problem) return noChanges(problem);
    const body = this.#question({
      against_from: aFrom,
      against_to: endOf(windows, aTo),
      from: bFrom,
      to: endOf(windows, bTo),
    });
    this.#compared = body;
    let told;
    try {
      if (this.#shares.density) return await this.#compareFigures(body, mine);
      told = await this.#post("difference", body);
    } catch (caught) {
      if (!caught.status) throw caught;
      return noChanges(problemText(caught));
    }
    if (mine !== this.#turn || body !== this.#compared) return;
    await Promise.all([showChanges(told, this.#pictures.changes), this.#asTable()]);
  }

  /** A cross-table, which takes no more of the form than the level and the candidates. */
  #table(body, more) {
    const { level, candidates } = this.#question();
    return this.#post("crosstab", { level, ...(candidates && { candidates }), ...body }, more);
  }

  /** The two times as a table, when somebody looks. Devices that answer again are not two groups of people. */
  async #asTable() {
    const place = $("compare-as-table");
    place.hidden = Boolean(this.#survey.participation) || Boolean(this.#shares.density);
    const asked = this.#compared;
    if (place.hidden || !place.open || this.#tabulated === asked) return;
    this.#tabulated = asked;
    if (!this.#ranges) {
      const { TableSection } = await import("./pair.section.js");
      this.#ranges = new TableSection({
        ask: (body, more) => {
          const { against_from, against_to, from, to } = this.#compared;
          return this.#table({ against_from, against_to, from, to, ...body }, more);
        },
        titles: () => ({ rows: "", columns: this.#survey.name }),
        names: (told) => ({ rows: rangeNames(told, this.#rules.window), columns: symbolText }),
        file: { title: `${this.#survey.name} ${text("pairs.table")}`, digest: this.#digest },
        guarded,
      });
      place.append(this.#ranges.element);
    }
    await this.#ranges.refresh(() => asked === this.#compared);
  }

  /** Numbers are compared by their figures. */
  async #compareFigures({ against_from, against_to, from, to, ...more }, mine) {
    const asked = this.#compared;
    const [before, after] = await Promise.all(
      [
        { from: against_from, to: against_to },
        { from, to },
      ].map((range) => this.#post("estimate", { ...more, ...range })),
    );
    if (mine === this.#turn && asked === this.#compared) showFigures(before, after);
  }

  #tally() {
    const span = new URLSearchParams(Object.entries(this.#range()).filter(([, value]) => value));
    return ask(`${this.#base}/tally?${span}`, { token: this.#token, raw: true });
  }

  #offerDownloads() {
    const name = (ending) => fileName(this.#survey.name, this.#digest, ending);
    const decoded = (format) => {
      if (this.#search) return this.#post("discover", { ...this.#found(), format }, { raw: true });
      const body = this.#question({ ...this.#range(), format, order: $("order").value });
      return this.#post("estimate", body, { raw: true });
    };
    const picture = (kind) => async () => download(name(kind), await this.#pictures.shares.file(kind));
    const survey = () => new Blob([JSON.stringify(this.#survey, null, 2)], { type: "application/json" });
    const button = ([title, work]) => el("button", { type: "button", class: "plain", onclick: guarded(work) }, title);
    const offer = (id, files) =>
      fill($(id), el("span", { class: "quiet" }, text("forms.download")), ...Object.entries(files).map(button));
    offer("downloads", {
      // Excel takes a file for UTF-8 only if it begins with this mark; pandas and others read past it.
      CSV: async () => download(name("csv"), new Blob(["\ufeff", await decoded("csv")], { type: "text/csv" })),
      PNG: picture("png"),
      SVG: picture("svg"),
    });
    offer("more-downloads", {
      JSON: async () => download(name("json"), await decoded("json")),
      [text("results.theSurvey")]: () => download(name("survey.json"), survey()),
      [text("forms.theTally")]: async () => download(name("tally"), await this.#tally()),
    });
  }

  /** Look for other candidates. They are kept after the # of the address, so that a bookmark keeps them. */
  async look(candidates) {
    this.#candidates = candidates;
    this.#trend.forgetChoice();
    const kept = [...Object.entries(this.#alphabet?.written ?? {}), ...candidates.map((one) => ["candidate", one])];
    if (candidates.length <= 200) history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
    await this.#refresh();
  }
}

const page = new Results();

$("look").addEventListener(
  "click",
  guarded(() => page.look(distinctLines($("candidates").value))),
);
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (!file) return;
  $("candidates").value = (await file.text()).replaceAll("\r", "");
  $("look").click();
});

open(guarded(() => page.again())).then(() => page.start());
