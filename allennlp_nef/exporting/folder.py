"""The folder of an exported tagger: the graph, and the settings of the runner."""

import json
import logging
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.data.token_indexers import AffixesIndexer
from allennlp_nef.data.word_pieces import WordPiecesIndexer
from allennlp_nef.errors import needing
from allennlp_nef.exporting import runner
from allennlp_nef.exporting.plain_tagger import PlainTagger, unsupported
from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.predictors.base import TaggingPredictor


def write_folder(predictor: TaggingPredictor, folder: Path, int8: bool = False) -> list[str]:
    """Exports the tagger of a predictor. Returns the names of the files.

    With `int8`, also writes a graph with 8-bit weights.

    # Raises

    `UserError`: a part of the tagger that cannot be exported, or a missing package.
    """
    with needing("export", "export"):
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401

    tagger = PlainTagger(predictor._model)
    settings = settings_of(predictor, tagger)
    folder.mkdir(parents=True, exist_ok=True)
    names = ["tagger.onnx", "tagger.json", "runner.py"]
    (folder / "tagger.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "tagger.int8.onnx").unlink(missing_ok=True)  # of an older export
    shutil.copy(runner.__file__, folder / "runner.py")
    if tagger.reader is not None:
        names.append("tokenizer.json")
        tagger.reader.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    write_graph(tagger, settings, folder)
    if int8:
        names.append("tagger.int8.onnx")
        quantize(folder / "tagger.onnx", folder / "tagger.int8.onnx")
    return names


def settings_of(predictor: TaggingPredictor, tagger: PlainTagger) -> dict[str, Any]:
    """The content of `tagger.json`. Raises a `UserError` for an indexer that cannot be exported."""
    model: Any = tagger.model
    dataset_reader: Any = predictor._dataset_reader
    head = model.tag_head
    settings: dict[str, Any] = {
        "labels": head.labels,
        "label_weights": head.label_weights.tolist(),
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
    if isinstance(head, CrfTagHead):
        settings["chain"] = [scores.tolist() for scores in head.constrained_chain()]
    if tagger.is_qe:
        tokenizers = dataset_reader.source_tokenizer, dataset_reader.target_tokenizer
        settings["qe"] = {
            "splits_text": tokenizers == (None, None),
            "tagged": dataset_reader.tagged,
            "eos": dataset_reader.eos,
            "bad_ids": model.bad_ids,
            "ok": head.labels[model.ok_id],
            "temperature": model.temperature,
            "threshold": model.threshold_or_default,
        }
    if tagger.reader is not None:
        settings["window"] = {
            "slots": tagger.reader.template._slots,
            "max_length": tagger.reader.max_length,
        }
    return settings


def _indexer(name: str, indexer: Any, vocab: Vocabulary) -> dict[str, Any]:
    """What turns words into indices."""
    table = vocab.get_token_to_index_vocabulary
    if type(indexer) is WordPiecesIndexer:
        return {"unknown_piece": indexer.tokenizer.unk_token_id}
    if type(indexer) is AffixesIndexer and not indexer._case:
        sides = {"prefixes": indexer._prefixes, "suffixes": indexer._suffixes}
        return {side: list(map(table, namespaces)) for side, namespaces in sides.items()}
    is_plain = type(indexer) is SingleIdTokenIndexer and indexer._feature_name == "text"
    if not is_plain or indexer.namespace is None or indexer._start_tokens or indexer._end_tokens:
        raise unsupported(name, indexer, "single_id, affixes without case, or word_pieces")
    return {"words": table(indexer.namespace), "lowercase": indexer.lowercase_tokens}


def write_graph(tagger: PlainTagger, settings: dict[str, Any], folder: Path) -> None:
    """Writes `tagger.onnx`, for any number of sentences and words, with the inputs of the runner."""
    words = list("abcde")
    requests = ({"tokens": words[:n], "source": words[:3], "target": words[:n]} for n in (5, 3))
    examples = [runner.parse(request, settings["qe"]) for request in requests]
    arrays = runner.Indexer(settings, folder).inputs(examples)
    fields = {name: torch.from_numpy(array) for name, array in arrays.items()}
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

    Products that reduce the dimension stay in 32 bits: the scores, and products of a transformer that have a few very
    large inputs (Dettmers et al., "LLM.int8()", NeurIPS 2022).
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
            extra_options={"EnableSubgraph": True},  # of scans and loops
        )


def _with_subgraphs(graph: Any) -> Iterator[Any]:
    """A graph, and the graphs of its scans and loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _with_subgraphs(attribute.g)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the exporters' warnings about operations that are not used, and their progress."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
