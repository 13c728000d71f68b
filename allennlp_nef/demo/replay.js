// Shows the answer of a tagger and replays its steps. index.html and the page of `allennlp plot-sketches --html` use it.
"use strict";

const Replay = (() => {
  const MAX_STEP = 800; // milliseconds for a step
  const MAX_REPLAY = 12000; // milliseconds for all steps
  const ALIKE = 0.05; // rows that differ by less in every column are alike; as in the plots

  // The chunks of tags, as conlleval finds them: for each word its type, and whether a chunk begins or ends there.
  function chunksOf(tags) {
    const parts = tags.map((tag) => (tag === "O" ? ["O", ""] : [tag[0], tag.slice(2)]));
    const begins = parts.map(([prefix, type], i) => {
      if (prefix === "O") return false;
      const [before, typeBefore] = i > 0 ? parts[i - 1] : ["O", ""];
      return "BUS".includes(prefix) || "OLEUS".includes(before) || typeBefore !== type;
    });
    return parts.map(([prefix, type], i) => ({
      type,
      begins: begins[i],
      ends: prefix !== "O" && (i + 1 === parts.length || parts[i + 1][0] === "O" || begins[i + 1]),
    }));
  }

  // What to show after each step; without steps, one frame with the answer. `weights` are the values of the heat map: the
  // attention, or for layers, which do not attend to words, the probabilities of their tags. `covered` is the attention so far.
  // `probabilities` are those of the tags, or in quality estimation those of BAD. `settled` says which tags no longer change.
  function framesOf(answer) {
    const { trace, tags } = answer;
    const opposite = (value) => Number((1 - value).toFixed(6)); // as many decimals as a trace has
    const shown = (given, probabilities) =>
      answer.bad_probabilities ? probabilities.map((value, i) => (given[i] !== "OK" ? value : opposite(value))) : probabilities;
    const last = { tags, given: tags, probabilities: answer.bad_probabilities || answer.probabilities };
    if (!trace) return [last];
    const weights = trace.attention || trace.provisional_probabilities;
    const frames = weights.map((row, n) => {
      const given = trace.provisional_tags ? trace.provisional_tags[n] : tags;
      const step = trace.provisional_probabilities
        ? { tags: given, given, probabilities: shown(given, trace.provisional_probabilities[n]) }
        : last;
      return {
        ...(n === weights.length - 1 ? last : step),
        weights: row,
        attention: trace.attention ? row : null,
        covered: trace.coverage ? trace.coverage[n] : trace.attention ? row : null,
      };
    });
    if (trace.settled_at) settle(frames);
    return frames;
  }

  // Marks the step after which the tag of a word no longer changes.
  function settle(frames) {
    const changes = (i) => frames.map((frame, n) => n > 0 && frame.tags[i] !== frames[n - 1].tags[i]).lastIndexOf(true);
    const steps = frames[0].tags.map((_, i) => Math.max(0, changes(i)));
    frames.forEach((frame, n) => (frame.settled = steps.map((step) => step === n)));
  }

  // Tags all words of quality estimation by a threshold; null: as the model did.
  function retag(frames, threshold, labels) {
    const worst = labels.includes("BAD") ? "BAD" : "major"; // the severity of a word that the model took for OK
    const bad = (tag) => (tag === "OK" ? worst : tag);
    for (const frame of frames) {
      frame.tags = threshold === null ? frame.given : frame.probabilities.map((p, i) => (p >= threshold ? bad(frame.given[i]) : "OK"));
    }
    if (frames[0].settled) settle(frames);
  }

  function chipsOf(answer, description, direction) {
    const aligned = answer.tokens.map((_, j) =>
      (answer.alignments || []).filter((pair) => pair[1] === j).map((pair) => answer.source?.[pair[0]]),
    );
    const how = answer.alignments_from === "computed" ? "computed to be aligned" : "aligned";
    const chips = answer.tokens.map((token, i) => {
      const parts = {
        tag: element("span", { class: "tag" }),
        probability: element("span", { class: "probability" }),
        gold: element("span", { class: "gold" }),
      };
      const chip = element("li", { class: "chip", tabindex: i === 0 ? "0" : "-1" });
      chip.append(element("bdi", { class: "word" }, token), " ", parts.tag, " ");
      if (answer.bad_probabilities) chip.append(hidden("probability of BAD "));
      chip.append(parts.probability);
      if (answer.gold) chip.append(" ", parts.gold);
      if (answer.source) {
        const text = aligned[i].length ? `${how} with ${aligned[i].join(" ")}` : "not aligned";
        chip.append(hidden(`, ${text}`));
        chip.title = capital(text);
        chip.classList.toggle("unaligned", !aligned[i].length);
      }
      if (answer.uncertain?.includes(i)) {
        chip.append(hidden(", uncertain"));
        chip.classList.add("uncertain");
      }
      return { chip, ...parts };
    });
    const update = (frame) => {
      const chunks = description.task === "chunks" ? chunksOf(frame.tags) : [];
      chips.forEach(({ chip, tag, probability, gold }, i) => {
        tag.textContent = frame.tags[i];
        probability.textContent = decimals(frame.probabilities[i]);
        chip.style.setProperty("--tag", description.colours[frame.tags[i]]);
        const covered = frame.covered ? Math.min(1, frame.covered[i]) : 0;
        chip.style.setProperty("--covered", covered);
        chip.style.setProperty("--before", Math.max(0, covered - (frame.attention ? frame.attention[i] : 0)));
        if (answer.gold) {
          const wrong = answer.gold[i] !== frame.tags[i];
          chip.classList.toggle("wrong", wrong);
          gold.textContent = wrong ? `gold ${answer.gold[i]}` : "";
        }
        if (chunks.length) {
          chip.classList.toggle("span", chunks[i].type !== "");
          chip.classList.toggle("span-begins", chunks[i].begins);
          chip.classList.toggle("span-ends", chunks[i].ends);
        }
      });
    };
    const list = element("ol", { class: "chips", dir: direction, "aria-label": "Words and tags; the arrow keys go from word to word" });
    list.append(...chips.map(({ chip }) => chip));
    // The tab key stops once in the list; the arrow keys go from word to word.
    list.addEventListener("keydown", (event) => {
      const at = chips.findIndex(({ chip }) => chip === event.target);
      const forward = direction === "rtl" ? "ArrowLeft" : "ArrowRight";
      const back = direction === "rtl" ? "ArrowRight" : "ArrowLeft";
      const moves = { [forward]: 1, ArrowDown: 1, [back]: -1, ArrowUp: -1 };
      const to = { Home: 0, End: chips.length - 1 }[event.key] ?? at + (moves[event.key] || 0);
      if (at < 0 || to === at || !chips[to]) return;
      event.preventDefault();
      chips[at].chip.tabIndex = -1;
      chips[to].chip.tabIndex = 0;
      chips[to].chip.focus();
    });
    return { list, chips: chips.map(({ chip }) => chip), update };
  }

  function changesOf(frames, n, tokens) {
    if (n === 1) return "";
    const [before, now] = [frames[n - 2].tags, frames[n - 1].tags];
    const changes = tokens.flatMap((token, i) => (before[i] === now[i] ? [] : [`\u2068${token}\u2069 ${before[i]} → ${now[i]}`]));
    if (!changes.length) return " No tag changed.";
    const more = changes.length > 5 ? ` and ${changes.length - 5} more` : "";
    return ` Changed: ${changes.slice(0, 5).join(", ")}${more}.`;
  }

  // Describes a step in words. Unicode isolates keep the order of the text around words of another direction.
  function statusOf(answer, frames, n, name) {
    const { tokens, trace } = answer;
    const { attention } = frames[n - 1];
    const where = `${capital(name)} ${n} of ${frames.length}`;
    const gate = trace.gates ? `, which keeps ${decimals(trace.gates[n - 1])} of itself` : "";
    const which = trace.gates ? ` (“\u2068${tokens[n - 1]}\u2069”${gate})` : "";
    const most = attention ? attention.indexOf(Math.max(...attention)) : -1;
    const look = attention?.[most] ? `: most attention on “\u2068${tokens[most]}\u2069” (${decimals(attention[most])}).` : ".";
    return where + which + look + (trace.gates ? "" : changesOf(frames, n, tokens));
  }

  // The legend: an entry for each color, with the tags of this color that occur.
  function legendOf(frames, description) {
    const used = new Set(frames.flatMap((frame) => frame.tags));
    const tags = new Map();
    for (const label of description.labels.filter((one) => used.has(one))) {
      const color = description.colours[label];
      tags.set(color, [...(tags.get(color) || []), label]);
    }
    const items = [...tags].map(([color, labels]) => {
      const item = element("li", {}, labels.join(", "));
      item.style.setProperty("--tag", color);
      return item;
    });
    return element("ul", { class: "legend", "aria-hidden": "true" }, ...items);
  }

  // The largest difference between two rows in a column.
  function differenceOf(rows) {
    const columns = rows[0].map((_, i) => rows.map((row) => row[i]));
    return Math.max(...columns.map((column) => Math.max(...column) - Math.min(...column)));
  }

  function keyOf(answer, isTable, name) {
    const { trace } = answer;
    const what = trace.attention ? "attention" : "probability of the tag";
    const parts = [`Each row of the map is a ${name}, each column a word. A stronger color means a higher ${what}.`];
    if (isTable && trace.settled_at) {
      parts.push(`The stripe has the color of the tag after that ${name}. The dot marks the ${name} after which the tag no longer changes; in the first row it says that the first tag was also the last.`);
    }
    if (trace.attention?.length > 1 && differenceOf(trace.attention) < ALIKE) {
      parts.push(`All rows are alike: in no column do two ${name}s differ by ${ALIKE} or more, so the attention does not move.`);
    }
    if (trace.coverage) {
      parts.push("The bar below a word is its attention so far, with that of this step in full color. A bar of full width is 1.");
    } else if (trace.attention) {
      parts.push(`The bar below a word is the attention that it gets from the current ${name}. A bar of full width is 1.`);
    }
    parts.push(`Choose a word to see its column${answer.source ? " and its source words" : ""}, or a row to see its ${name}.`);
    return element("p", { class: "key" }, parts.join(" "));
  }

  function stepsOf(answer, frames, description, direction, update, onStep) {
    const name = description.step_name;
    const count = frames.length;
    const play = element("button", { type: "button", class: "play" }, "Play");
    const slider = element("input", { type: "range", min: 1, max: count, step: 1, value: count, "aria-label": capital(name) });
    const status = element("p", { class: "status", role: "status" });
    const legend = element("div");
    let timer = null;

    const choose = (wanted) => {
      const n = Math.min(wanted, count);
      slider.value = n;
      slider.setAttribute("aria-valuetext", `${n} of ${count}`);
      status.textContent = statusOf(answer, frames, n, name);
      heat.mark(n);
      update(frames[n - 1]);
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      status.setAttribute("aria-live", "polite");
    };
    const chosen = (n) => {
      choose(n);
      onStep(n);
    };
    // Shows other tags of the frames, without an announcement of the step.
    const refresh = () => {
      status.setAttribute("aria-live", "off");
      heat.paint();
      if (heat.isTable) legend.replaceChildren(legendOf(frames, description));
      choose(Number(slider.value));
    };
    const heat = heatMap(answer, frames, description, direction, (n) => {
      stop();
      chosen(n);
    });
    play.addEventListener("click", () => {
      if (timer !== null) return stop();
      play.textContent = "Pause";
      status.setAttribute("aria-live", "off"); // no announcement for each step
      const first = Number(slider.value) === count ? 1 : Number(slider.value);
      const pace = Math.min(MAX_STEP, MAX_REPLAY / count);
      const begin = performance.now();
      chosen(first);
      timer = setInterval(() => {
        // The clock decides: if drawing is too slow, steps are skipped.
        const n = Math.min(count, first + Math.floor((performance.now() - begin) / pace));
        if (n === count) stop();
        if (n !== Number(slider.value)) chosen(n);
      }, pace / 4);
    });
    slider.addEventListener("input", () => {
      stop();
      chosen(Number(slider.value));
    });
    const box = { class: "scroll", role: "region", tabindex: "0", "aria-label": "Heat map" };
    const controls = element("div", { class: "controls" }, play, slider);
    controls.hidden = count === 1;
    const nodes = [controls, status, element("div", box, heat.map)];
    nodes.push(legend, keyOf(answer, heat.isTable, name));
    refresh();
    stop();
    return { nodes, choose, refresh, stop, light: heat.light };
  }

  function spansOf(spans) {
    const items = spans.map((span) =>
      element("li", {}, element("bdi", {}, span.text), ` ${span.type ?? span.severity} `, element("span", { class: "probability" }, decimals(span.probability))),
    );
    return spans.length ? element("ul", { class: "spans", "aria-label": "Found" }, ...items) : element("p", {}, "Nothing found.");
  }

  /**
   * Replaces the content of an element with an answer.
   *
   * given: the answer of the predictor with its `trace` (null if the model has none), for quality estimation `source`,
   * `alignments` and what `Quality` shows, and optionally `gold`, the gold tags. description: the description of the predictor. onStep: is
   * called with the step that the user chooses, from 1. Returns `stop`, which stops the replay, and `choose(n)`, which
   * shows step n.
   */
  function show(container, given, description, onStep = () => {}) {
    const answer = Quality.shown(given);
    const frames = framesOf(answer);
    const direction = directionOf(answer.tokens);
    const { list, chips, update } = chipsOf(answer, description, direction);
    const aligned = Quality.alignedOf(answer);
    const sources = (answer.source || []).map((word, i) => {
      const item = element("li", {}, element("bdi", {}, word));
      if (!aligned.source[i]) {
        item.className = "unaligned";
        item.title = "Not aligned";
        item.append(hidden(", not aligned"));
      }
      return item;
    });
    const steps = answer.trace ? stepsOf(answer, frames, description, direction, update, onStep) : null;
    const light = () => {
      const isLit = chips.map((chip) => chip.matches(":hover, :focus"));
      const litSources = new Set((answer.alignments || []).filter(([, to]) => isLit[to]).map(([from]) => from));
      sources.forEach((word, i) => word.classList.toggle("lit", litSources.has(i)));
      if (steps) steps.light(isLit);
    };
    for (const event of ["pointerover", "pointerleave", "focusin", "focusout"]) list.addEventListener(event, light);
    container.replaceChildren();
    if (answer.source) {
      const source = element("ol", { class: "source", dir: directionOf(answer.source) }, ...sources);
      source.classList.toggle("computed", answer.alignments_from === "computed");
      container.append(element("h3", {}, answer.headings[0]), source, element("h3", {}, answer.headings[1]));
    }
    container.append(list, ...Quality.notesOf(answer));
    if (answer.uncertain?.length) container.append(element("p", { class: "note" }, "A wavy line below a tag: it is uncertain."));
    if (answer.bad_probabilities) {
      const move = (threshold) => {
        retag(frames, threshold, description.labels);
        if (steps) steps.refresh();
        else update(frames[0]);
      };
      const count = () => Quality.countOf(frames[frames.length - 1].tags, answer.tagged);
      container.append(Quality.thresholdOf(answer.threshold ?? description.threshold ?? null, count, move));
    }
    if (answer.spans) container.append(spansOf(answer.spans));
    if (!steps) {
      container.append(element("p", { class: "key" }, "This model has no steps to replay."));
      update(frames[0]);
      return { stop: () => {}, choose: () => {} };
    }
    container.append(element("h3", {}, `Replay of the ${description.step_name}s`), ...steps.nodes);
    return { stop: steps.stop, choose: steps.choose };
  }

  return { show };
})();
