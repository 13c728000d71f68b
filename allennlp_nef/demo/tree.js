// Shows the answers of models without tags: the tree of a sentence, or the probabilities of classes and scores.
"use strict";

const Answers = (() => {
  const GAP = 16; // between words, in pixels
  const LEVEL = 34; // the height of an arc above the arcs within it
  const [SMALL, BOLD] = [0.8, 1.1]; // the widths of texts in these fonts, over the usual one
  const MIN_WIDTH = 36; // of a word, so that the label of a short arc fits

  function svg(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const pen = document.createElement("canvas").getContext("2d");
  function widthOf(text) {
    pen.font = getComputedStyle(document.body).font;
    return pen.measureText(text).width;
  }

  /** The arcs: words and their heads from 1, 0 for the root, and the level of each arc: 1, or 1 above the arcs within it. */
  function arcsOf({ heads }) {
    const arcs = heads.map((head, i) => ({ word: i + 1, head, left: Math.min(head, i + 1), right: Math.max(head, i + 1) }));
    const inner = arcs.filter(({ head }) => head > 0).sort((a, b) => a.right - a.left - (b.right - b.left));
    inner.forEach((arc, k) => {
      const within = inner.slice(0, k).filter(({ left, right }) => left >= arc.left && right <= arc.right);
      arc.level = 1 + Math.max(0, ...within.map(({ level }) => level));
    });
    const highest = Math.max(0, ...inner.map(({ level }) => level));
    for (const arc of arcs.filter(({ head }) => head === 0)) arc.level = highest + 1;
    return arcs;
  }

  /** What is said of an arc under the pointer. */
  function nameOf(answer, { word, head }) {
    const { words, labels, head_probabilities: ofHeads, label_probabilities: ofLabels, head_steps: steps } = answer;
    const place = head === 0 ? "root" : `head ${words[head - 1]}`;
    const text = `${words[word - 1]}: ${place}, probability ${decimals(ofHeads[word - 1])}; ${labels[word - 1]}, ${decimals(ofLabels[word - 1])}`;
    return steps ? `${text}; this head from step ${steps[word - 1]} on` : text;
  }

  function drawing(answer) {
    const { words, tags, labels } = answer;
    const isLeftward = directionOf(words) === "rtl";
    const arcs = arcsOf(answer);
    const base = 24 + LEVEL * Math.max(...arcs.map(({ level }) => level));
    let width = GAP / 2;
    const middles = words.map((word, i) => {
      const small = [labels[i], ...(tags ? [tags[i]] : [])].map((text) => SMALL * widthOf(text));
      const own = Math.max(MIN_WIDTH, BOLD * widthOf(word), ...small);
      width += own + GAP;
      return width - GAP - own / 2;
    });
    const x = (word, shift = 0) => (isLeftward ? width - middles[word - 1] : middles[word - 1]) + shift;
    const picture = svg("svg", { class: "tree", width, height: base + 52, role: "img" });
    picture.setAttribute("aria-label", "The tree. The table below has the same.");
    for (const arc of arcs) {
      const { word, head, level } = arc;
      const top = base - LEVEL * level;
      const end = x(word);
      let path = `M${end},${top}V${base}`;
      let middle = end;
      if (head > 0) {
        const start = x(head, x(head) < end ? 8 : -8); // beside the arrow to the head itself
        const peak = base - (base - top) / 0.75; // of the control points: the curve reaches three quarters of it
        path = `M${start},${base}C${start},${peak} ${end},${peak} ${end},${base}`;
        middle = (start + end) / 2;
      }
      const tip = svg("path", { class: "tip", d: `M${end - 4},${base - 8}h8l-4,8z` });
      const label = svg("text", { x: middle, y: head > 0 ? top - 4 : top - 6 }, labels[word - 1]);
      const group = svg("g", { class: "arc" }, svg("title", {}, nameOf(answer, arc)), svg("path", { d: path }), tip, label);
      if (answer.head_probabilities[word - 1] < 0.5) group.classList.add("unsure");
      picture.append(group);
    }
    words.forEach((word, i) => {
      picture.append(svg("text", { class: "word", x: x(i + 1), y: base + 20 }, word));
      if (tags) picture.append(svg("text", { class: "pos", x: x(i + 1), y: base + 40 }, tags[i]));
    });
    return picture;
  }

  /** A table, from the names of its columns and its rows. */
  function table(caption, names, rows) {
    const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
    const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, element("bdi", {}, String(cell))))));
    const made = element("table", { class: "facts" }, element("caption", { class: "visually-hidden" }, caption));
    made.append(element("thead", {}, head), element("tbody", {}, ...body));
    return element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, made);
  }

  function tree(given) {
    const hasTags = given.tags.some((tag) => tag !== "_"); // "_": not known
    const answer = { ...given, tags: hasTags ? given.tags : null };
    const { words, tags, heads, labels, head_probabilities: ofHeads, label_probabilities: ofLabels, head_steps: steps } = answer;
    const names = ["Number", "Word", ...(tags ? ["Part of speech"] : []), "Head", "Label", "Probability of the head", "Probability of the label"];
    const rows = words.map((word, i) => [
      i + 1,
      word,
      ...(tags ? [tags[i]] : []),
      heads[i] === 0 ? "root" : `${heads[i]} ${words[heads[i] - 1]}`,
      labels[i],
      decimals(ofHeads[i]),
      decimals(ofLabels[i]),
      ...(steps ? [steps[i]] : []),
    ]);
    if (steps) names.push("Head from step");
    const notes = ["An arrow goes from a head to its word. Point at it for its probabilities."];
    if (ofHeads.some((value) => value < 0.5)) notes.push("Dashed: the probability of the head is below 0.5.");
    const box = element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Tree" }, drawing(answer));
    return [box, ...notes.map((text) => element("p", { class: "note" }, text)), table("Heads and labels", names, rows)];
  }

  function classes(answer) {
    const { label, score, probabilities } = answer;
    const isScore = score !== undefined;
    const rows = Object.entries(probabilities);
    if (!isScore) rows.sort(([, a], [, b]) => b - a);
    const first = element("p", { class: "answer" }, isScore ? "Score " : "Class ", element("strong", {}, isScore ? decimals(score) : label));
    const made = table("Probabilities", [isScore ? "Score" : "Class", "Probability"], rows.map(([name, value]) => [name, decimals(value)]));
    rows.forEach(([, value], i) => made.querySelectorAll("tbody tr")[i].style.setProperty("--share", value));
    made.classList.add("shares");
    const nodes = answer.tree ? [element("h3", {}, "Classes of the nodes"), element("p", { class: "brackets", dir: "auto" }, answer.tree)] : [];
    return [first, made, ...nodes];
  }

  /** Shows an answer in a box. Throws where it is not one of these. */
  return {
    show: (box, answer) => box.replaceChildren(...(answer.heads ? tree(answer) : classes(answer))),
  };
})();
