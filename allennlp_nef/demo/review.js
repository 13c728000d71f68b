// The report that `allennlp-nef review` writes: sentences with their errors, and what a reviewer decides about them.
"use strict";

(() => {
  const CHUNK = 4; // cards that are drawn, and removed again, together
  const BINS = 20;
  const NO_BREAK = "\u00a0"; // a blank at which no line ends
  const DECISIONS = { accept: "Accepted", reject: "Rejected" };
  const KEYS = [
    ["n", "next"],
    ["p", "previous"],
    ["a", "accept"],
    ["r", "reject"],
    ["m", "note"],
    ["u", "undo"],
    ["← →", "choose a word"],
    ["Space", "mark or unmark it"],
  ];

  const data = JSON.parse(document.getElementById("page-data").textContent);
  const { labels, sentences } = data;
  const STORE = `allennlp_nef review ${data.key}`;
  const isScored = (i) => sentences[i].score !== undefined;
  const scored = sentences.map((_, i) => i).filter(isScored);
  const count = (number) => number.toLocaleString("en");
  const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

  // What the reviewer has done: by the number of a sentence its decision, its note, and the words that were marked anew.
  let reviewed = {};
  let threshold = null; // null: the tags are the model's
  let shown = []; // the numbers of the sentences that pass the filters, in order
  let current = -1; // the number of the sentence that has, or had, the focus
  let word = -1; // its chosen word
  const cards = new Map(); // the cards that are drawn, by the number of their sentence

  // Progress

  const status = element("p", { role: "status", class: "state" });
  const say = (text) => {
    status.textContent = text;
  };

  try {
    reviewed = JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch (error) {
    console.warn(error);
  }

  function keep() {
    try {
      localStorage.setItem(STORE, JSON.stringify(reviewed));
    } catch {
      say("This browser does not keep the progress. Export it before the page is closed.");
    }
  }

  /** What was done to a sentence, to be changed. */
  const own = (i) => (reviewed[i] ??= {});

  function forget(i) {
    const { decision, note, tags } = own(i);
    if (!decision && !note && !tags) delete reviewed[i];
    keep();
  }

  // Words and errors

  /** What cuts a text at characters, as Python counts them. */
  function slicer(text) {
    const characters = Array.from(text);
    return characters.length === text.length ? (from, to) => text.slice(from, to) : (from, to) => characters.slice(from, to).join("");
  }

  /** The number of the label of a word, as the model and the threshold give it. */
  function predicted(i, j) {
    const { bad, tags } = sentences[i];
    if (threshold === null) return tags[j];
    return bad[j] >= threshold ? tags[j] || labels.length - 1 : 0;
  }

  const labelOf = (i, j) => reviewed[i]?.tags?.[j] ?? predicted(i, j);

  /** The errors of words with labels: `[start, end, label, probability]`; adjacent words of one label are one error. */
  function join(i, label) {
    const { words, bad } = sentences[i];
    const spans = [];
    let last = -1;
    bad.forEach((probability, j) => {
      const [start, end] = [words[2 * j], words[2 * j + 1]];
      const tag = label(j);
      if (!tag) return;
      const span = spans[spans.length - 1];
      if (span && last === j - 1 && span[2] === tag && start < end) {
        span[1] = end;
        span[3].push(probability);
      } else spans.push([start, end, tag, [probability]]);
      last = j;
    });
    return spans.map(([start, end, tag, all]) => [start, end, tag, all.reduce((a, b) => a + b) / all.length]);
  }

  function spansOf(i) {
    if (!isScored(i)) return [];
    if (threshold === null && !reviewed[i]?.tags) return sentences[i].spans;
    return join(i, (j) => labelOf(i, j));
  }

  const alignedWith = (i, j, side) => {
    const { links } = sentences[i];
    const words = [];
    for (let k = 0; k < links.length; k += 2) if (links[k + (side === "target")] === j) words.push(links[k + (side !== "target")]);
    return words;
  };

  /** A word of a sentence; <EOS> has no characters. */
  function wordOf(i, j, side) {
    const places = sentences[i][side === "target" ? "words" : "source_words"];
    return slicer(sentences[i][side])(places[2 * j], places[2 * j + 1]) || "<EOS>";
  }

  /** A text whose direction does not change that of the text around it. */
  const isolated = (text) => `\u2068${text}\u2069`;

  /** What is known of a word, in words. */
  function about(i, j) {
    const { bad } = sentences[i];
    const tag = labels[labelOf(i, j)];
    const others = alignedWith(i, j, "target").map((k) => wordOf(i, k, "source"));
    return `${tag}, probability of BAD ${decimals(bad[j])}, ${others.length ? `aligned with ${isolated(others.join(" "))}` : "not aligned"}`;
  }

  // A card

  function piece(text, j) {
    return element("span", { class: "word", "data-word": j }, text);
  }

  function sourceOf(i) {
    const { source, source_words: places = [] } = sentences[i];
    const slice = slicer(source);
    const nodes = [];
    let last = 0;
    for (let k = 0; k < places.length; k += 2) {
      nodes.push(slice(last, places[k]), piece(slice(places[k], places[k + 1]), k / 2));
      last = places[k + 1];
    }
    return [...nodes, slice(last)];
  }

  function markOf([, , label, probability]) {
    const mark = element("mark", { class: `bad ${labels[label]}` });
    mark.style.setProperty("--tag", data.colors[labels[label]]);
    mark.label = element("span", { class: "severity", dir: "ltr" }, `${labels[label]} ${decimals(probability)}`);
    return mark;
  }

  /** The text of a translation with its words and errors. Errors need not begin and end where words do. */
  function targetOf(i) {
    const { target, words = [] } = sentences[i];
    const spans = spansOf(i);
    const slice = slicer(target);
    const nodes = [];
    const length = Array.from(target).length;
    const cuts = new Set([0, length]);
    for (const place of words) cuts.add(place);
    for (const [start, end] of spans) cuts.add(start).add(end);
    const places = [...cuts].sort((a, b) => a - b);
    const empty = (j) => words[2 * j] === words[2 * j + 1];
    let j = 0;
    let n = 0;
    let mark = null;
    places.forEach((start, k) => {
      if (mark && spans[n][1] <= start) {
        mark.append(NO_BREAK, mark.label);
        mark = null;
        n += 1;
      }
      while (n < spans.length && spans[n][1] <= start && spans[n][0] === spans[n][1]) {
        const missing = markOf(spans[n]);
        const at = words.findIndex((place, k) => k % 2 === 0 && place === start && empty(k / 2)); // that of <EOS>, if it has a tag
        missing.append(at < 0 ? "missing" : piece("missing", at / 2), NO_BREAK, missing.label);
        missing.classList.add("missing");
        nodes.push(missing);
        n += 1;
      }
      const end = places[k + 1];
      if (end === undefined) return;
      if (!mark && n < spans.length && spans[n][0] <= start) {
        mark = markOf(spans[n]);
        nodes.push(mark);
      }
      while (2 * j < words.length && words[2 * j + 1] <= start) j += 1;
      const node = words[2 * j] <= start ? piece(slice(start, end), j) : slice(start, end);
      if (mark) mark.append(node);
      else nodes.push(node);
    });
    return nodes;
  }

  function side(name, i) {
    const language = data[`${name}_language`];
    const text = element("p", { class: `text ${name}-text`, dir: "auto", ...(language ? { lang: language } : {}) });
    text.append(...(name === "source" ? sourceOf(i) : targetOf(i)));
    if (!sentences[i][name]) text.append(text.hasChildNodes() ? " " : "", element("span", { class: "hint" }, "none"));
    return element("div", { class: "side" }, element("h4", {}, name === "source" ? "Source" : "Translation"), text);
  }

  function button(action, text, attributes = {}) {
    return element("button", { type: "button", "data-action": action, tabindex: "-1", ...attributes }, text);
  }

  function partsOf(i) {
    const sentence = sentences[i];
    const { decision, note, tags } = reviewed[i] ?? {};
    const head = element("div", { class: "card-head" }, element("h3", { id: `name-${i}` }, capital(sentence.name)));
    if (isScored(i)) {
      const score = element("span", { class: "score" }, `score ${decimals(sentence.score)}`);
      score.style.setProperty("--share", Math.min(1, sentence.score / top));
      head.append(score);
      const modelDecision = Quality.decisionOf(sentence);
      if (modelDecision) head.append(element("span", { class: "error-free" }, modelDecision));
    } else head.append(element("span", { class: "note" }, `No score: ${sentence.error}`));
    if (decision) head.append(element("span", { class: `decision ${decision}` }, DECISIONS[decision]));
    if (tags) head.append(element("span", { class: "decision" }, "Marks changed"));
    const actions = element("div", { class: "actions" });
    for (const name of Object.keys(DECISIONS)) actions.append(button(name, capital(name), { "aria-pressed": decision === name }));
    actions.append(button("note", note ? "Edit the note" : "Note"));
    if (isScored(i)) {
      const mark = button("mark", "Mark the word");
      mark.hidden = i !== current || word < 0;
      actions.append(mark);
    }
    const parts = [head, element("div", { class: "pair" }, side("source", i), side("target", i))];
    if (note) parts.push(element("p", { class: "own-note", dir: "auto" }, note));
    return [...parts, actions];
  }

  function cardOf(i) {
    const card = element("article", { class: "card", tabindex: "-1", "data-sentence": i, "aria-labelledby": `name-${i}` });
    card.setAttribute("aria-posinset", places[i] + 1);
    card.setAttribute("aria-setsize", shown.length);
    card.append(...partsOf(i));
    cards.set(i, card);
    card.classList.toggle("current", i === current);
    if (i === current && word >= 0) light(card, word, "target");
    if (i === current || (current < 0 && places[i] === 0)) reach(card, true);
    return card;
  }

  /** Whether the tab key stops at a card and its buttons. It does at one card only. */
  function reach(card, isReached) {
    for (const node of [card, ...card.querySelectorAll("button")]) node.tabIndex = isReached ? 0 : -1;
  }

  /** Draws a card again. The focus stays where it was. */
  function update(i) {
    const card = cards.get(i);
    if (!card) return;
    const action = card.contains(document.activeElement) && document.activeElement.dataset.action;
    card.replaceChildren(...partsOf(i));
    card.classList.toggle("decided", Boolean(reviewed[i]?.decision));
    reach(card, card.tabIndex === 0);
    if (i === current) light(card, word, "target");
    if (action) (card.querySelector(`[data-action="${action}"]:not([hidden])`) ?? card).focus({ preventScroll: true });
  }

  /** Lights up a word of a card, and the words of the other side that are aligned with it; none for -1. */
  function light(card, j, name) {
    for (const node of card.querySelectorAll(".lit, .chosen")) node.classList.remove("lit", "chosen");
    if (j < 0) return;
    const i = Number(card.dataset.sentence);
    const other = name === "target" ? "source" : "target";
    for (const node of card.querySelectorAll(`.${name}-text [data-word="${j}"]`)) node.classList.add("chosen");
    for (const k of alignedWith(i, j, name)) {
      for (const node of card.querySelectorAll(`.${other}-text [data-word="${k}"]`)) node.classList.add("lit");
    }
  }

  // The list: chunks of cards, of which only those near the window are drawn

  const list = element("div", { role: "feed", id: "sentences", "aria-label": "Sentences" });
  const places = new Int32Array(sentences.length).fill(-1); // of each sentence in what is shown
  let chunks = [];
  const near = new Set(); // chunks to be drawn
  let drawing = 0;
  const observer = new IntersectionObserver(
    (entries) => {
      // Heights first: they are known now, and not after a card was drawn.
      for (const { target, isIntersecting, boundingClientRect } of entries) {
        if (isIntersecting) near.add(target);
        else if (target.isConnected) clear(target, boundingClientRect.height);
      }
      for (const { target, isIntersecting, boundingClientRect } of entries) {
        if (isIntersecting && boundingClientRect.bottom > 0 && boundingClientRect.top < innerHeight) fill(target);
      }
      drawNext();
    },
    { rootMargin: "600px 0px" },
  );

  /** Draws what is near the window, but not in it: one chunk a frame. */
  function drawNext() {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => {
      const [chunk] = near; // none, where a filter came in between
      if (!chunk) return;
      fill(chunk);
      drawNext();
    });
  }

  function fill(chunk) {
    near.delete(chunk);
    if (chunk.firstChild) return;
    chunk.append(...chunk.sentences.map(cardOf));
    for (const i of chunk.sentences) cards.get(i).classList.toggle("decided", Boolean(reviewed[i]?.decision));
    chunk.style.height = "";
  }

  function clear(chunk, height) {
    near.delete(chunk);
    if (!chunk.firstChild || chunk.contains(document.activeElement)) return;
    chunk.style.height = `${height}px`;
    chunk.replaceChildren();
    for (const i of chunk.sentences) cards.delete(i);
  }

  /** About how many pixels a card is high that is not drawn. */
  function heightOf(i, width) {
    const { source, target } = sentences[i];
    const lines = (text) => Math.max(1, Math.ceil((text.length * 8.5) / (width > 700 ? width / 2 - 40 : width)));
    return 145 + 27 * (width > 700 ? Math.max(lines(source), lines(target)) : 1 + lines(source) + lines(target));
  }

  function build() {
    observer.disconnect();
    near.clear();
    cards.clear();
    places.fill(-1);
    shown.forEach((i, place) => (places[i] = place));
    if (current >= 0 && places[current] < 0) [current, word] = [-1, -1];
    const width = list.clientWidth || 700;
    chunks = [];
    for (let start = 0; start < shown.length; start += CHUNK) {
      const chunk = element("div", { class: "chunk" });
      chunk.sentences = shown.slice(start, start + CHUNK);
      chunk.style.height = `${chunk.sentences.reduce((sum, i) => sum + heightOf(i, width), 0)}px`;
      chunks.push(chunk);
    }
    list.replaceChildren(...(chunks.length ? chunks : [element("p", { class: "note" }, "No sentence passes the filters.")]));
    chunks.forEach((chunk) => observer.observe(chunk));
  }

  /** Makes a sentence the current one. */
  function choose(i) {
    if (i === current) return;
    const before = cards.get(current) ?? list.querySelector('.card[tabindex="0"]');
    const old = current;
    [current, word] = [i, -1];
    if (before) {
      reach(before, false);
      light(before, -1);
      const mark = before.querySelector('[data-action="mark"]');
      if (mark) mark.hidden = true;
    }
    cards.get(old)?.classList.remove("current");
    reach(cards.get(i), true);
    cards.get(i).classList.add("current");
  }

  function go(place) {
    if (!shown.length) return;
    const to = Math.min(shown.length - 1, Math.max(0, place));
    fill(chunks[Math.floor(to / CHUNK)]);
    const card = cards.get(shown[to]);
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }

  // Decisions

  function decide(i, decision, moves) {
    const before = reviewed[i]?.decision;
    own(i).decision = before === decision && !moves ? undefined : decision;
    forget(i);
    update(i);
    progress();
    if (!moves) say(reviewed[i]?.decision ? `${DECISIONS[decision]}.` : "No decision.");
    else {
      const isLast = places[i] === shown.length - 1;
      say(`${DECISIONS[decision]}. ${isLast ? "This is the last sentence." : `Next: ${places[i] + 2} of ${count(shown.length)}.`}`);
      go(places[i] + 1);
    }
  }

  function undo(i) {
    delete reviewed[i];
    keep();
    update(i);
    progress();
    say("Decision, note and marks are undone.");
  }

  function openNote(i) {
    const card = cards.get(i);
    if (card.querySelector("textarea")) return;
    const area = element("textarea", { rows: 2, dir: "auto", id: `note-${i}` });
    area.value = reviewed[i]?.note ?? "";
    const label = element("label", { for: `note-${i}` }, "Note ", element("span", { class: "hint" }, "(Escape ends it)"));
    card.querySelector(".own-note")?.remove();
    card.querySelector(".actions").before(element("div", { class: "own-note" }, label, area));
    area.addEventListener("input", () => {
      own(i).note = area.value.trim() || undefined;
      forget(i);
    });
    area.addEventListener("blur", () => {
      if (!area.isConnected) return;
      progress();
      const close = () => setTimeout(() => !card.querySelector("textarea:focus") && update(i));
      // A button that is pressed would lose the click if its card were drawn again.
      if (document.querySelector("button:active")) addEventListener("pointerup", close, { once: true });
      else close();
    });
    area.focus();
  }

  function chooseWord(i, j) {
    word = j;
    const card = cards.get(i);
    light(card, j, "target");
    card.querySelector('[data-action="mark"]').hidden = j < 0;
    if (j >= 0) say(`${isolated(wordOf(i, j, "target"))}: ${about(i, j)}.`);
  }

  /** Gives the chosen word the next label. */
  function mark(i, j) {
    const tags = (own(i).tags ??= {});
    const label = (labelOf(i, j) + 1) % labels.length;
    if (label === predicted(i, j)) delete tags[j];
    else tags[j] = label;
    if (!Object.keys(tags).length) delete own(i).tags;
    forget(i);
    update(i);
    say(`${isolated(wordOf(i, j, "target"))}: ${about(i, j)}.`);
  }

  const ACTIONS = {
    accept: (i, moves) => decide(i, "accept", moves),
    reject: (i, moves) => decide(i, "reject", moves),
    note: openNote,
    mark: (i) => word >= 0 && mark(i, word),
    undo,
  };

  // Export

  /** The labels of a sentence as they train a model: an accepted one has the errors alone that the reviewer marked. */
  const finalLabels = (i) =>
    sentences[i].bad.map((_, j) => (reviewed[i].decision === "accept" ? reviewed[i].tags?.[j] ?? 0 : labelOf(i, j)));

  function record(i) {
    const { name, source, target, score = null } = sentences[i];
    const { decision = null, note = "" } = reviewed[i];
    const facts = { id: name, decision, note, score, source, target };
    if (!isScored(i)) return { ...facts, spans: [] };
    const { bad, links, source_words: places } = sentences[i];
    const final = finalLabels(i);
    const slice = slicer(target);
    const severity = (label) => (labels[label] === "BAD" ? "major" : labels[label]);
    const isOwn = decision === "accept" || threshold !== null || reviewed[i].tags;
    const spans = isOwn ? join(i, (j) => final[j]) : spansOf(i);
    return {
      ...facts,
      source_tokens: Array.from({ length: places.length / 2 }, (_, k) => wordOf(i, k, "source")),
      tokens: bad.map((_, j) => wordOf(i, j, "target")),
      tags: final.map((label) => labels[label]),
      alignments: Array.from({ length: links.length / 2 }, (_, k) => [links[2 * k], links[2 * k + 1]]),
      threshold: threshold ?? data.threshold,
      spans: spans.map(([start, end, label]) => ({ start, end, text: slice(start, end), severity: severity(label) })),
    };
  }

  const COLUMNS = ["id", "decision", "note", "score", "source", "target", "start_ids", "end_ids", "errors"];

  function row(i) {
    const { spans, ...facts } = record(i);
    const column = (name, none) => spans.map((span) => span[name]).join(" ") || none;
    const cells = { ...facts, start_ids: column("start", "-1"), end_ids: column("end", "-1"), errors: column("severity", "no-error") };
    return COLUMNS.map((name) => String(cells[name] ?? "").replace(/[\t\r\n]/g, " ")).join("\t");
  }

  const EXPORTS = {
    tsv: ["TSV", (numbers) => [COLUMNS.join("\t"), ...numbers.map(row)]],
    jsonl: ["JSON lines", (numbers) => numbers.map((i) => JSON.stringify(record(i)))],
  };

  function save(ending) {
    const numbers = Object.keys(reviewed).map(Number);
    if (!numbers.length) return say("There is nothing to export yet: no sentence has a decision or a note.");
    const text = EXPORTS[ending][1](numbers).map((line) => `${line}\n`).join("");
    const link = element("a", { download: `${data.title}.decisions.${ending}` });
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say(`Exported ${plural(numbers.length, "sentence")}.`);
  }

  // Filters

  const field = (id, text, input) => element("div", {}, element("label", { for: id }, text), input);
  const select = (id, options) => element("select", { id }, ...options.map(([value, text]) => element("option", { value }, text)));
  const severities = labels.slice(1).filter((label) => label !== "BAD");
  const search = element("input", { type: "text", id: "search", dir: "auto", autocomplete: "off", spellcheck: "false" });
  const errors = select("errors", [
    ["", "All"],
    ["any", "With errors"],
    ...severities.map((label) => [label, `With ${label} errors`]).reverse(),
    ["none", "Without errors"],
  ]);
  const decisions = select("decisions", [
    ["", "All"],
    ["open", "Open"],
    ["accept", "Accepted"],
    ["reject", "Rejected"],
    ["note", "With a note"],
  ]);
  const reviewer = select("reviewer", [
    ["", "All"],
    ["needed", "Needed"],
    ["not needed", "Not needed"],
  ]);
  const order = select("order", [
    ["risk", "By score"],
    ["file", "As in the file"],
  ]);
  const highestScore = scored.reduce((most, i) => Math.max(most, sentences[i].score), 0);
  const top = Math.max(0.1, Math.ceil(highestScore * 10 - 1e-9) / 10);
  const limit = (id) => element("input", { type: "number", id, min: 0, max: top, step: "any", inputmode: "decimal" });
  const [from, to] = [limit("from"), limit("to")];
  const filters = [search, errors, decisions, reviewer, from, to];
  const texts = sentences.map(({ source, target }) => `${source}\n${target}`.toLowerCase());
  const byRisk = sentences.map((_, i) => i).sort((a, b) => (sentences[b].score ?? -1) - (sentences[a].score ?? -1) || a - b);

  const limitsOf = () => [from, to].map((input) => (input.value === "" || Number.isNaN(input.valueAsNumber) ? null : input.valueAsNumber));

  const hasErrors = {
    "": () => true,
    any: (i) => spansOf(i).length > 0,
    none: (i) => isScored(i) && spansOf(i).length === 0,
  };
  const isDecided = {
    "": () => true,
    open: (i) => !reviewed[i]?.decision,
    note: (i) => Boolean(reviewed[i]?.note),
  };

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    const [least, most] = limitsOf();
    const wantedErrors = hasErrors[errors.value] ?? ((i) => spansOf(i).some((span) => labels[span[2]] === errors.value));
    const wantedDecision = isDecided[decisions.value] ?? ((i) => reviewed[i]?.decision === decisions.value);
    const numbers = order.value === "risk" ? byRisk : sentences.map((_, i) => i);
    shown = numbers.filter((i) => {
      const { score } = sentences[i];
      if (least !== null && !(score >= least)) return false;
      if (most !== null && !(score <= most)) return false;
      if (reviewer.value && (reviewer.value === "not needed") !== Boolean(sentences[i].accept)) return false;
      return (!wanted || texts[i].includes(wanted)) && wantedErrors(i) && wantedDecision(i);
    });
    clearFilters.disabled = filters.every((input) => input.value === "");
    build();
    drawBars();
    progress();
  }

  const clearFilters = element("button", { type: "button" }, "Clear filters");
  clearFilters.addEventListener("click", () => {
    for (const input of filters) input.value = "";
    search.focus(); // a disabled button loses the focus
    filter();
  });
  let waiting = 0;
  for (const input of [...filters, order]) {
    input.addEventListener(input.tagName === "SELECT" ? "change" : "input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        filter();
        say(`${plural(shown.length, "sentence")} shown.`);
      }, input.tagName === "SELECT" ? 0 : 150);
    });
  }

  // The histogram of scores

  const binOf = (i) => Math.min(BINS - 1, Math.floor((sentences[i].score / top) * BINS));
  const countsOf = (numbers) => {
    const counts = Array(BINS).fill(0);
    for (const i of numbers) if (isScored(i)) counts[binOf(i)] += 1;
    return counts;
  };
  const edge = (bin) => ((bin * top) / BINS).toFixed(3); // exact, as top has one decimal
  const all = countsOf(scored);
  const bars = all.map((number, bin) => {
    const bar = element("div", { class: "bar" });
    bar.title = `${edge(bin)} to ${edge(bin + 1)}: ${plural(number, "sentence")}`;
    bar.style.setProperty("--all", number / Math.max(...all));
    bar.addEventListener("click", () => {
      [from.value, to.value] = [edge(bin), edge(bin + 1)];
      filter();
    });
    return bar;
  });
  const byScore = scored.map((i) => sentences[i].score).sort((a, b) => a - b);
  const summary = `Histogram of the scores: from ${decimals(byScore[0])} to ${decimals(byScore[byScore.length - 1])}, half of them above ${decimals(byScore[byScore.length >> 1])}.`;
  const histogram = element(
    "div",
    { class: "histogram" },
    element("div", { class: "bars", role: "img", "aria-label": summary }, ...bars),
    element("div", { class: "axis", "aria-hidden": "true" }, element("span", {}, "0"), element("span", {}, "score, higher is worse"), element("span", {}, String(top))),
  );

  function drawBars() {
    countsOf(shown).forEach((number, bin) => bars[bin].style.setProperty("--part", number / (all[bin] || 1)));
  }

  // The threshold

  const highest = Float64Array.from(scored, (i) => Math.max(...sentences[i].bad)).sort();
  const probabilities = Float64Array.from(scored.flatMap((i) => sentences[i].bad)).sort();

  function shareFrom(sorted, value) {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] >= value) high = middle;
      else low = middle + 1;
    }
    return (sorted.length - low) / sorted.length;
  }

  const flagged = scored.map((i) => sentences[i].tags.filter((tag) => tag > 0).length);
  const modelShares = [
    flagged.filter((number) => number > 0).length / scored.length,
    flagged.reduce((a, b) => a + b, 0) / probabilities.length,
  ];

  function flaggedText() {
    const [ofSentences, ofWords] = threshold === null ? modelShares : [highest, probabilities].map((sorted) => shareFrom(sorted, threshold));
    return `It flags ${Quality.percent(ofSentences)} of the sentences and ${Quality.percent(ofWords)} of the words`;
  }

  const HINT =
    "A word is marked from the threshold on, which its probability of BAD has to reach. The number of an error is the mean of its words.";
  let frame = 0;
  const slider = Quality.thresholdOf(data.threshold, flaggedText, (value) => {
    threshold = value;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => (errors.value ? filter() : [...cards.keys()].forEach(update)));
  }, HINT);

  // Progress and the page

  const done = element("p", { class: "done" });

  function progress() {
    const numbers = Object.values(reviewed);
    const ofKind = (kind) => numbers.filter(({ decision }) => decision === kind).length;
    const part = shown.length === sentences.length ? "" : `${count(shown.length)} of `;
    done.textContent = `${part}${plural(sentences.length, "sentence")} · ${count(ofKind("accept"))} accepted · ${count(ofKind("reject"))} rejected`;
  }

  const exportButtons = Object.entries(EXPORTS).map(([ending, [name]]) => {
    const node = element("button", { type: "button" }, `Export ${name}`);
    node.addEventListener("click", () => save(ending));
    return node;
  });
  const keys = element("p", { class: "keys" }, "Keys: ");
  for (const [key, text] of KEYS) keys.append(element("span", {}, element("kbd", {}, key), ` ${text}`), " ");

  const cardAt = (event) => event.target.closest?.(".card");

  list.addEventListener("focusin", (event) => cardAt(event) && choose(Number(cardAt(event).dataset.sentence)));
  list.addEventListener("click", (event) => {
    const card = cardAt(event);
    if (!card) return;
    const i = Number(card.dataset.sentence);
    const { action } = event.target.dataset;
    if (action) return ACTIONS[action](i, false);
    const node = event.target.closest(".target-text .word");
    if (node && isScored(i)) chooseWord(i, Number(node.dataset.word));
  });
  list.addEventListener("pointerover", (event) => {
    const node = event.target.closest(".word");
    const card = cardAt(event);
    if (!card) return;
    const i = Number(card.dataset.sentence);
    if (!node) return light(card, i === current ? word : -1, "target");
    const name = node.closest(".target-text") ? "target" : "source";
    const j = Number(node.dataset.word);
    light(card, j, name);
    if (name === "target") node.title = capital(about(i, j));
  });
  list.addEventListener("pointerout", (event) => {
    const card = cardAt(event);
    if (card && !card.contains(event.relatedTarget)) light(card, Number(card.dataset.sentence) === current ? word : -1, "target");
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key !== "Enter") return;
    if (event.metaKey || event.altKey) return;
    const { target, key } = event;
    const card = target.closest?.(".card");
    const i = card ? Number(card.dataset.sentence) : current;
    if (target.tagName === "TEXTAREA" && card) {
      if (key === "Escape" || (key === "Enter" && event.ctrlKey)) card.focus({ preventScroll: true });
      return;
    }
    if (target.matches("input, select")) return;
    const step = { n: 1, j: 1, p: -1, k: -1 }[key];
    if (step) {
      event.preventDefault();
      return go(i < 0 ? 0 : places[i] + step);
    }
    if (!card) return;
    const action = { a: "accept", r: "reject", m: "note", u: "undo" }[key];
    if (action) {
      event.preventDefault();
      return ACTIONS[action](i, true);
    }
    if (target !== card || !isScored(i)) return;
    if (key === " " && word >= 0) {
      event.preventDefault();
      return mark(i, word);
    }
    const isRtl = getComputedStyle(card.querySelector(".target-text")).direction === "rtl";
    const move = { ArrowRight: 1, ArrowLeft: -1 }[key] * (isRtl ? -1 : 1);
    if (move) {
      event.preventDefault();
      const last = sentences[i].bad.length - 1;
      chooseWord(i, word < 0 ? 0 : Math.min(last, Math.max(0, word + move)));
    }
  });

  const languages = [data.source_language, data.target_language].filter(Boolean).join(" to ");
  const heading = element("header", {}, element("h1", {}, data.title));
  const introduction = element("p", {}, `Translations to review${languages && `, ${languages}`}. The decisions are kept in this browser; export them when you are done.`);
  heading.append(introduction);
  const modelDecides = scored.some((i) => sentences[i].accept !== undefined);
  if (modelDecides) {
    const number = scored.filter((i) => sentences[i].accept).length;
    const share = Quality.percent(number / scored.length);
    introduction.append(` According to the model, ${plural(number, "sentence")} (${share}) can do without a reviewer.`);
  }
  const panel = element(
    "div",
    { class: "panel", role: "search", "aria-label": "Filters" },
    field("search", "Text", search),
    field("errors", "Errors", errors),
    field("decisions", "Decisions", decisions),
    ...(modelDecides ? [field("reviewer", "Reviewer", reviewer)] : []),
    field("order", "Order", order),
    element("div", { class: "limits" }, field("from", "Score from", from), field("to", "to", to)),
    clearFilters,
  );
  const bar = element("div", { class: "review-bar" }, done, status, element("div", { class: "exports" }, ...exportButtons));
  document.body.append(heading, element("main", { class: "review" }, histogram, panel, slider, keys, bar, list));
  filter();
})();
