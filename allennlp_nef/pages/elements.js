// Helpers to make the elements of a page. Words become text nodes, so markup in them is shown as text.
"use strict";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const hidden = (text) => element("span", { class: "visually-hidden" }, text);
const decimals = (value) => value.toFixed(2);
const capital = (text) => text[0].toUpperCase() + text.slice(1);
// A text whose direction does not change the order of the text around it.
const isolated = (text) => `\u2068${text}\u2069`;

// The direction of words, "ltr" or "rtl", from the first letter that has a direction.
function directionOf(words) {
  const probe = element("p", { dir: "auto" }, words.join(" "));
  document.body.append(probe);
  const { direction } = getComputedStyle(probe);
  probe.remove();
  return direction;
}
