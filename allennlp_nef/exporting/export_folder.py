"""The folder of an exported tagger: the graph, and the settings of the runner."""

import importlib
import json
import logging
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.data.affixes import AffixesIndexer
from allennlp_nef.data.tokenizers import PunctuationTokenizer
from allennlp_nef.errors import require_extra
from allennlp_nef.exporting import runner
from allennlp_nef.exporting.exportable_tagger import ExportableTagger, unsupported
from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.pretrained.word_pieces import WordPiecesIndexer
from allennlp_nef.qe.aligner import ALIGNER_NAME, save_aligner

# The modules that the runner imports. They need nothing but NumPy.
MODULES = (
    *("errors", "data.chunks", "data.files", "data.sentence", "data.word_splitting"),
    *("predictors.answers", "predictors.requests"),
    *(
        "qe.aligner",
        "qe.answers",
        "qe.check_tables",
        "qe.checks",
        "qe.layouts",
        "qe.spans",
        "qe.translated_sentence",
    ),
)
OPTIONAL_FILES = ("tagger.int8.onnx", "tokenizer.json", ALIGNER_NAME)


def write_folder(predictor: Any, folder: Path, int8: bool = False) -> list[str]:
    """Exports the tagger of a predictor. Returns the names of the files and folders.

    With `int8`, also writes a graph with 8-bit weights. The files are complete before the first of them replaces a file
    of an older export.

    # Raises

    `UserError`: a part of the tagger that cannot be exported, or a missing package.
    """
    with require_extra("export", "export"):
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401

    tagger = ExportableTagger(predictor._model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:
        new = Path(temporary)
        settings = settings_of(predictor, tagger, new)
        (new / "tagger.json").write_text(json.dumps(settings), encoding="utf-8")
        write_graph(tagger, settings, new)
        if int8:
            quantize(new / "tagger.onnx", new / "tagger.int8.onnx")
        copy_runner(new)
        names = sorted(path.name for path in new.iterdir())
        for name in OPTIONAL_FILES:
            (folder / name).unlink(missing_ok=True)  # of an older export
        for path in new.rglob("*.*"):
            target = folder / path.relative_to(new)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    return names


def copy_runner(folder: Path) -> None:
    """Copies the runner and the modules that it imports, in packages without other code."""
    shutil.copy(runner.__file__, folder / "runner.py")
    for name in MODULES:
        source = importlib.import_module(f"allennlp_nef.{name}").__file__
        target = folder / "allennlp_nef" / f"{name.replace('.', '/')}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        (target.parent / "__init__.py").touch()
        shutil.copy(str(source), target)


def settings_of(predictor: Any, tagger: ExportableTagger, folder: Path) -> dict[str, Any]:
    """Returns the content of `tagger.json`. Writes the files of tokenizers and the aligner.

    # Raises

    `UserError`: an indexer that cannot be exported.
    """
    model: Any = tagger.model
    dataset_reader: Any = predictor._dataset_reader
    head = model.tag_head
    settings: dict[str, Any] = {
        "labels": head.labels,
        "label_weights": head.label_weights.tolist(),
        "max_tokens": predictor.max_tokens,
        "chain": None,
        "qe": None,
        "window": None,
        "sides": {
            side: {
                name: _indexer(f"{side}.{name}", each, model.vocab)
                for name, each in indexers.items()
            }
            for side, indexers in dataset_reader.indexers.items()
        },
    }
    tokenizers: dict[str, Any]
    if isinstance(head, CrfTagHead):
        settings["chain"] = [scores.tolist() for scores in head.constrained_chain()]
    if tagger.is_qe:
        names = ("source", "target")
        tokenizers = {name: getattr(dataset_reader, f"{name}_tokenizer") for name in names}
        settings["qe"] = {
            "tagged": dataset_reader.tagged,
            "eos": dataset_reader.eos,
            "bad_ids": model.bad_ids,
            "outputs": model.outputs,
            "thresholds": model.thresholds,
            "temperature": model.temperature,
            "threshold": model.threshold_or_default,
            "checks": predictor.checks,
        }
        if dataset_reader.aligner is not None:
            save_aligner(dataset_reader.aligner, str(folder / ALIGNER_NAME))
    else:
        tokenizers = {"sentence": getattr(predictor, "tokenizer", None)}
    settings["rules"] = {
        name: _rules(name, each or PunctuationTokenizer(), tagger, folder)
        for name, each in tokenizers.items()
    }
    if tagger.reader is not None:
        tagger.reader.tokenizer.save(str(folder / "tokenizer.json"))
        settings["window"] = {
            "slots": tagger.reader.template.slots,
            "max_length": tagger.reader.max_length,
        }
    return settings


def _rules(
    field: str, tokenizer: Any, tagger: ExportableTagger, folder: Path
) -> dict[str, Any] | None:
    """Returns the options of the tokenizer of a field; None for a tokenizer that cannot be exported."""
    if type(tokenizer) is not PunctuationTokenizer:
        return None
    name, pieces = None, tokenizer.pieces
    if tagger.reader is not None and pieces is tagger.reader.tokenizer:
        name = "tokenizer.json"
    elif pieces is not None:
        name = f"{field}_pieces.json"
        pieces.save(str(folder / name))
    return {"split_cjk": tokenizer.split_cjk, "pieces": name}


def _indexer(name: str, indexer: Any, vocab: Vocabulary) -> dict[str, Any]:
    """Returns the settings that turn words into indices."""
    table = vocab.get_token_to_index_vocabulary
    if type(indexer) is WordPiecesIndexer:
        return {"unknown_piece": indexer.unknown, "title_case": indexer.title_case}
    if type(indexer) is AffixesIndexer:
        sides = {"prefixes": indexer._prefixes, "suffixes": indexer._suffixes}
        return {side: list(map(table, namespaces)) for side, namespaces in sides.items()}
    is_plain = type(indexer) is SingleIdTokenIndexer and indexer._feature_name == "text"
    if not is_plain or indexer.namespace is None or indexer._start_tokens or indexer._end_tokens:
        raise unsupported(name, indexer, "single_id, affixes or word_pieces")
    return {"words": table(indexer.namespace), "lowercase": indexer.lowercase_tokens}


def write_graph(tagger: ExportableTagger, settings: dict[str, Any], folder: Path) -> None:
    """Writes `tagger.onnx`, which takes the runner's inputs, with any number of sentences and words."""
    words, indexer = list("abcde"), runner.Indexer(settings, folder)
    rows = [
        indexer.inputs({side: words[: 4 if side == "source" else n] for side in settings["sides"]})
        for n in (5, 3)
    ]
    fields = {name: torch.from_numpy(runner.stack([row[name] for row in rows])) for name in rows[0]}
    dims = {name: 3 if name in ("alignments", "similarity") else 2 for name in fields}
    shapes = {name: dict.fromkeys(range(n), torch.export.Dim.DYNAMIC) for name, n in dims.items()}
    with quiet(), torch.no_grad():
        program = torch.export.export(tagger, (fields,), dynamic_shapes=(shapes,), strict=False)
        exported: Any = torch.onnx.export(
            program, input_names=list(fields), dynamo=True, verbose=False
        )
        exported.save(str(folder / "tagger.onnx"))


def quantize(path: Path, output: Path) -> None:
    """Writes a graph whose embeddings and matrix products have 8-bit weights, with a scale for each column.

    Products that reduce the dimension stay in 32 bits: the scores, and transformer products with a few very large
    inputs (Dettmers et al., "LLM.int8()", NeurIPS 2022).
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graphs = list(_with_subgraphs(onnx.load(str(path)).graph))
    shapes = {weight.name: weight.dims for graph in graphs for weight in graph.initializer}
    kept = []
    for node in (node for graph in graphs for node in graph.node if node.op_type == "MatMul"):
        rows, columns = [*shapes.get(node.input[1], (0, 0)), 1][:2]
        if rows > columns:
            kept.append(node.name)
    with quiet():
        quantize_dynamic(
            str(path),
            str(output),
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_exclude=kept,
            extra_options={"EnableSubgraph": True},  # in scans and loops
        )


def _with_subgraphs(graph: Any) -> Iterator[Any]:
    """Yields a graph, and the graphs of its scans and loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _with_subgraphs(attribute.g)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppresses the exporters' warnings about unused operations, and their progress."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
