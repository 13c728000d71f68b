// The page of `allennlp-nef plot-sketches --html` and of notebooks: the replay of a sentence.
"use strict";

(() => {
  const { description, sentences } = JSON.parse(document.getElementById("page-data").textContent);
  const select = element("select", { id: "sentence" });
  sentences.forEach(({ tokens }, i) => {
    const text = tokens.slice(0, 12).join(" ");
    select.append(element("option", { value: i }, `${i + 1}. ${text}${tokens.length > 12 ? " …" : ""}`));
  });
  const chooser = element("div", { class: "chooser" }, element("label", { for: "sentence" }, "Sentence"), select);
  chooser.hidden = sentences.length === 1;
  const box = element("div");
  const section = element("section", { "aria-labelledby": "model" }, element("h2", { id: "model" }, description.title), box);
  let replay = { stop: () => {} };

  function choose(index) {
    replay.stop();
    replay = Replay.show(box, sentences[index], description);
  }

  select.addEventListener("change", () => choose(Number(select.value)));
  document.body.append(element("header", {}, element("h1", {}, document.title)), element("main", {}, chooser, section));
  choose(0);
})();
