// Draws the heat map of a trace: a row for each step, a column for each word.
"use strict";

const heatMap = (() => {
  const MAX_CELLS = 5000; // of a table; a larger map is drawn on a canvas
  const STRONG = 0.13; // above this weight the text of a cell is light

  function tableOf(answer, frames, description, direction, choose) {
    const { tokens, trace } = answer;
    const name = description.step_name;
    const what = trace.attention ? "attention" : "probability";
    const head = element("tr", {}, element("td"));
    head.append(...tokens.map((token) => element("th", { scope: "col", title: token }, element("span", { class: "word" }, token))));
    const rows = frames.map((frame, n) => {
      const label = trace.gates ? tokens[n] : String(n + 1);
      const row = element("tr", {}, element("th", { scope: "row" }, label));
      frame.weights.forEach((weight, i) => {
        const cell = element("td", { "data-weight": weight }, decimals(weight), hidden(""));
        cell.style.setProperty("--weight", weight);
        cell.classList.toggle("strong", weight > STRONG);
        row.append(cell);
      });
      row.addEventListener("click", () => choose(n + 1));
      return row;
    });
    const table = element("table", { class: "heat", dir: direction });
    table.classList.toggle("numbers", tokens.length <= 16);
    table.append(element("caption", { class: "visually-hidden" }, `${capital(what)}: a row for each ${name}, a column for each word`));
    table.append(element("thead", {}, head), element("tbody", {}, ...rows));
    // Shows the tags of the frames.
    const paint = () =>
      frames.forEach((frame, n) =>
        frame.tags.forEach((tag, i) => {
          const cell = rows[n].cells[i + 1];
          const isSettled = Boolean(frame.settled?.[i]);
          const number = decimals(frame.probabilities[i]);
          const chance = answer.bad_probabilities ? `${tag}, probability of BAD ${number}` : `${tag} ${number}`;
          cell.title = `${tokens[i]}, ${name} ${rows[n].cells[0].textContent}: ${what} ${decimals(frame.weights[i])}, ${chance}`;
          cell.lastChild.textContent = ` ${tag}${isSettled ? ", final" : ""}`;
          cell.style.setProperty("--tag", description.colours[tag]);
          cell.classList.toggle("settled", isSettled);
        }),
      );
    const columns = tokens.map((_, i) => [head.cells[i + 1], ...rows.map((row) => row.cells[i + 1])]);
    return {
      isTable: true,
      map: table,
      paint,
      mark: (n) =>
        rows.forEach((row, i) => (i + 1 === n ? row.setAttribute("aria-current", "step") : row.removeAttribute("aria-current"))),
      light: (isLit) => {
        columns.forEach((cells, i) => cells.forEach((cell) => cell.classList.toggle("lit", isLit[i])));
        if (isLit.includes(true)) scrollTo(table.parentElement, columns[isLit.indexOf(true)][0]);
      },
    };
  }

  // Scrolls a box sideways until one of its cells is visible; nothing else scrolls.
  function scrollTo(box, cell) {
    const [outer, inner] = [box.getBoundingClientRect(), cell.getBoundingClientRect()];
    const room = 80; // the width of the row numbers, which do not scroll
    if (inner.left < outer.left + room) box.scrollLeft -= outer.left + room - inner.left;
    if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right;
  }

  // Returns the function from weights to colors; the style sheet has the colors of weights 0, 0.25 and 1.
  function scaleOf() {
    const probe = element("span");
    document.body.append(probe);
    const colors = ["--empty", "--heat", "--deep"].map((name) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    });
    probe.remove();
    return (weight) => {
      const at = 2 * Math.sqrt(Math.min(1, weight));
      const [from, to] = at < 1 ? colors : colors.slice(1);
      return from.map((value, i) => value + (to[i] - value) * (at < 1 ? at : at - 1));
    };
  }

  // Draws a pixel for each cell, for long sentences.
  function pictureOf(answer, frames, description, direction, choose) {
    const { tokens, trace } = answer;
    const [width, height] = [tokens.length, frames.length];
    const canvas = element("canvas", { width, height, role: "img" });
    const what = trace.attention ? "attention" : "probability";
    const name = `Heat map of the ${what}: ${height} ${description.step_name}s from top to bottom, ${width} words side by side`;
    canvas.setAttribute("aria-label", name);
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const scale = scaleOf();
    frames.forEach((frame, n) =>
      frame.weights.forEach((weight, i) => image.data.set([...scale(weight), 255], 4 * (n * width + i))),
    );
    context.putImageData(image, 0, 0);
    const marker = element("div", { class: "marker" });
    const column = element("div", { class: "column", hidden: "" });
    marker.style.setProperty("--height", 1 / height);
    column.style.setProperty("--width", 1 / width);
    const cellAt = (event) => ({
      n: Math.min(height - 1, Math.floor((event.offsetY / canvas.clientHeight) * height)),
      i: Math.min(width - 1, Math.floor((event.offsetX / canvas.clientWidth) * width)),
    });
    canvas.addEventListener("click", (event) => choose(1 + cellAt(event).n));
    canvas.addEventListener("pointermove", (event) => {
      const { n, i } = cellAt(event);
      canvas.title = `${tokens[i]}, ${description.step_name} ${n + 1}: ${what} ${decimals(frames[n].weights[i])}, ${frames[n].tags[i]}`;
    });
    return {
      isTable: false,
      paint: () => {}, // it has no tags
      map: element("div", { class: "picture", dir: "ltr" }, canvas, marker, column),
      mark: (n) => marker.style.setProperty("--top", (n - 1) / height),
      light: (isLit) => {
        column.hidden = !isLit.includes(true);
        column.style.setProperty("--left", isLit.indexOf(true) / width);
      },
    };
  }

  /**
   * Draws the map; returns its element `map`, `paint()`, which shows the tags of the frames, `mark(n)`, which marks row n
   * (from 1), and `light(isLit)`, which highlights columns.
   *
   * choose: is called with the row that the user chooses, from 1. The other parameters are those of Replay.show.
   */
  return (answer, frames, description, direction, choose) => {
    const draw = frames.length * answer.tokens.length <= MAX_CELLS ? tableOf : pictureOf;
    return draw(answer, frames, description, direction, choose);
  };
})();
