// What quality estimation shows besides tags: notes on alignments, and a threshold that can be moved.
"use strict";

const Quality = (() => {
  const NOTES = {
    none: "No alignments were given, and the model has no aligner.",
    computed: "The model's aligner computed the alignments. Choose a word: dashed frames mark its source words.",
    unaligned: "A dotted line below a word: it is not aligned.",
    gaps: "The tag and the number of a word belong to the gap before it.",
  };
  const UNITS = { gaps: "gaps", target_and_gaps: "words and gaps" };
  const NAMES = { gaps: "Translation", target_and_gaps: "Translation and gaps", source: "Source" };
  const HINT = "The number of a word is its probability of BAD. A word is tagged BAD at or above the threshold.";

  const percent = (share) => `${Number((100 * share).toFixed(1))}%`;

  /**
   * An answer as it is shown: `source` are the words of the side that is not tagged, `alignments` pair them with the
   * tokens, and `headings` name both.
   */
  function shown(answer) {
    const { tagged, target, alignments } = answer;
    const headings = [tagged === "source" ? "Translation" : "Source", NAMES[tagged] ?? "Translation"];
    if (tagged === "source") return { ...answer, headings, source: target, alignments: alignments.map(([i, j]) => [j, i]) };
    if (tagged === "target_and_gaps") {
      const linked = alignments.flatMap(([i, j]) => [2 * j, 2 * j + 1, 2 * j + 2].map((k) => [i, k]));
      return { ...answer, headings, alignments: linked };
    }
    return { ...answer, headings };
  }

  /** Whether each word of both sides is aligned: `{ source, target }`. True if nothing could align them. */
  function alignedOf(answer) {
    const isUnknown = answer.alignments_from === "none";
    const side = (words, k) => words.map((_, i) => isUnknown || (answer.alignments ?? []).some((pair) => pair[k] === i));
    return { source: side(answer.source ?? [], 0), target: side(answer.tokens, 1) };
  }

  /** `fields` are those that the model uses; without them, all. */
  function notesOf(answer, fields = ["alignments"]) {
    const { source, target } = alignedOf(answer);
    const isPartial = answer.source && [...source, ...target].includes(false);
    const from = fields.includes("alignments") && NOTES[answer.alignments_from];
    const notes = [NOTES[answer.tagged], from, isPartial && NOTES.unaligned];
    return notes.filter(Boolean).map((text) => element("p", { class: "note" }, text));
  }

  /** What the model predicts of a translation, such as "critical error 34%, quality 61, predicted HTER 0.23". */
  function estimatesOf({ critical_error_probability: critical, quality, hter, expected_bad_share }) {
    const shown = [];
    if (critical !== undefined) shown.push(`critical error ${Math.round(100 * critical)}%`);
    if (quality !== undefined) shown.push(`quality ${Math.round(quality)}`);
    if (hter !== undefined) shown.push(`predicted HTER ${decimals(hter)}`);
    return shown.join(", ") || `expected share of BAD words ${decimals(expected_bad_share)}`;
  }

  const countOf = (tags, tagged) => `${tags.filter((tag) => tag !== "OK").length} of ${tags.length} ${UNITS[tagged] ?? "words"} are BAD`;

  const ORIGINS = { model: "the model's", given: "as requested", adaptive: "chosen for the whole input" };

  /**
   * The control of the threshold.
   *
   * own: the threshold of the answer, or null if its tags do not come from one. origin: its `threshold_from`. count:
   * returns in words what the threshold amounts to. retag: is called with a threshold, or with null for the tags of the
   * answer. hint: says what the numbers are.
   */
  function thresholdOf(own, origin, count, retag, hint = HINT) {
    const start = own === null ? 0.5 : Math.min(0.99, Math.max(0.01, own));
    const slider = element("input", { type: "range", min: 0.01, max: 0.99, step: 0.01, value: start });
    const output = element("output", { "aria-live": "off" }); // the slider is announced
    const reset = element("button", { type: "button" }, "Reset");
    const show = (threshold) => {
      const name = own === null ? "the answers' tags" : `${decimals(own)}, ${ORIGINS[origin] ?? ORIGINS.model}`;
      const value = threshold === null ? name : decimals(threshold);
      output.textContent = `${value}. ${count()}.`;
      slider.setAttribute("aria-valuetext", output.textContent);
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

  return { alignedOf, countOf, estimatesOf, notesOf, percent, shown, thresholdOf };
})();
