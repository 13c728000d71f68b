// The form of index.html: asks the server what its model does, sends what is typed, and shows the answer.
"use strict";

const TITLES = {
  word_qe: ["Word-level quality estimation", "Estimate"],
  chunks: ["Named entities", "Tag"],
  tags: ["Sequence tagging", "Tag"],
  dependencies: ["Dependency parsing", "Parse"],
  class: ["Classes of sentences", "Classify"],
  pair: ["Pairs of sentences", "Compare"],
};
const FIELDS = { word_qe: ["source", "target", "alignments"] };
const WITH_TRACE = ["word_qe", "chunks", "tags", "dependencies"];
const HEADS = "Of each word the number of its head, from 1; 0 for the root: 2 0 2.";
const WORDS = "Words and punctuation marks separated by blanks.";
const OTHERS = {
  tags: ["Parts of speech", "One for each word, separated by blanks, such as DET NOUN VERB."],
  first: ["First sentence", WORDS],
  second: ["Second sentence", WORDS],
  first_heads: ["Heads in the first sentence", HEADS],
  second_heads: ["Heads in the second sentence", HEADS],
  tree: ["Tree", "In brackets, with any labels: (0 (0 a) (0 film))."],
};
const LISTS = {
  tags: (text) => text.split(/\s+/).filter(Boolean),
  first_heads: (text) => text.split(/\s+/).filter(Boolean).map(Number),
};
LISTS.second_heads = LISTS.first_heads;

const byId = (id) => document.getElementById(id);
let description = null;
let replay = { stop: () => {} };
let waiting = null; // the AbortController of the current request

/** Sends a request; returns the answer, or throws an Error whose message is for the user. */
async function ask(request, signal) {
  let response;
  try {
    response = await fetch("predict", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  let answer = null;
  try {
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`The server answered with status ${response.status}, and with something other than JSON.`);
  }
  if (!response.ok) {
    const message = typeof answer?.message === "string" && answer.message;
    throw new Error(sentence(message || `The server answered with status ${response.status}`));
  }
  return answer;
}

/** Turns a message of the server, such as `target: expected words`, into a sentence. */
function sentence(message) {
  const text = message[0].toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Shows an error and marks the field with whose name it begins. An empty message hides the error. */
function showError(message) {
  const error = byId("error");
  error.textContent = message;
  error.hidden = message === "";
  if (message) error.scrollIntoView({ block: "nearest" });
  for (const field of document.querySelectorAll("textarea, input")) {
    const isWrong = message.toLowerCase().startsWith(`${field.id}:`);
    field.setAttribute("aria-invalid", isWrong);
    field.setAttribute("aria-describedby", isWrong ? `${field.id}-hint error` : `${field.id}-hint`);
  }
}

const fields = () => description.fields || FIELDS[description.task] || ["sentence"];

/** Adds the fields that only models without tags have. */
function addFields() {
  for (const name of fields().filter((name) => Object.hasOwn(OTHERS, name))) {
    const [label, hint] = OTHERS[name];
    const area = { id: name, rows: 2, dir: "auto", spellcheck: "false", "aria-describedby": `${name}-hint` };
    byId("other-fields").append(
      element("label", { for: name }, label),
      element("p", { class: "hint", id: `${name}-hint` }, hint),
      element("textarea", area),
    );
    byId("other-fields").hidden = false;
  }
}

async function submit() {
  if (waiting) waiting.abort();
  const own = new AbortController();
  waiting = own;
  const request = WITH_TRACE.includes(description.task) ? { trace: true } : {};
  for (const name of fields()) request[name] = (LISTS[name] ?? String)(byId(name).value);
  if (request.alignments?.trim() === "") delete request.alignments; // none are given
  byId("form").setAttribute("aria-busy", "true");
  try {
    const answer = await ask(request, own.signal);
    showError("");
    replay.stop();
    byId("result").hidden = false;
    replay = shown(answer);
    byId("result-title").focus({ preventScroll: true });
    byId("result").scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (error.name === "AbortError") return; // a newer request replaces this one
    replay.stop();
    byId("result").hidden = true;
    showError(error.message);
  } finally {
    if (waiting === own) {
      waiting = null;
      byId("form").removeAttribute("aria-busy");
    }
  }
}

/** Shows an answer; returns its replay. */
function shown(answer) {
  try {
    if (description.labels) return Replay.show(byId("replay"), answer, description);
    Answers.show(byId("replay"), answer);
    return { stop: () => {} };
  } catch (error) {
    console.error(error);
    throw new Error("The server's answer is not what this page expects: is it from a model of allennlp_nef?");
  }
}

/** The text of a field in an example, where words and alignments may be lists. */
function textOf(example, name) {
  const value = example[name] ?? (name === "sentence" ? example.tokens : null) ?? "";
  return Array.isArray(value) ? value.map((item) => (Array.isArray(item) ? item.join("-") : item)).join(" ") : value;
}

async function showExamples() {
  const own = description.examples;
  let examples = own;
  try {
    if (!own?.length) {
      const response = await fetch("examples.json");
      examples = response.ok ? (await response.json())[description.task] || [] : [];
      if (description.fields) examples = examples.filter((one) => fields().every((name) => name in one));
    }
    if (!Array.isArray(examples) || examples.some((one) => !one || typeof textOf(one, fields()[0]) !== "string")) {
      throw new Error(`expected a list of requests for ${description.task}`);
    }
  } catch (error) {
    showError(`The examples cannot be shown. ${own?.length ? "The model" : "examples.json"}: ${sentence(error.message)}`);
    return;
  }
  const items = examples.map((example) => {
    const button = element("button", { type: "button" });
    button.append(
      ...fields()
        .filter((name) => name !== "alignments")
        .map((name) => element("span", { dir: "auto" }, textOf(example, name))),
    );
    button.addEventListener("click", () => {
      for (const name of fields()) byId(name).value = textOf(example, name);
      submit();
    });
    return element("li", {}, button);
  });
  byId("example-list").append(...items);
  byId("examples").hidden = items.length === 0;
  byId("examples-hint").hidden = !own?.length;
}

async function start() {
  try {
    description = await ask({ describe: true });
    if (!Object.hasOwn(TITLES, description?.task) || !Array.isArray(description.labels ?? description.fields)) {
      throw new Error("It answered with something else.");
    }
  } catch (error) {
    byId("model").textContent = "";
    showError(
      `The server does not say what its model does: ${error.message} ` +
        "This page is for models that are served with a predictor of allennlp_nef, such as nef_tagger or word_qe.",
    );
    return;
  }
  const [title, verb] = TITLES[description.task];
  document.title = title;
  byId("title").textContent = title;
  const tags = description.labels ? ` Tags: ${description.labels.join(", ")}.` : "";
  byId("model").textContent = `${description.title}.${tags}`;
  byId("submit").textContent = verb;
  if (description.has_aligner) byId("alignments-hint").append(" Without them, the model's aligner computes them.");
  byId("pair-fields").hidden = description.task !== "word_qe";
  byId("sentence-fields").hidden = !fields().includes("sentence");
  addFields();
  byId("form").hidden = false;
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    }
  });
  await showExamples();
}

start();
