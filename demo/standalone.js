// The page that `allennlp plot-sketches --html` writes: the replays of the sentences in it, one under the other where
// several models were compared.
"use strict";

(() => {
  const { models } = JSON.parse(document.getElementById("replay-data").textContent);
  const { element, show } = Replay;
  const sentences = models[0].sentences;
  const select = element("select", { id: "sentence" });
  sentences.forEach(({ tokens }, i) => {
    const text = tokens.slice(0, 12).join(" ");
    select.append(element("option", { value: i }, `${i + 1}. ${text}${tokens.length > 12 ? " …" : ""}`));
  });
  const previous = element("button", { type: "button" }, "Previous");
  const next = element("button", { type: "button" }, "Next");
  const parts = models.map(({ description }) => {
    const replay = element("div");
    return { node: element("section", {}, element("h2", {}, description.title), replay), replay };
  });
  let stops = [];

  function choose(index) {
    select.value = index;
    previous.disabled = index === 0;
    next.disabled = index === sentences.length - 1;
    stops.forEach((stop) => stop());
    stops = models.map(({ description, sentences: own }, i) => show(parts[i].replay, own[index], description));
  }

  select.addEventListener("change", () => choose(Number(select.value)));
  previous.addEventListener("click", () => choose(Number(select.value) - 1));
  next.addEventListener("click", () => choose(Number(select.value) + 1));
  document.body.append(
    element("header", {}, element("h1", {}, document.title)),
    element(
      "main",
      {},
      element("div", { class: "chooser" }, element("label", { for: "sentence" }, "Sentence"), select, previous, next),
      ...parts.map(({ node }) => node),
    ),
  );
  choose(0);
})();
