// Shows what a tagger answered, and replays the steps that led there. For index.html, and for the page that
// `allennlp plot-sketches --html` writes. Words are always put in as text, so markup in them stays text.
"use strict";

const Replay = (() => {
  const MOST_CELLS = 5000; // of a heat map that is a table; a larger one is a picture
  const SLOWEST = 800; // milliseconds a step
  const LONGEST = 12000; // milliseconds from the first step to the last

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const hidden = (text) => element("span", { class: "visually-hidden" }, text);
  const decimals = (value) => value.toFixed(2);

  // Of chunk tags: for each word the type of its chunk, and whether the chunk begins or ends with it. As conlleval does it.
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

  // The tags and their probabilities after each step; where there are no steps, those of the answer alone.
  function framesOf(answer) {
    const { trace, tags } = answer;
    if (trace) {
      return trace.attention.map((attention, n) => ({
        attention,
        tags: trace.provisional_tags[n],
        probabilities: trace.provisional_probabilities[n],
      }));
    }
    const probabilities =
      answer.probabilities || answer.bad_probabilities.map((bad, i) => (tags[i] === "BAD" ? bad : 1 - bad));
    return [{ attention: null, tags, probabilities }];
  }

  function chipsOf(answer, description) {
    const aligned = answer.tokens.map((_, j) =>
      (answer.alignments || []).filter((pair) => pair[1] === j).map((pair) => answer.source[pair[0]]),
    );
    const chips = answer.tokens.map((token, i) => {
      const parts = {
        tag: element("span", { class: "tag" }),
        probability: element("span", { class: "probability" }),
        gold: element("span", { class: "gold" }),
      };
      const chip = element("li", { class: "chip", tabindex: i === 0 ? "0" : "-1" });
      chip.append(element("span", { class: "word", dir: "auto" }, token), " ", parts.tag, " ", parts.probability);
      if (answer.gold) chip.append(" ", parts.gold);
      if (answer.source) chip.append(hidden(aligned[i].length ? `, aligned with ${aligned[i].join(" ")}` : ", not aligned"));
      return { chip, ...parts };
    });
    const update = (frame) => {
      const chunks = description.task === "chunks" ? chunksOf(frame.tags) : [];
      chips.forEach(({ chip, tag, probability, gold }, i) => {
        tag.textContent = frame.tags[i];
        probability.textContent = decimals(frame.probabilities[i]);
        chip.style.setProperty("--tag", description.colours[frame.tags[i]]);
        chip.style.setProperty("--attention", frame.attention ? frame.attention[i] : 0);
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
    const list = element("ol", { class: "chips", dir: "auto", "aria-label": "Words and tags" });
    list.append(...chips.map(({ chip }) => chip));
    // One stop of the tabulator key; the arrow keys go from word to word.
    list.addEventListener("keydown", (event) => {
      const at = chips.findIndex(({ chip }) => chip === event.target);
      const isRightToLeft = getComputedStyle(list).direction === "rtl";
      const moves = { ArrowRight: isRightToLeft ? -1 : 1, ArrowLeft: isRightToLeft ? 1 : -1 };
      const to = { Home: 0, End: chips.length - 1 }[event.key] ?? at + (moves[event.key] || 0);
      if (at < 0 || to === at || !chips[to]) return;
      event.preventDefault();
      chips[at].chip.tabIndex = -1;
      chips[to].chip.tabIndex = 0;
      chips[to].chip.focus();
    });
    return { list, chips: chips.map(({ chip }) => chip), update };
  }

  function tableOf(answer, frames, description, choose) {
    const { tokens, trace } = answer;
    const name = description.step_name;
    const head = element("tr", {}, element("td"));
    head.append(...tokens.map((token) => element("th", { scope: "col" }, element("span", { class: "word" }, token))));
    const rows = frames.map((frame, n) => {
      const row = element("tr", {}, element("th", { scope: "row" }, String(n + 1)));
      frame.attention.forEach((attention, i) => {
        const tag = `${frame.tags[i]} ${decimals(frame.probabilities[i])}`;
        const title = `${tokens[i]}, ${name} ${n + 1}: attention ${decimals(attention)}, ${tag}`;
        const cell = element("td", { title, "data-attention": attention }, decimals(attention));
        cell.style.setProperty("--attention", attention);
        cell.style.setProperty("--tag", description.colours[frame.tags[i]]);
        cell.classList.toggle("strong", attention > 0.5);
        cell.classList.toggle("settled", trace.settled_at[i] === n + 1);
        row.append(cell);
      });
      row.addEventListener("click", () => choose(n + 1));
      return row;
    });
    const table = element("table", { class: "heat", dir: "auto" });
    table.classList.toggle("numbers", tokens.length <= 16);
    table.append(element("caption", { class: "visually-hidden" }, `Attention: a row a ${name}, a column a word`));
    table.append(element("thead", {}, head), element("tbody", {}, ...rows));
    const columns = tokens.map((_, i) => [head.cells[i + 1], ...rows.map((row) => row.cells[i + 1])]);
    return {
      map: table,
      mark: (n) => rows.forEach((row, i) => (i + 1 === n ? row.setAttribute("aria-current", "step") : row.removeAttribute("aria-current"))),
      light: (isLit) => columns.forEach((cells, i) => cells.forEach((cell) => cell.classList.toggle("lit", isLit[i]))),
    };
  }

  // A pixel a cell, for long sentences.
  function pictureOf(answer, frames, description, choose) {
    const [width, height] = [answer.tokens.length, frames.length];
    const canvas = element("canvas", { width, height, role: "img" });
    canvas.setAttribute("aria-label", `Heat map of the attention: ${height} ${description.step_name}s from top to bottom, ${width} words from left to right`);
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    frames.forEach((frame, n) =>
      frame.attention.forEach((attention, i) => image.data.set([67, 56, 202, 255 * Math.sqrt(attention)], 4 * (n * width + i))),
    );
    context.putImageData(image, 0, 0);
    const marker = element("div", { class: "marker" });
    const column = element("div", { class: "column", hidden: "" });
    marker.style.setProperty("--height", 1 / height);
    column.style.setProperty("--width", 1 / width);
    canvas.addEventListener("click", (event) => choose(1 + Math.min(height - 1, Math.floor((event.offsetY / canvas.clientHeight) * height))));
    return {
      map: element("div", { class: "picture" }, canvas, marker, column),
      mark: (n) => marker.style.setProperty("--top", (n - 1) / height),
      light: (isLit) => {
        column.hidden = !isLit.includes(true);
        column.style.setProperty("--left", isLit.indexOf(true) / width);
      },
    };
  }

  function changesOf(frames, n, tokens) {
    if (n === 1) return "";
    const [before, now] = [frames[n - 2].tags, frames[n - 1].tags];
    const changes = tokens.flatMap((token, i) => (before[i] === now[i] ? [] : [`${token} ${before[i]} → ${now[i]}`]));
    if (!changes.length) return " No tag changed.";
    const more = changes.length > 5 ? ` and ${changes.length - 5} more` : "";
    return ` Changed: ${changes.slice(0, 5).join(", ")}${more}.`;
  }

  function legendOf(frames, description) {
    const used = new Set(frames.flatMap((frame) => frame.tags));
    const items = description.labels.filter((label) => used.has(label)).map((label) => {
      const item = element("li", {}, label);
      item.style.setProperty("--tag", description.colours[label]);
      return item;
    });
    return element("ul", { class: "legend", "aria-hidden": "true" }, ...items);
  }

  function stepsOf(answer, frames, description, update) {
    const name = description.step_name;
    const count = frames.length;
    const play = element("button", { type: "button", class: "play" }, "Play");
    const slider = element("input", { type: "range", min: 1, max: count, step: 1, value: count, "aria-label": `${name} of the replay` });
    const status = element("p", { class: "status", role: "status" });
    let timer = null;

    const choose = (n) => {
      const frame = frames[n - 1];
      const most = frame.attention.indexOf(Math.max(...frame.attention));
      const where = `${name[0].toUpperCase()}${name.slice(1)} ${n} of ${count}`;
      slider.value = n;
      slider.setAttribute("aria-valuetext", where);
      status.textContent = `${where}: most attention on “${answer.tokens[most]}” (${decimals(frame.attention[most])}).${changesOf(frames, n, answer.tokens)}`;
      heat.mark(n);
      update(frame);
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    };
    const isTable = count * answer.tokens.length <= MOST_CELLS;
    const heat = (isTable ? tableOf : pictureOf)(answer, frames, description, (n) => {
      stop();
      choose(n);
    });
    play.addEventListener("click", () => {
      if (timer !== null) return stop();
      play.textContent = "Pause";
      choose(Number(slider.value) === count ? 1 : Number(slider.value));
      timer = setInterval(() => {
        if (Number(slider.value) < count) choose(Number(slider.value) + 1);
        if (Number(slider.value) === count) stop();
      }, Math.min(SLOWEST, LONGEST / count));
    });
    slider.addEventListener("input", () => {
      stop();
      choose(Number(slider.value));
    });
    const scroll = element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Heat map of the attention" }, heat.map);
    const key = element("p", { class: "key" }, `A row a ${name}, a column a word; the stronger the colour, the more attention.`);
    if (isTable) {
      key.append(` The stripe is the colour of the tag after that ${name}, the dot marks the ${name} from which on the tag stays.`);
    }
    const nodes = [
      element("div", { class: "controls" }, play, slider),
      status,
      scroll,
      legendOf(frames, description),
      key,
    ];
    return { nodes, choose, stop, light: heat.light };
  }

  function spansOf(spans) {
    const items = spans.map((span) =>
      element("li", {}, element("bdi", {}, span.text), ` ${span.type} `, element("span", { class: "probability" }, decimals(span.probability))),
    );
    return spans.length ? element("ul", { class: "spans", "aria-label": "Found" }, ...items) : element("p", {}, "Nothing found.");
  }

  /**
   * Puts an answer into an element, in place of what was there.
   *
   * answer: of the predictor, with its trace (null where the model has no steps), for quality estimation `source` and
   * `alignments`, and optionally `gold`, the gold tags. description: of the predictor. Returns a function that stops it.
   */
  function show(container, answer, description) {
    const frames = framesOf(answer);
    const { list, chips, update } = chipsOf(answer, description);
    const sources = (answer.source || []).map((word) => element("li", { class: "word", dir: "auto" }, word));
    const steps = answer.trace ? stepsOf(answer, frames, description, update) : null;
    const light = () => {
      const isLit = chips.map((chip) => chip.matches(":hover, :focus"));
      const litSources = new Set((answer.alignments || []).filter(([, to]) => isLit[to]).map(([from]) => from));
      sources.forEach((word, i) => word.classList.toggle("lit", litSources.has(i)));
      if (steps) steps.light(isLit);
    };
    for (const event of ["pointerover", "pointerleave", "focusin", "focusout"]) list.addEventListener(event, light);
    container.replaceChildren();
    if (answer.source) {
      container.append(element("h3", {}, "Source"), element("ol", { class: "source", dir: "auto" }, ...sources), element("h3", {}, "Translation"));
    }
    container.append(list);
    if (answer.spans) container.append(spansOf(answer.spans));
    if (steps) {
      container.append(element("h3", {}, `Replay of the ${description.step_name}s`), ...steps.nodes);
      steps.choose(frames.length);
    } else {
      container.append(element("p", { class: "key" }, "This model has no steps to replay."));
      update(frames[0]);
    }
    return steps ? steps.stop : () => {};
  }

  return { element, show };
})();
