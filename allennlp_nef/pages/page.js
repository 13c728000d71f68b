// The form of index.html: asks the server what its model does, sends a request, and shows the answer.
"use strict";

// By task: the title of the page, the button, and the fields of a request, unless the description has its own.
const TASKS = {
  word_qe: ["Word-level quality estimation", "Estimate", ["source", "target", "alignments"]],
  chunks: ["Named entities", "Tag", ["sentence"]],
  tags: ["Sequence tagging", "Tag", ["sentence"]],
  dependencies: ["Dependency parsing", "Parse", ["sentence"]],
  class: ["Classes of sentences", "Classify", ["sentence"]],
  pair: ["Pairs of sentences", "Compare", ["first", "second"]],
};
const HEADS = "The number of the head of each word, from 1; 0 for the root: 2 0 2.";
const FIELDS = {
  sentence: ["Sentence", ""],
  source: ["Source", "The original sentence."],
  target: ["Translation", "The translation whose words are judged."],
  alignments: ["Alignments", "Optional pairs of a source and a target word, counted from 0: 0-0 1-2. Punctuation marks count as words."],
  tags: ["Parts of speech", "One for each word, separated by blanks, such as DET NOUN VERB."],
  first: ["First sentence", ""],
  second: ["Second sentence", ""],
  first_heads: ["Heads in the first sentence", HEADS],
  second_heads: ["Heads in the second sentence", HEADS],
  tree: ["Tree", "In brackets, with any labels: (0 (0 a) (0 film))."],
};
const list = (text) => text.split(/\s+/).filter(Boolean);
const numbers = (text) => list(text).map(Number);
const PARSERS = { tags: list, first_heads: numbers, second_heads: numbers };

const byId = (id) => document.getElementById(id);
let description = null;
let fields = [];
let replay = { stop: () => {} };
let waiting = null; // the AbortController of the current request

/** Sends a request. Returns the answer, or throws an Error whose message is for the user. */
async function ask(request, signal) {
  let response;
  try {
    const headers = { "Content-Type": "application/json" };
    response = await fetch("predict", { method: "POST", headers, body: JSON.stringify(request), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new Error(capital(answer?.message ?? `The server answered with status ${response.status}.`));
}

/** Shows an error, and marks the field with whose name it begins. An empty message hides the error. */
function showError(message) {
  byId("error").textContent = message;
  byId("error").hidden = message === "";
  for (const name of fields) {
    const isWrong = message.toLowerCase().startsWith(`${name}:`);
    byId(name).setAttribute("aria-invalid", isWrong);
    byId(name).setAttribute("aria-describedby", isWrong ? `${name}-hint error` : `${name}-hint`);
  }
}

function addField(name) {
  const [label, hint] = FIELDS[name] ?? [capital(name), ""];
  byId("fields").append(
    element("label", { for: name }, label),
    element("p", { class: "hint", id: `${name}-hint` }, hint),
    element("textarea", { id: name, rows: name === "alignments" ? 1 : 2, dir: "auto", spellcheck: "false", "aria-describedby": `${name}-hint` }),
  );
}

async function submit() {
  waiting?.abort();
  const own = new AbortController();
  waiting = own;
  const request = description.labels ? { trace: true } : {};
  for (const name of fields) request[name] = (PARSERS[name] ?? String)(byId(name).value);
  if (request.alignments?.trim() === "") delete request.alignments;
  byId("form").setAttribute("aria-busy", "true");
  try {
    const answer = await ask(request, own.signal);
    showError("");
    replay.stop();
    byId("result").hidden = false;
    replay = showAnswer(answer);
    byId("result-title").focus({ preventScroll: true });
    byId("result").scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (error.name === "AbortError") return; // a newer request replaces this one
    byId("result").hidden = true;
    showError(error.message);
  } finally {
    if (waiting === own) byId("form").removeAttribute("aria-busy");
  }
}

/** Shows an answer, and returns its replay. The answers of models that do not tag are shown as JSON. */
function showAnswer(answer) {
  if (description.labels) return Replay.show(byId("answer"), answer, description);
  byId("answer").replaceChildren(element("pre", {}, JSON.stringify(answer, null, 2)));
  return { stop: () => {} };
}

async function showExamples() {
  const response = await fetch("examples.json");
  const all = response.ok ? await response.json() : {};
  const { task, pretrained_encoder: isPretrained } = description;
  const examples = (isPretrained && all[`${task}, pretrained`]) || all[task] || [];
  const needed = fields.filter((name) => name !== "alignments");
  const items = examples
    .filter((example) => needed.every((name) => name in example))
    .map((example) => {
      const texts = needed.map((name) => element("span", { dir: "auto" }, example[name]));
      const notes = example.note ? [element("small", {}, example.note)] : [];
      const button = element("button", { type: "button" }, ...texts, ...notes);
      button.addEventListener("click", () => {
        for (const name of fields) byId(name).value = example[name] ?? "";
        submit();
      });
      return element("li", {}, button);
    });
  byId("example-list").append(...items);
  byId("examples").hidden = items.length === 0;
}

async function start() {
  try {
    const response = await fetch("describe");
    description = response.ok ? await response.json() : {};
    if (!(description.task in TASKS)) throw new Error("It answered with something else.");
  } catch (error) {
    byId("model").textContent = "";
    showError(`${error.message} This page is for models that are served with a predictor of allennlp_nef, such as nef_tagger.`);
    return;
  }
  const [title, verb, ownFields] = TASKS[description.task];
  document.title = title;
  byId("title").textContent = title;
  const tags = description.labels ? ` Tags: ${description.labels.join(", ")}.` : "";
  byId("model").textContent = `${description.title ?? title}.${tags}`;
  byId("submit").textContent = verb;
  fields = description.fields ?? ownFields;
  fields.forEach(addField);
  if (description.has_aligner) byId("alignments-hint")?.append(" Without them, the model's aligner computes them.");
  byId("form").hidden = false;
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("form").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    submit();
  });
  await showExamples();
}

start();
