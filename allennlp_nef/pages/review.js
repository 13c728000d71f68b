// The report that `allennlp-nef review` writes: translations with their likely errors, and what a reviewer decides.
"use strict";

(() => {
  const CHUNK = 25; // cards whose layout the browser skips together while they are out of sight
  const NO_BREAK = "\u00a0"; // a blank at which no line ends
  const DECISIONS = { accept: "Accepted", reject: "Rejected" };
  const KEYS = { n: "next", p: "previous", a: "accept", r: "reject", m: "note", u: "undo the last decision", "← →": "choose a word", Space: "mark or unmark it" };

  const data = JSON.parse(document.getElementById("page-data").textContent);
  const { labels, sentences } = data;
  const STORE = `allennlp_nef review ${data.key}`;
  const all = sentences.map((_, i) => i);
  const isScored = (i) => "risk" in sentences[i];
  const scored = all.filter(isScored);
  const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  // What the reviewer did, by the number of the sentence: `decision`, `note`, `tags` by word.
  let reviewed = Object.fromEntries(all.filter((i) => sentences[i].reviewed).map((i) => [i, sentences[i].reviewed]));
  let threshold = null; // of the slider; null: the tags are those of the answers
  let shown = []; // the numbers of the sentences that pass the filters, in order
  let current = -1; // the sentence that has, or had, the focus
  let word = -1; // its chosen word
  let decided = -1; // the sentence that a key has just decided, until the next step

  // Progress

  const status = element("p", { role: "status", class: "state" });
  const say = (text) => (status.textContent = text);

  try {
    reviewed = JSON.parse(localStorage.getItem(STORE)) ?? reviewed;
  } catch (error) {
    console.warn(error);
  }

  /** Changes what was done to a sentence, and keeps it in the browser. */
  function change(i, changes) {
    reviewed[i] = { ...reviewed[i], ...changes };
    const { decision, note, tags } = reviewed[i];
    if (!decision && !note && !tags) delete reviewed[i];
    try {
      localStorage.setItem(STORE, JSON.stringify(reviewed));
    } catch {
      say("This browser does not keep the progress. Export it before you close the page.");
    }
    showProgress();
  }

  // Words and errors

  /** A function that cuts a text at characters, as Python counts them. */
  function slicer(text) {
    const characters = Array.from(text);
    if (characters.length === text.length) return (from, to) => text.slice(from, to);
    return (from, to) => characters.slice(from, to).join("");
  }

  /** The number of the label of a word: that of its answer or, if the slider has been moved, the slider's. */
  function predicted(i, j) {
    const { bad, tags } = sentences[i];
    if (threshold === null) return tags[j];
    return bad[j] >= threshold ? tags[j] || labels.length - 1 : 0;
  }

  const labelOf = (i, j) => reviewed[i]?.tags?.[j] ?? predicted(i, j);

  /** The errors of a sentence: adjacent words with the same label, as lists of words. */
  function errorsOf(i, label = (j) => labelOf(i, j)) {
    const { words, bad } = sentences[i];
    const found = [];
    for (const j of bad.keys()) {
      const joins = j > 0 && label(j) === label(j - 1) && words[j][0] < words[j][1];
      if (label(j)) joins ? found.at(-1).push(j) : found.push([j]);
    }
    return found;
  }

  /** The words of the other side that a word is aligned with. */
  function alignedWith(i, j, side) {
    const [own, other] = side === "target" ? [1, 0] : [0, 1];
    return sentences[i].links.filter((pair) => pair[own] === j).map((pair) => pair[other]);
  }

  const placesOf = (i, side) => sentences[i][side === "target" ? "words" : "source_words"];
  const wordsOf = (i, side) => placesOf(i, side).map((place) => slicer(sentences[i][side])(...place) || "<EOS>");

  function about(i, j) {
    const sources = wordsOf(i, "source");
    const others = alignedWith(i, j, "target").map((k) => sources[k]);
    const parts = [labels[labelOf(i, j)], `probability of BAD ${decimals(sentences[i].bad[j])}`];
    if (others.length) parts.push(`aligned with ${isolated(others.join(" "))}`);
    else if (sentences[i].links.length) parts.push("not aligned");
    return parts.join(", ");
  }

  const sayWord = (i, j) => say(`${isolated(wordsOf(i, "target")[j])}: ${about(i, j)}.`);

  // Cards. A card begins as plain text; it gets its words, marks and buttons when it comes near the window.

  const cards = sentences.map(({ source, target }, i) => {
    const card = element("article", { class: "card", tabindex: "-1", "data-sentence": i, "aria-labelledby": `name-${i}` });
    card.append(element("p", {}, source), element("p", {}, target));
    return card;
  });
  const drawn = new Set();
  const observer = new IntersectionObserver(
    (entries) => entries.forEach(({ target, isIntersecting }) => isIntersecting && draw(Number(target.dataset.sentence))),
    { rootMargin: "800px 0px" },
  );
  cards.forEach((card) => observer.observe(card));

  function draw(i) {
    if (!drawn.has(i)) redraw(i);
  }

  /** Draws a card. The focus stays on its button. */
  function redraw(i) {
    const card = cards[i];
    drawn.add(i);
    observer.unobserve(card);
    const action = card.contains(document.activeElement) && document.activeElement.dataset.action;
    card.replaceChildren(...partsOf(i));
    card.classList.toggle("decided", Boolean(reviewed[i]?.decision));
    if (i === current) light(i, word, "target");
    if (action) (card.querySelector(`[data-action="${action}"]:not([hidden])`) ?? card).focus({ preventScroll: true });
  }

  /** Draws all cards again: those near the window now, the others when they come near it. */
  function redrawAll() {
    for (const i of drawn) observer.observe(cards[i]);
    drawn.clear();
  }

  const fileOf = (i) => data.files[sentences[i].file ?? 0];

  /** The name of a sentence. The names of files are shown as they are. */
  function headingOf(i) {
    const { name, document: part } = sentences[i];
    if (data.files.length > 1) return `${fileOf(i)}, ${name}`;
    return part ? name : capital(name);
  }

  function partsOf(i) {
    const { risk, error } = sentences[i];
    const { decision, note, tags } = reviewed[i] ?? {};
    const head = element("div", { class: "card-head" }, element("h3", { id: `name-${i}` }, headingOf(i)));
    if (isScored(i)) {
      const node = element("span", { class: "score" }, Quality.estimatesOf(sentences[i]));
      node.style.setProperty("--share", Math.min(1, risk / top));
      head.append(node);
    } else head.append(element("span", { class: "note" }, `No score: ${error}`));
    if (decision) head.append(element("span", { class: `decision ${decision}` }, DECISIONS[decision]));
    if (tags) head.append(element("span", { class: "decision" }, "Marks changed"));
    const button = (action, text, attributes = {}) => element("button", { type: "button", "data-action": action, tabindex: "-1", ...attributes }, text);
    const actions = Object.keys(DECISIONS).map((action) => button(action, capital(action), { "aria-pressed": decision === action }));
    actions.push(button("note", note ? "Edit the note" : "Note"));
    if (isScored(i)) actions.push(button("mark", "Mark the word", i === current && word >= 0 ? {} : { hidden: "" }));
    const parts = [head, element("div", { class: "pair" }, sideOf(i, "source"), sideOf(i, "target"))];
    const findings = sentences[i].checks ?? [];
    if (findings.length) parts.push(element("ul", { class: "checks", "aria-label": "Checks" }, ...findings.map((each) => element("li", {}, capital(each[2])))));
    if (note) parts.push(element("p", { class: "own-note", dir: "auto" }, note));
    return [...parts, element("div", { class: "actions" }, ...actions)];
  }

  function sideOf(i, side) {
    const language = sentences[i][`${side}_language`] ?? data[`${side}_language`];
    const text = element("p", { class: `text ${side}-text`, dir: "auto", ...(language ? { lang: language } : {}) });
    text.append(...textOf(i, side));
    if (!sentences[i][side]) text.append(" ", element("span", { class: "hint" }, "none"));
    return element("div", { class: "side" }, element("h4", {}, side === "source" ? "Source" : "Translation"), text);
  }

  /** A text with its words, signs for its inline codes and, in a translation, its errors. */
  function textOf(i, side) {
    const slice = slicer(sentences[i][side]);
    const [errors, findings] = side === "target" && isScored(i) ? [errorsOf(i), sentences[i].checks] : [[], []];
    const codes = [...(sentences[i][`${side}_codes`] ?? [])];
    const nodes = [];
    let [mark, end] = [null, 0];
    const add = (...added) => (mark ? mark.append(...added) : nodes.push(...added));
    /** The text from the last place to this one, with the codes before it. A code at the end of a word is after it. */
    const textTo = (place, isWord = false) => {
      const parts = [];
      while (codes.length && codes[0][0] < place + !isWord) {
        const [at, code] = codes.shift();
        parts.push(slice(end, at), element("span", { class: "code", dir: "ltr" }, code));
        end = at;
      }
      parts.push(slice(end, place));
      end = place;
      return parts;
    };
    (placesOf(i, side) ?? []).forEach(([start, stop], j) => {
      const error = errors.find((words) => words.includes(j));
      if (!error || error[0] === j) mark = null;
      add(...textTo(start));
      if (error?.[0] === j) {
        mark = element("mark", { class: `bad ${labels[labelOf(i, j)]}` });
        nodes.push(mark);
      }
      const isChecked = findings.some(([from, to]) => from < stop && start < to);
      const text = start < stop ? textTo(stop, true) : [error ? "missing" : ""];
      add(element("span", { class: isChecked ? "word checked" : "word", "data-word": j }, ...text));
      if (error?.at(-1) === j) {
        const probability = error.reduce((sum, k) => sum + sentences[i].bad[k], 0) / error.length;
        mark.append(NO_BREAK, element("span", { class: "severity", dir: "ltr" }, `${labels[labelOf(i, j)]} ${decimals(probability)}`));
      }
    });
    return [...nodes, ...textTo(Infinity)];
  }

  /** Lights up a word of a card, and the words that are aligned with it; none for -1. */
  function light(i, j, side) {
    const card = cards[i];
    for (const node of card.querySelectorAll(".lit, .chosen")) node.classList.remove("lit", "chosen");
    if (j < 0) return;
    const other = side === "target" ? "source" : "target";
    card.querySelector(`.${side}-text [data-word="${j}"]`).classList.add("chosen");
    for (const k of alignedWith(i, j, side)) card.querySelector(`.${other}-text [data-word="${k}"]`)?.classList.add("lit");
  }

  // The current card, which is the one at which the tab key stops

  function choose(i) {
    if (i === current) return;
    const before = current;
    [current, word] = [i, -1];
    if (before >= 0) {
      cards[before].classList.remove("current");
      cards[before].tabIndex = -1;
      if (drawn.has(before)) light(before, -1);
      cards[before].querySelector("[data-action=mark]")?.setAttribute("hidden", "");
    }
    cards[i].classList.add("current");
    cards[i].tabIndex = 0;
  }

  function chooseWord(i, j) {
    word = j;
    light(i, j, "target");
    cards[i].querySelector("[data-action=mark]").hidden = false;
    sayWord(i, j);
  }

  function go(place) {
    if (!shown.length) return;
    const i = shown[Math.min(shown.length - 1, Math.max(0, place))];
    draw(i);
    cards[i].focus({ preventScroll: true });
    cards[i].scrollIntoView({ block: "nearest" });
  }

  // Decisions

  function decide(i, decision, movesOn) {
    const before = reviewed[i]?.decision;
    change(i, { decision: before === decision && !movesOn ? undefined : decision });
    redraw(i);
    if (!movesOn) return say(reviewed[i]?.decision ? `${DECISIONS[decision]}.` : "No decision.");
    const place = shown.indexOf(i) + 1;
    say(`${DECISIONS[decision]}. ${place < shown.length ? `Next: ${place + 1} of ${shown.length}.` : "This is the last sentence."}`);
    go(place);
    decided = i;
  }

  function undo(i) {
    change(i, { decision: undefined, note: undefined, tags: undefined });
    redraw(i);
    if (i !== current) go(shown.indexOf(i));
    say("Decision, note and marks are undone.");
  }

  /** Opens the note of a sentence. When it ends, the focus returns to where it was. */
  function openNote(i) {
    const card = cards[i];
    const before = current;
    card.querySelector(".own-note")?.remove();
    const area = element("textarea", { rows: 2, dir: "auto", id: `note-${i}` });
    area.value = reviewed[i]?.note ?? "";
    area.addEventListener("input", () => change(i, { note: area.value.trim() || undefined }));
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && !(event.key === "Enter" && event.ctrlKey)) return;
      redraw(i);
      cards[before].focus({ preventScroll: true });
    });
    const label = element("label", { for: area.id }, "Note ", element("span", { class: "hint" }, "(Escape ends it)"));
    card.querySelector(".actions").before(element("div", { class: "own-note" }, label, area));
    area.focus();
  }

  /** Gives the chosen word the next label. */
  function mark(i) {
    if (word < 0) return;
    const label = (labelOf(i, word) + 1) % labels.length;
    const tags = { ...reviewed[i]?.tags, [word]: label };
    if (label === predicted(i, word)) delete tags[word];
    change(i, { tags: Object.keys(tags).length ? tags : undefined });
    redraw(i);
    sayWord(i, word);
  }

  const ACTIONS = {
    accept: (i, movesOn) => decide(i, "accept", movesOn),
    reject: (i, movesOn) => decide(i, "reject", movesOn),
    note: openNote,
    mark,
    undo,
  };

  // Export

  /** A reviewed sentence, as `allennlp_nef.qe.review.decisions` describes it. */
  function recordOf(i) {
    const { name, source, target, words, hter, expected_bad_share } = sentences[i];
    const { decision = null, note = "", tags = {} } = reviewed[i];
    const slice = slicer(target);
    const label = (j) => (decision === "accept" ? (tags[j] ?? 0) : labelOf(i, j));
    const spans = (isScored(i) ? errorsOf(i, label) : []).map((error) => {
      const [start, end] = [words[error[0]][0], words[error.at(-1)][1]];
      return { start, end, text: slice(start, end), severity: data.severities[label(error[0])] };
    });
    const isKnown = decision === "accept" || (decision === "reject" && spans.length);
    return { file: fileOf(i), id: name, decision, note, predicted_hter: hter, expected_bad_share, source, target, spans: isKnown ? spans : null };
  }

  function save() {
    const numbers = Object.keys(reviewed).map(Number);
    if (!numbers.length) return say("There is nothing to export yet: no sentence has a decision or a note.");
    const lines = numbers.map((i) => `${JSON.stringify(recordOf(i))}\n`);
    const url = URL.createObjectURL(new Blob([lines.join("")], { type: "text/plain;charset=utf-8" }));
    element("a", { download: `${data.title}.decisions.jsonl`, href: url }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    say(`Exported ${plural(numbers.length, "sentence")}.`);
  }

  // Filters

  const field = (input, text) => element("div", {}, element("label", { for: input.id }, text), input);
  const select = (id, options) => element("select", { id }, ...Object.entries(options).map(([value, text]) => element("option", { value }, text)));
  const severities = labels.slice(1).filter((label) => label !== "BAD").reverse();
  const top = Math.max(0.1, Math.ceil(Math.max(0, ...scored.map((i) => sentences[i].risk)) * 10 - 1e-9) / 10); // of the risks
  const search = element("input", { type: "text", id: "search", dir: "auto", autocomplete: "off", spellcheck: "false" });
  const ofSeverity = Object.fromEntries(severities.map((label) => [label, `With ${label} errors`]));
  const errors = select("errors", { "": "All", any: "With errors", ...ofSeverity, check: "With findings of checks", none: "Without errors" });
  const decisions = select("decisions", { "": "All", open: "Open", accept: "Accepted", reject: "Rejected", note: "With a note" });
  const order = select("order", { risk: "By risk", file: "As in the file" });
  const least = element("input", { type: "number", id: "least", min: 0, max: top, step: "any" });
  const filters = [search, errors, decisions, least];
  const texts = sentences.map(({ source, target }) => `${source}\n${target}`.toLowerCase());

  function passes(i) {
    const { decision, note } = reviewed[i] ?? {};
    if (least.value !== "" && !(sentences[i].risk >= least.valueAsNumber)) return false;
    if (!texts[i].includes(search.value.trim().toLowerCase())) return false;
    if (decisions.value && !{ open: !decision, note }[decisions.value] && decision !== decisions.value) return false;
    if (!errors.value) return true;
    if (errors.value === "check") return Boolean(sentences[i].checks?.length);
    const marked = (sentences[i].bad ?? []).map((_, j) => labelOf(i, j)).filter(Boolean);
    if (errors.value === "none") return isScored(i) && marked.length === 0;
    return marked.some((label) => errors.value === "any" || labels[label] === errors.value);
  }

  function filter() {
    shown = (order.value === "risk" ? data.order : all).filter(passes);
    if (current >= 0 && !shown.includes(current)) [current, word] = [-1, -1];
    decided = -1;
    shown.forEach((i, place) => {
      cards[i].setAttribute("aria-posinset", place + 1);
      cards[i].setAttribute("aria-setsize", shown.length);
      cards[i].classList.toggle("current", i === current);
      cards[i].tabIndex = i === current || (current < 0 && place === 0) ? 0 : -1;
    });
    const chunks = [];
    for (let k = 0; k < shown.length; k += CHUNK) chunks.push(element("div", { class: "chunk" }, ...shown.slice(k, k + CHUNK).map((i) => cards[i])));
    list.replaceChildren(...(chunks.length ? chunks : [element("p", { class: "note" }, "No sentence passes the filters.")]));
    clearFilters.disabled = filters.every((input) => input.value === "");
    showProgress();
  }

  const clearFilters = element("button", { type: "button" }, "Clear filters");
  clearFilters.addEventListener("click", () => {
    for (const input of filters) input.value = "";
    search.focus(); // a disabled button loses the focus
    filter();
  });
  for (const input of [...filters, order]) {
    input.addEventListener("input", () => {
      filter();
      say(`${plural(shown.length, "sentence")} shown.`);
    });
  }

  // The threshold

  const numWords = scored.reduce((sum, i) => sum + sentences[i].bad.length, 0);
  function flagged() {
    const counts = scored.map((i) => sentences[i].bad.filter((_, j) => predicted(i, j)).length);
    const ofSentences = Quality.percent(counts.filter(Boolean).length / scored.length);
    const ofWords = Quality.percent(counts.reduce((a, b) => a + b, 0) / numWords);
    return `It flags ${ofSentences} of the sentences and ${ofWords} of the words`;
  }

  let frame = 0;
  function moveThreshold(value) {
    threshold = value;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      redrawAll();
      if (errors.value) filter();
    });
  }
  const HINT =
    "The errors are those of the answers. If you move the slider, words are marked by their probabilities of BAD instead: those that reach its threshold. The number of an error is the mean of its words.";
  const slider = Quality.thresholdOf(data.threshold, data.threshold_from, flagged, moveThreshold, HINT);

  // The page

  const done = element("p", { class: "done" });
  function showProgress() {
    const made = Object.values(reviewed).map(({ decision }) => decision);
    const count = (decision) => made.filter((own) => own === decision).length;
    const part = shown.length === sentences.length ? "" : `${shown.length.toLocaleString("en")} of `;
    done.textContent = `${part}${plural(sentences.length, "sentence")} · ${count("accept")} accepted · ${count("reject")} rejected`;
  }

  const list = element("div", { role: "feed", id: "sentences", "aria-label": "Sentences" });
  const numberOf = (node) => Number(node.closest(".card")?.dataset.sentence ?? -1);

  list.addEventListener("focusin", ({ target }) => numberOf(target) >= 0 && choose(numberOf(target)));
  list.addEventListener("click", ({ target }) => {
    const i = numberOf(target);
    decided = -1;
    const { action } = target.dataset;
    if (action) return ACTIONS[action](i, false);
    const node = target.closest(".target-text .word");
    if (node) chooseWord(i, Number(node.dataset.word));
  });
  for (const type of ["pointerover", "pointerout"]) {
    list.addEventListener(type, ({ target }) => {
      const i = numberOf(target);
      if (!drawn.has(i)) return;
      const node = type === "pointerover" ? target.closest(".word") : null;
      if (!node) return light(i, i === current ? word : -1, "target");
      const [side, j] = [node.closest(".target-text") ? "target" : "source", Number(node.dataset.word)];
      light(i, j, side);
      if (side === "target") node.title = capital(about(i, j));
    });
  }

  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea")) return;
    const isInCard = numberOf(target) >= 0;
    const i = isInCard ? numberOf(target) : current;
    const step = { n: 1, j: 1, p: -1, k: -1 }[key];
    const action = { a: "accept", r: "reject", m: "note", u: "undo", " ": "mark" }[key];
    const isRtl = isInCard && getComputedStyle(cards[i].querySelector(".target-text")).direction === "rtl";
    const move = { ArrowRight: 1, ArrowLeft: -1 }[key] * (isRtl ? -1 : 1);
    const last = decided;
    if (step || action || move) decided = -1;
    if (step) go(i < 0 ? 0 : shown.indexOf(i) + step);
    else if (!isInCard || (target !== cards[i] && (key === " " || move))) return; // a button has the focus
    else if (action) ACTIONS[action](last >= 0 && "mu".includes(key) ? last : i, true);
    else if (move && isScored(i)) chooseWord(i, word < 0 ? 0 : Math.min(sentences[i].bad.length - 1, Math.max(0, word + move)));
    else return;
    event.preventDefault();
  });

  const languages = [data.source_language, data.target_language].filter(Boolean).join(" to ");
  const introduction = `Translations to review${languages && `, ${languages}`}${data.model && `, judged by ${data.model}`}. Your decisions stay in this browser; export them when you are done.`;
  const panel = element(
    "div",
    { class: "panel", role: "search", "aria-label": "Filters" },
    ...[field(search, "Text"), field(errors, "Errors"), field(decisions, "Decisions")],
    ...[field(least, "Risk from"), field(order, "Order"), clearFilters],
  );
  const keys = Object.entries(KEYS).flatMap(([key, text]) => [element("span", {}, element("kbd", {}, key), ` ${text}`), " "]);
  const button = element("button", { type: "button" }, "Export decisions");
  button.addEventListener("click", save);
  const bar = element("div", { class: "review-bar" }, done, status, element("div", { class: "exports" }, button));
  document.body.append(
    element("header", {}, element("h1", {}, data.title), element("p", {}, introduction)),
    element("main", { class: "review" }, panel, slider, element("p", { class: "keys" }, ...keys), bar, list),
  );
  filter();
})();
