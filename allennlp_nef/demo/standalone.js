// The page that `allennlp plot-sketches --html` writes, and that notebooks show of a trace: the replay of a sentence, for
// each of the compared models.
"use strict";

(() => {
  const { models } = JSON.parse(document.getElementById("page-data").textContent);
  const sentences = models[0].sentences;
  const select = element("select", { id: "sentence" });
  sentences.forEach(({ tokens }, i) => {
    const text = tokens.slice(0, 12).join(" ");
    select.append(element("option", { value: i }, `${i + 1}. ${text}${tokens.length > 12 ? " …" : ""}`));
  });
  const previous = element("button", { type: "button" }, "Previous");
  const next = element("button", { type: "button" }, "Next");
  const chooser = element("div", { class: "chooser" }, element("label", { for: "sentence" }, "Sentence"), select, previous, next);
  chooser.hidden = sentences.length === 1;
  const boxes = models.map(() => element("div"));
  const sections = models.map(({ description }, i) =>
    element("section", { "aria-labelledby": `model-${i}` }, element("h2", { id: `model-${i}` }, description.title), boxes[i]),
  );
  let replays = [];

  function choose(index) {
    select.value = index;
    previous.disabled = index === 0;
    next.disabled = index === sentences.length - 1;
    replays.forEach(({ stop }) => stop());
    replays = models.map(({ description, sentences: own }, i) =>
      // A step that is chosen for one model is shown for all.
      Replay.show(boxes[i], own[index], description, (n) => replays.forEach((other, k) => k !== i && other.choose(n))),
    );
  }

  select.addEventListener("change", () => choose(Number(select.value)));
  for (const [button, other, step] of [[previous, next, -1], [next, previous, 1]]) {
    button.addEventListener("click", () => {
      choose(Number(select.value) + step);
      if (button.disabled) other.focus(); // a disabled button loses the focus
    });
  }
  document.body.append(
    element("header", {}, element("h1", {}, document.title)),
    element("main", {}, chooser, ...sections),
  );
  choose(0);
})();
