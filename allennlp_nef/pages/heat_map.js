// The heat map of a trace: a table with a row for each step and a column for each word.
"use strict";

const HeatMap = (() => {
  const MAX_CELLS = 20000;
  const STRONG = 0.13; // above this attention, the text of a cell is light

  // Scrolls a box sideways until one of its cells is visible; the page does not scroll.
  function reveal(box, cell) {
    const [outer, inner] = [box.getBoundingClientRect(), cell.getBoundingClientRect()];
    const rowNames = 80; // pixels; they do not scroll
    if (inner.left < outer.left + rowNames) box.scrollLeft -= outer.left + rowNames - inner.left;
    if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right;
  }

  /**
   * Makes the map of an answer; the parameters are those of Replay.show. Calls `choose` with the row, from 1, that the
   * user chooses. Returns null if the map would be too large, else its element `map`; `paint()`, which shows the tags of
   * the frames; `mark(n)`, which marks row n; and `light(isLit)`, which highlights columns.
   */
  function make(answer, frames, description, direction, choose) {
    const { tokens } = answer;
    const name = description.step_name;
    if (frames.length * tokens.length > MAX_CELLS) return null;
    const rows = frames.map(({ attention }, n) => {
      const row = element("tr", {}, element("th", { scope: "row" }, name === "word" ? tokens[n] : String(n + 1)));
      for (const weight of attention) {
        const cell = element("td", {}, decimals(weight), hidden(""));
        cell.style.setProperty("--weight", weight);
        cell.classList.toggle("strong", weight > STRONG);
        row.append(cell);
      }
      row.addEventListener("click", () => choose(n + 1));
      return row;
    });
    const words = tokens.map((token) => element("th", { scope: "col", title: token }, element("span", { class: "word" }, token)));
    const caption = `Attention: a row for each ${name}, a column for each word`;
    const map = element(
      "table",
      { class: tokens.length <= 16 ? "heat numbers" : "heat", dir: direction },
      element("caption", { class: "visually-hidden" }, caption),
      element("thead", {}, element("tr", {}, element("td"), ...words)),
      element("tbody", {}, ...rows),
    );
    const columns = words.map((word, i) => [word, ...rows.map((row) => row.cells[i + 1])]);

    function paint() {
      frames.forEach(({ attention, tags, probabilities, settled }, n) =>
        tags.forEach((tag, i) => {
          const cell = rows[n].cells[i + 1];
          const chance = `${tag}${answer.bad_probabilities ? ", probability of BAD" : ""} ${decimals(probabilities[i])}`;
          cell.title = `${tokens[i]}, ${name} ${rows[n].cells[0].textContent}: attention ${decimals(attention[i])}, ${chance}`;
          cell.lastChild.textContent = ` ${tag}${settled?.[i] ? ", final" : ""}`;
          cell.style.setProperty("--tag", description.colors[tag]);
          cell.classList.toggle("settled", Boolean(settled?.[i]));
        }),
      );
    }

    function mark(n) {
      for (const row of rows) row.removeAttribute("aria-current");
      rows[n - 1].setAttribute("aria-current", "step");
    }

    function light(isLit) {
      columns.forEach((cells, i) => cells.forEach((cell) => cell.classList.toggle("lit", isLit[i])));
      if (isLit.includes(true)) reveal(map.parentElement, words[isLit.indexOf(true)]);
    }

    return { map, paint, mark, light };
  }

  return { MAX_CELLS, make };
})();
