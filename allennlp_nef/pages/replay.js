// Shows the answer of a tagger, and replays its steps.
"use strict";

const Replay = (() => {
  const MAX_STEP = 800; // milliseconds for a step
  const MAX_REPLAY = 12000; // milliseconds for all steps
  const ALIKE = 0.05; // rows are alike if they differ by less in every column

  // The chunk of each word, as conlleval finds them: whether a chunk covers the word, and whether it ends there.
  function chunksOf(tags) {
    const parts = tags.map((tag) => (tag === "O" ? ["O", ""] : [tag[0], tag.slice(2)]));
    const begins = parts.map(([prefix, type], i) => {
      const [before, typeBefore] = parts[i - 1] ?? ["O", ""];
      return prefix !== "O" && ("BUS".includes(prefix) || "OLEUS".includes(before) || typeBefore !== type);
    });
    return parts.map(([prefix], i) => ({
      inside: prefix !== "O",
      ends: prefix !== "O" && ((parts[i + 1]?.[0] ?? "O") === "O" || begins[i + 1]),
    }));
  }

  /**
   * What to show after each step; one frame with the answer if there is no trace. `given` are the model's tags, `tags` the
   * shown ones, `probabilities` those of the tags, or of BAD in quality estimation. `covered` is the attention so far.
   */
  function framesOf(answer) {
    const { trace, tags, bad_probabilities: bad } = answer;
    const last = { tags, given: tags, probabilities: bad ?? answer.probabilities };
    if (!trace) return [last];
    const frames = trace.attention.map((attention, n) => {
      const frame = { ...last, attention, covered: trace.coverage?.[n] ?? attention };
      if (trace.provisional_tags && n < trace.attention.length - 1) {
        const given = trace.provisional_tags[n];
        const ofBad = (value, i) => (given[i] === "OK" ? 1 - value : value);
        const probabilities = trace.provisional_probabilities[n].map((value, i) => (bad ? ofBad(value, i) : value));
        Object.assign(frame, { tags: given, given, probabilities });
      }
      return frame;
    });
    if (trace.settled_at) settle(frames);
    return frames;
  }

  // Marks the step after which the tag of a word no longer changes.
  function settle(frames) {
    const changes = (i) => frames.map((frame, n) => n > 0 && frame.tags[i] !== frames[n - 1].tags[i]);
    const steps = frames[0].tags.map((_, i) => Math.max(0, changes(i).lastIndexOf(true)));
    frames.forEach((frame, n) => (frame.settled = steps.map((step) => step === n)));
  }

  // Tags all words of quality estimation by a threshold; null restores the model's tags.
  function retag(frames, threshold, labels) {
    const worst = labels.includes("BAD") ? "BAD" : "major"; // for a word that the model took for OK
    for (const frame of frames) {
      const tagOf = (p, i) => (p < threshold ? "OK" : frame.given[i] === "OK" ? worst : frame.given[i]);
      frame.tags = threshold === null ? frame.given : frame.probabilities.map(tagOf);
    }
    if (frames[0].settled) settle(frames);
  }

  /** The list of words with their tags: its element, the elements of the words, and `update(frame)`. */
  function chipsOf(answer, description, direction) {
    const aligned = answer.tokens.map((_, j) => (answer.alignments ?? []).filter((pair) => pair[1] === j).map(([i]) => answer.source?.[i]));
    const chips = answer.tokens.map((token, i) => {
      const [tag, probability, gold] = ["tag", "probability", "gold"].map((name) => element("span", { class: name }));
      const chip = element("li", { class: "chip", tabindex: i === 0 ? "0" : "-1" }, element("bdi", { class: "word" }, token), " ", tag, " ");
      if (answer.bad_probabilities) chip.append(hidden("probability of BAD "));
      chip.append(probability, " ", gold);
      if (answer.source && answer.alignments_from !== "none") {
        chip.title = aligned[i].length ? `Aligned with ${aligned[i].join(" ")}` : "Not aligned";
        chip.append(hidden(`, ${chip.title}`));
        chip.classList.toggle("unaligned", !aligned[i].length);
      }
      return { chip, tag, probability, gold };
    });
    const update = (frame) => {
      const chunks = description.task === "chunks" ? chunksOf(frame.tags) : [];
      chips.forEach(({ chip, tag, probability, gold }, i) => {
        tag.textContent = frame.tags[i];
        probability.textContent = decimals(frame.probabilities[i]);
        chip.style.setProperty("--tag", description.colors[frame.tags[i]]);
        const covered = Math.min(1, frame.covered?.[i] ?? 0);
        chip.style.setProperty("--covered", covered);
        chip.style.setProperty("--before", Math.max(0, covered - (frame.attention?.[i] ?? 0)));
        const right = answer.gold?.[i] ?? null; // of a word with a gold tag
        const isWrong = right !== null && right !== frame.tags[i];
        chip.classList.toggle("wrong", isWrong);
        gold.textContent = isWrong ? `gold ${right}` : "";
        chip.classList.toggle("span", Boolean(chunks[i]?.inside));
        chip.classList.toggle("span-ends", Boolean(chunks[i]?.ends));
      });
    };
    const nodes = chips.map(({ chip }) => chip);
    const list = element("ol", { class: "chips", dir: direction, "aria-label": "Words and tags; the arrow keys go from word to word" }, ...nodes);
    // The list is one tab stop; the arrow keys go from word to word.
    list.addEventListener("keydown", (event) => {
      const [forward, back] = direction === "rtl" ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
      const at = nodes.indexOf(event.target);
      const to = { Home: 0, End: nodes.length - 1, [forward]: at + 1, [back]: at - 1 }[event.key];
      if (!nodes[to]) return;
      event.preventDefault();
      nodes[at].tabIndex = -1;
      nodes[to].tabIndex = 0;
      nodes[to].focus();
    });
    return { list, nodes, update };
  }

  // A step in words: where it looks, and which tags it changed.
  function statusOf({ tokens }, frames, n, name) {
    const { attention, tags } = frames[n - 1];
    const most = attention.indexOf(Math.max(...attention));
    const row = name === "word" ? ` (“${isolated(tokens[n - 1])}”)` : "";
    const look = `${capital(name)} ${n} of ${frames.length}${row}: most attention on “${isolated(tokens[most])}” (${decimals(attention[most])}).`;
    const before = frames[n - 2]?.tags;
    if (!before || name === "word") return look;
    const changes = tokens.flatMap((token, i) => (before[i] === tags[i] ? [] : [`${isolated(token)} ${before[i]} → ${tags[i]}`]));
    const more = changes.length > 5 ? ` and ${changes.length - 5} more` : "";
    return `${look} ${changes.length ? `Changed: ${changes.slice(0, 5).join(", ")}${more}.` : "No tag changed."}`;
  }

  // The legend: an entry for each color, with the tags of this color that occur.
  function legendOf(frames, description) {
    const used = new Set(frames.flatMap((frame) => frame.tags));
    const byColor = Map.groupBy(description.labels.filter((label) => used.has(label)), (label) => description.colors[label]);
    const items = [...byColor].map(([color, labels]) => {
      const item = element("li", {}, labels.join(", "));
      item.style.setProperty("--tag", color);
      return item;
    });
    return element("ul", { class: "legend", "aria-hidden": "true" }, ...items);
  }

  function keyOf(answer, name) {
    const { attention, settled_at: settled } = answer.trace;
    const parts = [`Each row of the map is a ${name}, each column a word; a stronger color means more attention.`];
    if (settled) parts.push("The stripe has the color of the tag at that step. The dot marks the step at which a tag becomes final.");
    const ranges = attention[0].map((_, i) => attention.map((row) => row[i])).map((column) => Math.max(...column) - Math.min(...column));
    if (attention.length > 1 && Math.max(...ranges) < ALIKE) {
      parts.push(`All rows are alike: in no column do two ${name}s differ by ${ALIKE} or more.`);
    }
    parts.push(`The bar below a word is its attention ${answer.trace.coverage ? "so far, this step in full color" : `from this ${name}`}; a full bar is 1.`);
    parts.push(`Choose a word to see its column${answer.source ? " and its source words" : ""}, or a row to see its ${name}.`);
    return element("p", { class: "key" }, parts.join(" "));
  }

  /** The player of the steps. `update` shows a frame. */
  function playerOf(answer, frames, description, direction, update) {
    const name = description.step_name;
    const count = frames.length;
    const play = element("button", { type: "button", class: "play" }, "Play");
    const slider = element("input", { type: "range", min: 1, max: count, step: 1, value: count, "aria-label": capital(name) });
    const status = element("p", { class: "status", role: "status" });
    const legend = element("div");
    let timer = null;
    const heat = HeatMap.make(answer, frames, description, direction, (n) => stopAt(n));

    function choose(n) {
      slider.value = n;
      slider.setAttribute("aria-valuetext", `${n} of ${count}`);
      status.textContent = statusOf(answer, frames, n, name);
      heat?.mark(n);
      update(frames[n - 1]);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      status.setAttribute("aria-live", "polite");
    }
    function stopAt(n) {
      stop();
      choose(n);
    }
    function refresh() {
      heat?.paint();
      legend.replaceChildren(legendOf(frames, description));
      choose(Number(slider.value));
    }
    play.addEventListener("click", () => {
      if (timer !== null) return stop();
      play.textContent = "Pause";
      status.setAttribute("aria-live", "off"); // steps are too fast to be announced
      const first = Number(slider.value) === count ? 1 : Number(slider.value);
      const pace = Math.min(MAX_STEP, MAX_REPLAY / count);
      const begin = performance.now();
      choose(first);
      timer = setInterval(() => {
        // The clock decides: steps are skipped if drawing is too slow.
        const n = Math.min(count, first + Math.floor((performance.now() - begin) / pace));
        if (n === count) stop();
        if (n !== Number(slider.value)) choose(n);
      }, pace / 4);
    });
    slider.addEventListener("input", () => stopAt(Number(slider.value)));
    const controls = element("div", { class: "controls" }, play, slider);
    controls.hidden = count === 1;
    const map = heat
      ? element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Heat map" }, heat.map)
      : element("p", { class: "note" }, `The heat map is not drawn: it has more than ${HeatMap.MAX_CELLS} cells.`);
    refresh();
    return { nodes: [controls, status, map, legend, keyOf(answer, name)], refresh, stop, light: (isLit) => heat?.light(isLit) };
  }

  function spansOf(spans) {
    if (!spans.length) return element("p", {}, "Nothing found.");
    const items = spans.map(({ text, type, severity, probability }) =>
      element("li", {}, element("bdi", {}, text || "(missing)"), ` ${type ?? severity ?? "BAD"} `, element("span", { class: "probability" }, decimals(probability))),
    );
    return element("ul", { class: "spans", "aria-label": "Found" }, ...items);
  }

  function sourceOf(answer, aligned) {
    const words = answer.source.map((word, i) => element("li", aligned[i] ? {} : { class: "unaligned", title: "Not aligned" }, element("bdi", {}, word)));
    const isComputed = answer.alignments_from === "computed";
    return { words, list: element("ol", { class: isComputed ? "source computed" : "source", dir: directionOf(answer.source) }, ...words) };
  }

  /**
   * Replaces the content of an element with an answer.
   *
   * given: the answer of the predictor, with `trace` (null if the model has none), and optionally with `gold`, the gold
   * tags, null for words without one. description: the description of the predictor. Returns `stop`, which stops the
   * replay.
   */
  function show(container, given, description) {
    const answer = Quality.shown(given);
    const frames = framesOf(answer);
    const direction = directionOf(answer.tokens);
    const { list, nodes, update } = chipsOf(answer, description, direction);
    const player = answer.trace ? playerOf(answer, frames, description, direction, update) : null;
    const source = answer.source ? sourceOf(answer, Quality.alignedOf(answer).source) : null;
    const light = () => {
      const isLit = nodes.map((chip) => chip.matches(":hover, :focus"));
      const litWords = new Set((answer.alignments ?? []).filter(([, to]) => isLit[to]).map(([from]) => from));
      source?.words.forEach((word, i) => word.classList.toggle("lit", litWords.has(i)));
      player?.light(isLit);
    };
    for (const event of ["pointerover", "pointerleave", "focusin", "focusout"]) list.addEventListener(event, light);
    container.replaceChildren();
    if (source) container.append(element("h3", {}, answer.headings[0]), source.list, element("h3", {}, answer.headings[1]));
    container.append(list, ...Quality.notesOf(answer, description.fields));
    if (answer.bad_probabilities) {
      container.append(element("p", {}, capital(Quality.estimatesOf(answer))));
      const move = (threshold) => {
        retag(frames, threshold, description.labels);
        player ? player.refresh() : update(frames[0]);
      };
      const count = () => Quality.countOf(frames[frames.length - 1].tags, answer.tagged);
      container.append(Quality.thresholdOf(answer.threshold ?? null, answer.threshold_from, count, move));
    }
    if (answer.spans) container.append(spansOf(answer.spans));
    if (!player) {
      container.append(element("p", { class: "key" }, "This model has no steps to replay."));
      update(frames[0]);
      return { stop: () => {} };
    }
    container.append(element("h3", {}, `Replay of the ${description.step_name}s`), ...player.nodes);
    return { stop: player.stop };
  }

  return { show };
})();
