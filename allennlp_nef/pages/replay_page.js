// The page of `allennlp-nef plot-sketches --html` and of notebooks: the replay of a sentence, for each model.
"use strict";

(() => {
  const { models } = JSON.parse(document.getElementById("page-data").textContent);
  const { sentences } = models[0];
  const select = element("select", { id: "sentence" });
  sentences.forEach(({ tokens }, i) => {
    const text = tokens.slice(0, 12).join(" ");
    select.append(element("option", { value: i }, `${i + 1}. ${text}${tokens.length > 12 ? " …" : ""}`));
  });
  const chooser = element("div", { class: "chooser" }, element("label", { for: "sentence" }, "Sentence"), select);
  chooser.hidden = sentences.length === 1;
  const boxes = models.map(() => element("div"));
  const sections = models.map(({ description }, i) =>
    element("section", { "aria-labelledby": `model-${i}` }, element("h2", { id: `model-${i}` }, description.title), boxes[i]),
  );
  let replays = [];

  function choose(index) {
    replays.forEach(({ stop }) => stop());
    // A step that is chosen for one model is shown for all of them.
    const follow = (i) => (n) => replays.forEach((other, k) => k !== i && other.choose(n));
    replays = models.map(({ description, sentences: own }, i) => Replay.show(boxes[i], own[index], description, follow(i)));
  }

  select.addEventListener("change", () => choose(Number(select.value)));
  document.body.append(element("header", {}, element("h1", {}, document.title)), element("main", {}, chooser, ...sections));
  choose(0);
})();
