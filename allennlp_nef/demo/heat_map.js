// Draws the heat map of a trace: a row a step, a column a word.
"use strict";

const heatMap = (() => {
  const MOST_CELLS = 5000; // of a table; a larger map is a picture
  const STRONG = 0.13; // weight from which on the text of a cell is light

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
        const isSettled = Boolean(trace.settled_at) && trace.settled_at[i] === n + 1;
        const tag = `${frame.tags[i]} ${decimals(frame.probabilities[i])}`;
        const title = `${tokens[i]}, ${name} ${label}: ${what} ${decimals(weight)}, ${tag}`;
        const cell = element("td", { title, "data-weight": weight }, decimals(weight));
        cell.append(hidden(` ${frame.tags[i]}${isSettled ? ", for good" : ""}`));
        cell.style.setProperty("--weight", weight);
        cell.style.setProperty("--tag", description.colours[frame.tags[i]]);
        cell.classList.toggle("strong", weight > STRONG);
        cell.classList.toggle("settled", isSettled);
        row.append(cell);
      });
      row.addEventListener("click", () => choose(n + 1));
      return row;
    });
    const table = element("table", { class: "heat", dir: direction });
    table.classList.toggle("numbers", tokens.length <= 16);
    table.append(element("caption", { class: "visually-hidden" }, `${capital(what)}: a row a ${name}, a column a word`));
    table.append(element("thead", {}, head), element("tbody", {}, ...rows));
    const columns = tokens.map((_, i) => [head.cells[i + 1], ...rows.map((row) => row.cells[i + 1])]);
    return {
      isTable: true,
      map: table,
      mark: (n) =>
        rows.forEach((row, i) => (i + 1 === n ? row.setAttribute("aria-current", "step") : row.removeAttribute("aria-current"))),
      light: (isLit) => {
        columns.forEach((cells, i) => cells.forEach((cell) => cell.classList.toggle("lit", isLit[i])));
        if (isLit.includes(true)) scrollTo(table.parentElement, columns[isLit.indexOf(true)][0]);
      },
    };
  }

  // Scrolls a box sideways, and nothing else, until a cell of it can be seen.
  function scrollTo(box, cell) {
    const [outer, inner] = [box.getBoundingClientRect(), cell.getBoundingClientRect()];
    const room = 80; // the numbers of the rows stay
    if (inner.left < outer.left + room) box.scrollLeft -= outer.left + room - inner.left;
    if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right;
  }

  // The colours of weights 0, 0.25 and 1 in the style sheet, as numbers.
  function scaleOf() {
    const probe = element("span");
    document.body.append(probe);
    const colours = ["--empty", "--heat", "--deep"].map((name) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    });
    probe.remove();
    return (weight) => {
      const at = 2 * Math.sqrt(Math.min(1, weight));
      const [from, to] = at < 1 ? colours : colours.slice(1);
      return from.map((value, i) => value + (to[i] - value) * (at < 1 ? at : at - 1));
    };
  }

  // A pixel a cell, for long sentences.
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
      map: element("div", { class: "picture", dir: "ltr" }, canvas, marker, column),
      mark: (n) => marker.style.setProperty("--top", (n - 1) / height),
      light: (isLit) => {
        column.hidden = !isLit.includes(true);
        column.style.setProperty("--left", isLit.indexOf(true) / width);
      },
    };
  }

  /**
   * The map, and what marks a row of it (from 1) and lights some of its columns.
   *
   * choose: called with the row that the user chooses, from 1. The others: see Replay.show.
   */
  return (answer, frames, description, direction, choose) => {
    const draw = frames.length * answer.tokens.length <= MOST_CELLS ? tableOf : pictureOf;
    return draw(answer, frames, description, direction, choose);
  };
})();
