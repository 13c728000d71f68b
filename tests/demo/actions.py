"""What a user does on the page, what the page shows, and how it shows answers that no server gave."""

import json

from tests.demo.server import DEMO

_EXAMPLES = json.loads((DEMO / "examples.json").read_text(encoding="utf-8"))
EXAMPLES = {task: _EXAMPLES[task] for task in ("word_qe", "chunks", "tags")}
"""Those of taggers."""

# What the page shows: of the current step, or of each step, chosen by the slider.
SHOWN = """
const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
const shown = () => {
  const rows = [...document.querySelectorAll('.heat tbody tr')];
  return {
    words: texts('.chip .word'),
    tags: texts('.chip .tag'),
    probabilities: texts('.chip .probability').map(Number),
    attention: rows.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.weight))),
    current: rows.flatMap((row, n) => (row.getAttribute('aria-current') === 'step' ? [n + 1] : [])),
    status: document.querySelector('.status').textContent,
  };
};
"""
AT_EACH_STEP = """
const slider = document.querySelector('.controls input');
return Array.from({length: Number(slider.max)}, (_, n) => {
  slider.value = n + 1;
  slider.dispatchEvent(new Event('input'));
  return shown();
});
"""


def shown(browser):
    """What the page shows of the current step."""
    return browser.run(SHOWN + "return shown();")


def shown_at_each_step(browser):
    return browser.run(SHOWN + AT_EACH_STEP)


def submit(browser, **fields):
    """Fills in the form, sends it and waits for the result."""
    send(browser, **fields)
    wait_for_result(browser)


def send(browser, **fields):
    browser.run(
        "for (const [name, text] of Object.entries(arguments[0])) "
        "document.getElementById(name).value = text; "
        "document.getElementById('result').hidden = true",
        fields,
    )
    browser.one("#submit").click()


def wait_for_result(browser):
    browser.wait_until(
        "!document.getElementById('result').hidden "
        "&& !document.getElementById('form').hasAttribute('aria-busy')"
    )


def click_example(browser, index):
    browser.run("document.getElementById('result').hidden = true")
    browser.all("#example-list button")[index].click()
    wait_for_result(browser)


def describe(task, *labels, step_name="step"):
    colours = {label: f"#{i:06x}" for i, label in enumerate(labels)}
    return {"task": task, "labels": labels, "colours": colours, "step_name": step_name}


GOOD = {**describe("tags", "X"), "title": "T", "max_tokens": 9, "max_batch": 9}


def show(page, answer, description):
    """Replaces what the page shows with the replay of an answer."""
    script = (
        "const div = document.createElement('div'); document.body.replaceChildren(div); "
        "Replay.show(div, arguments[0], arguments[1]);"
    )
    page.run(script, answer, description)
