// What quality estimation shows besides tags: notes on alignments and probabilities, and a threshold that can be moved.
"use strict";

const Quality = (() => {
  const NONE = "No alignments were given, and the model has no aligner: the source is not used for these words.";
  const COMPUTED =
    "No alignments were given: they were computed by the model's aligner. Choose a word: dashed frames mark its source words.";
  const UNALIGNED = "A dotted line below a word: it is aligned with no word of the other side.";

  const GAPS = "The tag and the number of a word are those of the gap before it.";
  const UNITS = { gaps: "gaps", target_and_gaps: "words and gaps" };
  const NAMES = { gaps: "Translation", target_and_gaps: "Translation and gaps", source: "Source" };

  const HINT = "The number of a word is its probability of BAD. From the threshold on, a word is tagged BAD.";

  const percent = (share) => `${Number((100 * share).toFixed(1))}%`;

  /**
   * An answer as it is shown: `source` are the words of the other side, `alignments` are with the tokens. `headings` are
   * those of the other side and of the tokens.
   */
  function shown(answer) {
    const { tagged, target, alignments } = answer;
    const headings = [tagged === "source" ? "Translation" : "Source", NAMES[tagged] ?? "Translation"];
    if (tagged === "source") {
      return { ...answer, headings, source: target, alignments: alignments.map(([i, j]) => [j, i]) };
    }
    if (tagged === "target_and_gaps") {
      const linked = alignments.flatMap(([i, j]) => [2 * j, 2 * j + 1, 2 * j + 2].map((k) => [i, k]));
      return { ...answer, headings, alignments: linked };
    }
    return { ...answer, headings };
  }

  /** For each word of both sides, whether it is aligned: `{ source, target }`. */
  function alignedOf(answer) {
    const side = (words, k) => words.map((_, i) => (answer.alignments || []).some((pair) => pair[k] === i));
    return { source: side(answer.source || [], 0), target: side(answer.tokens, 1) };
  }

  /** What a model that decides which translations need no reviewer says of an answer; undefined for another model. */
  function decisionOf({ accept, error_free_probability: probability }) {
    if (accept === undefined) return undefined;
    return `free of errors: ${percent(probability)}${accept ? ", needs no reviewer" : ""}`;
  }

  /** The notes on an answer, as paragraphs. */
  function notesOf(answer) {
    const decision = decisionOf(answer);
    const notes = decision ? [`${capital(decision)}.`] : [];
    if (answer.tagged === "gaps") notes.push(GAPS);
    if (answer.alignments_from === "none") notes.push(NONE);
    if (answer.alignments_from === "computed") notes.push(COMPUTED);
    if (answer.source && answer.alignments_from !== "none") {
      const { source, target } = alignedOf(answer);
      if ([...source, ...target].includes(false)) notes.push(UNALIGNED);
    }
    if (typeof answer.base_rate === "number") {
      notes.push(`The probabilities were adapted to data in which ${percent(answer.base_rate)} of the words are BAD.`);
    }
    return notes.map((text) => element("p", { class: "note" }, text));
  }

  const countOf = (tags, tagged) => `${tags.filter((tag) => tag !== "OK").length} of ${tags.length} ${UNITS[tagged] ?? "words"} are BAD`;

  /**
   * The control of the threshold, from which on a word is tagged BAD.
   *
   * own: the model's threshold; null: the model's tags do not come from a threshold. count: returns what the shown tags
   * come to, in words. retag: is called with a threshold, or null for the model's tags. hint: says what the numbers are.
   */
  function thresholdOf(own, count, retag, hint = HINT) {
    const start = own === null ? 0.5 : Math.min(0.99, Math.max(0.01, own));
    const slider = element("input", { type: "range", min: 0.01, max: 0.99, step: 0.01, value: start });
    const output = element("output", { "aria-live": "off" }); // the slider says it
    const reset = element("button", { type: "button" }, "Reset to the model's");
    const show = (threshold) => {
      const name = own === null ? "the model's tags" : `${decimals(own)}, the model's`;
      const value = threshold === null ? name : decimals(threshold);
      output.textContent = `${value}. ${count()}.`;
      slider.setAttribute("aria-valuetext", `${value}; ${count()}`);
      reset.disabled = threshold === null;
    };
    slider.addEventListener("input", () => {
      retag(Number(slider.value));
      show(Number(slider.value));
    });
    reset.addEventListener("click", () => {
      slider.value = start;
      slider.focus(); // a disabled button loses the focus
      retag(null);
      show(null);
    });
    show(null);
    const label = element("label", {}, "Threshold of BAD", slider, output);
    return element("div", { class: "threshold" }, element("p", { class: "key" }, hint), label, reset);
  }

  return { alignedOf, countOf, decisionOf, notesOf, percent, shown, thresholdOf };
})();
