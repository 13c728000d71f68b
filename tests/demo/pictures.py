"""Makes the pictures of the README, from models trained on the fixtures: `make pictures`."""

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from allennlp.predictors import Predictor
from PIL import Image

from allennlp_nef.cli.review import review
from tests.demo.chromium import chromium
from tests.demo.server import DEMO, ROOT, served

CONFIGS = {
    "word_qe": ("qe_nef_f", {}),
    "chunks": ("ner_nef_f_crf_5", {}),
    "labels": ("pos_lan_unscaled", {"trainer.optimizer.lr": 0.1, "trainer.num_epochs": 10}),
}


def allennlp(*arguments):
    command = [sys.executable, "-m", "allennlp", *map(str, arguments)]
    subprocess.run(command, cwd=str(ROOT), env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)


def save(png, path):
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.save(str(path), optimize=True)
    print(f"{path}: {image.width} x {image.height}, {path.stat().st_size // 1024} KiB")


def photograph(browser, address, width, example, step):
    """A picture of the page with an example, at a step, as PNG."""
    browser.resize((width, 800))
    browser.driver.get(address)
    browser.wait_until("document.querySelector('#example-list button')")
    browser.all("#example-list button")[example].click()
    browser.wait_until("document.querySelector('.heat tbody tr')")
    browser.all(".heat tbody tr")[step - 1].click()
    browser.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    return browser.screenshot(width)


def photograph_report(browser, path, width):
    """A picture of the top of a report, with a decision and a chosen word, as PNG."""
    browser.resize((width, 1000 if width > 600 else 1560))
    browser.driver.get(path.as_uri())
    browser.run("localStorage.clear(); location.reload()")
    browser.wait_until("document.querySelector('.card')")
    browser.press("n", "n", "r", "p")
    browser.one(".bad .word").click()
    browser.run("window.scrollTo(0, 0)")
    return browser.driver.get_screenshot_as_png()


def plot(archive, requests, folder, *options):
    path = folder / "requests.jsonl"
    path.write_text("".join(json.dumps(request) + "\n" for request in requests), encoding="utf-8")
    allennlp("plot-sketches", archive, path, "--output", folder, "--format", "png", *options)
    return (folder / "sentence-0001.png").read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "pictures")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    examples = json.loads((DEMO / "examples.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archives = {}
        for task, (config, overrides) in CONFIGS.items():
            options = ("-s", folder / task, "-o", json.dumps(overrides))
            allennlp("train", f"training_configs/{config}.jsonnet", *options)
            archives[task] = folder / task / "model.tar.gz"
        with chromium() as browser:
            with served(Predictor.from_path(str(archives["word_qe"]), "word_qe")) as address:
                save(photograph(browser, address, 1000, 2, 3), output / "page-wide.png")
            with served(Predictor.from_path(str(archives["chunks"]))) as address:
                save(photograph(browser, address, 390, 2, 2), output / "page-narrow.png")
            report = folder / "report.html"
            texts = [str(ROOT / "fixtures" / "qe" / f"test.{ending}") for ending in ("src", "mt")]
            title = "Translations of a morning"
            review(texts, archive=str(archives["word_qe"]), output=str(report), title=title)
            for width, name in ((1000, "review-wide"), (390, "review-narrow")):
                save(photograph_report(browser, report, width), output / f"{name}.png")
        for task, example in (("word_qe", 2), ("chunks", 1)):
            png = plot(archives[task], [examples[task][example]], folder)
            save(png, output / f"sketches-{task.replace('_', '-')}.png")
        png = plot(archives["chunks"], [examples["chunks"][1]], folder, "--saliency")
        save(png, output / "saliency.png")
        options = ("--output", folder / "labels", "--format", "png")
        allennlp("plot-labels", archives["labels"], *options)
        save((folder / "labels" / "labels.png").read_bytes(), output / "labels.png")


if __name__ == "__main__":
    main()
