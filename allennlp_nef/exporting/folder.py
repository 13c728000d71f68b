"""The folder of an exported tagger, and `tagger.json`, which says what the runner has to know besides the scores."""

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.data.aligners import LexicalAligner
from allennlp_nef.data.aligners.encoder_aligner import EncoderAligner
from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.token_indexers import AffixesIndexer
from allennlp_nef.errors import UserError, needing
from allennlp_nef.exporting.plain_tagger import PlainTagger, PlainWords, unsupported
from allennlp_nef.exporting.runner import TOKENIZER_NAME
from allennlp_nef.modules.calibration import ERRORS
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer
from allennlp_nef.modules.sentence_score_head import MIN_SHARE
from allennlp_nef.modules.tag_decoder import TagDecoder
from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.predictors.base import TaggingPredictor


def settings_of(predictor: TaggingPredictor, tagger: PlainTagger) -> dict[str, Any]:
    """The content of `tagger.json`. Raises `UserError` for a part that cannot be exported."""
    model = predictor._model
    reader: Any = predictor._dataset_reader
    aligner = None
    if isinstance(reader, WmtWordQeReader):
        if reader.source_tokenizer or reader.target_tokenizer:
            raise unsupported("dataset_reader", "tokenizers", "words between whitespace")
        indexers = {"words": reader.indexers["target"], "source": reader.indexers["source"]}
        if isinstance(reader.aligner, EncoderAligner):
            raise unsupported("dataset_reader: aligner", reader.aligner, "the file of an aligner")
        aligner = reader.aligner and _aligner(reader.aligner)
        layout: dict[str, Any] | None = {"tagged": reader.tagged, "eos": reader.eos}
    else:
        indexers = {"words": reader.indexers["tokens"]}
        layout = None
    return {
        "task": predictor.task,
        "layout": layout,
        "indices": {
            name: _indices(words, indexers[name], model.vocab)
            for name, words in tagger.words.items()
            if words.names
        },
        "pieces": tagger.pieces and _pieces(tagger.pieces.reader),
        "head": _head(model.tag_decoder),
        "sentence_score": tagger.sentence_score
        and {"scale": tagger.sentence_score.scale.item(), "min_share": MIN_SHARE},
        "aligner": aligner,
    }


def _pieces(reader: PretrainedTransformer) -> dict[str, Any]:
    """What cuts words into pieces, besides the tokenizer, and lays these out."""
    return {
        "special": reader.layout.special,
        "types": reader.layout.types,
        "max_length": reader.max_length,
        "unknown": reader.tokenizer.unk_token_id,
        "padding": reader.tokenizer.pad_token_id or 0,
    }


def _indices(
    words: PlainWords, indexers: dict[str, Any], vocab: Vocabulary
) -> list[dict[str, Any]]:
    """What gives the columns of indices."""
    settings = []
    for name in words.names:
        indexer = indexers[name]
        if type(indexer) is AffixesIndexer:
            sides = {"prefixes": indexer._prefixes, "suffixes": indexer._suffixes}
            tables = {
                side: [vocab.get_token_to_index_vocabulary(each) for each in namespaces]
                for side, namespaces in sides.items()
            }
            settings.append({**tables, "case": indexer._case})
        elif _is_plain(indexer):
            settings.append(
                {
                    "words": vocab.get_token_to_index_vocabulary(indexer.namespace),
                    "lowercase": indexer.lowercase_tokens,
                }
            )
        else:
            raise unsupported(f"token_indexers: {name}", indexer, "single_id of words or affixes")
    return settings


def _is_plain(indexer: Any) -> bool:
    return (
        type(indexer) is SingleIdTokenIndexer
        and indexer.namespace is not None
        and indexer._feature_name == "text"
        and not (indexer._start_tokens or indexer._end_tokens)
    )


def _head(decoder: TagDecoder) -> dict[str, Any]:
    head = decoder.head
    chain = head._allowed_chain() if isinstance(head, CrfTagHead) else None
    calibration = decoder.calibration
    biases = calibration and [calibration.biases.get(label, 0.0) for label in head.labels]
    return {
        "labels": head.labels,
        "bad_ids": decoder.bad_ids if decoder.is_word_qe else [],
        "label_weights": head.label_weights.tolist(),
        "chain": chain and [scores.clamp(min=-1e30).tolist() for scores in chain],
        "calibration": calibration and {"temperature": calibration.temperature, "biases": biases},
        "threshold": decoder.threshold,
        "decides_by_threshold": calibration is not None and calibration.threshold is not None,
        "base_rate": calibration and calibration.base_rate,
        "acceptance": decoder.acceptance and {**vars(decoder.acceptance), "errors": ERRORS},
    }


def _aligner(aligner: LexicalAligner) -> dict[str, Any]:
    lexicon = aligner.lexicon
    return {
        "counts": [lexicon.source, lexicon.target, lexicon.links],
        "weights": aligner.weights,
        "threshold": aligner.threshold,
    }


PACKAGE = Path(__file__).resolve().parent.parent
RUNNER = "nef_runner"
SHARED = (
    "errors.py",
    "data/affixes.py",
    "data/piece_layouts.py",
    "data/word_similarity.py",
    "data/formats/characters.py",
    "data/formats/chunks.py",
    "data/formats/error_spans.py",
    "data/formats/text_files.py",
    "data/formats/wmt_layouts.py",
    "data/formats/word_alignments.py",
    "data/aligners/lexical_aligner.py",
)
"""The modules that `runner` imports."""
PROGRAM = f"""import sys
from pathlib import Path

from {RUNNER} import main

sys.exit(main(Path(__file__).resolve().parent))
"""
_IMPORT = re.compile(r"^from allennlp_nef\.(?:\w+\.)*(\w+) import", re.MULTILINE)


def write_folder(predictor: TaggingPredictor, folder: Path, int8: bool = False) -> list[str]:
    """Writes the tagger of a predictor, and returns the names of the files.

    # Parameters

    predictor : `TaggingPredictor`
    folder : `Path`
        Files of an older export are overwritten.
    int8 : `bool`, optional (default = `False`)
        Whether to write a quantized model, too.

    # Raises

    `UserError`: a part of the tagger that cannot be exported, a package that is not installed, a folder of something
    else.
    """
    tagger = PlainTagger(predictor._model)
    settings = settings_of(predictor, tagger)
    _check_packages()
    names = ["tagger.onnx", "tagger.pt2", "tagger.json", RUNNER, "__main__.py"]
    older = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if older and not older & {"tagger.pt2", "tagger.json"}:
        raise UserError(f"{folder}: expected a new folder or an older export, got another folder")
    folder.mkdir(parents=True, exist_ok=True)
    # It comes last, and tagger.pt2 first: what was interrupted is no export, and the next one replaces it.
    (folder / "tagger.json").unlink(missing_ok=True)
    program = exported_program(tagger)
    torch.export.save(program, str(folder / "tagger.pt2"))
    write_onnx(program, folder / "tagger.onnx", tagger.input_names, tagger.output_names)
    tokenizer = folder / TOKENIZER_NAME
    tokenizer.unlink(missing_ok=True)
    if tagger.pieces is not None:
        names.insert(2, TOKENIZER_NAME)
        text = tagger.pieces.reader.tokenizer.backend_tokenizer.to_str()
        tokenizer.write_text(text, encoding="utf-8")
    if int8:
        names.insert(1, "tagger.int8.onnx")
        quantize(folder / "tagger.onnx", folder / "tagger.int8.onnx")
    elif (folder / "tagger.int8.onnx").exists():
        (folder / "tagger.int8.onnx").unlink()  # it is of another model
    write_runner(folder)
    text = json.dumps(settings, ensure_ascii=False)
    (folder / "tagger.json").write_text(text, encoding="utf-8")
    return names


def exported_program(tagger: PlainTagger) -> Any:
    """The tagger as a program of `torch.export`, for any number of sentences and words."""
    shapes = {"inputs": tagger.dynamic_shapes()}
    with torch.no_grad():
        return torch.export.export(
            tagger, tagger.example_inputs(), dynamic_shapes=shapes, strict=False
        )


def write_onnx(program: Any, path: Path, input_names: list[str], output_names: list[str]) -> None:
    """Writes a program as ONNX, and checks it."""
    import onnx

    with _quiet():
        exported: Any = torch.onnx.export(
            program,
            input_names=input_names,
            output_names=output_names,
            dynamo=True,
            verbose=False,
        )
        exported.save(str(path), external_data=False)
    onnx.checker.check_model(str(path))


def quantize(path: Path, output: Path) -> None:
    """Writes a model whose embeddings and matrix products have 8-bit weights, with a scale for each column.

    Products that reduce the dimension stay in 32 bits: those of the scores, and those of a transformer that have a few
    very large inputs (Dettmers et al., "LLM.int8()", NeurIPS 2022).
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
    with _quiet():
        quantize_dynamic(
            str(path),
            str(output),
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_exclude=kept,
            extra_options={"EnableSubgraph": True},  # loops, too
        )


def _with_subgraphs(graph: Any) -> Iterator[Any]:
    """A graph, and those of its loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _with_subgraphs(attribute.g)


def write_runner(folder: Path) -> None:
    """Writes the runner, a package without imports of allennlp_nef, and the program that Python runs for a folder."""
    package = folder / RUNNER
    package.mkdir(exist_ok=True)
    for name in ("exporting/runner.py", *SHARED):
        text = _IMPORT.sub(
            rf"from {RUNNER}.\1 import", (PACKAGE / name).read_text(encoding="utf-8")
        )
        copy = package / Path(name).name.replace("runner.py", "__init__.py")
        copy.write_text(text, encoding="utf-8")
    (folder / "__main__.py").write_text(PROGRAM, encoding="utf-8")


def _check_packages() -> None:
    with needing("export", "export"):
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings and log lines of the exporter, which are about operations that are not used."""
    import logging

    loggers = [logging.getLogger(name) for name in ("onnxscript", "onnx_ir", "torch.onnx", "")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(loggers, levels):
            each.setLevel(level)
