"""What the runner has to know of a tagger besides its scores: `tagger.json`."""

from typing import Any

from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.data.aligners import LexicalAligner
from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.token_indexers import AffixesIndexer
from allennlp_nef.exporting.inputs import PlainWords
from allennlp_nef.exporting.plain_tagger import PlainTagger
from allennlp_nef.exporting.unsupported import unsupported
from allennlp_nef.modules.tag_heads import CrfTagHead, TagHead
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor


def settings_of(predictor: TaggingPredictor, tagger: PlainTagger) -> dict[str, Any]:
    """The content of `tagger.json`. Raises `UserError` for a part that cannot be exported."""
    model = predictor._model
    reader: Any = predictor._dataset_reader
    aligner = None
    if isinstance(reader, WmtWordQeReader):
        if reader.tagged != "target" or reader.eos:
            tagged = "<EOS>" if reader.eos else reader.tagged
            raise unsupported(
                "dataset_reader", f"one that tags {tagged}", "one that tags the target"
            )
        if reader.source_tokenizer or reader.target_tokenizer:
            raise unsupported("dataset_reader", "tokenizers", "words between whitespace")
        indexers = {"words": reader._target_token_indexers, "source": reader._source_token_indexers}
        aligner = reader.aligner and _aligner(reader.aligner)
    else:
        indexers = {"words": reader._token_indexers}
    return {
        "task": predictor.task,
        "indices": {
            name: _indices(words, indexers[name], model.vocab)
            for name, words in tagger.words.items()
        },
        "head": _head(model.tag_head),
        "aligner": aligner,
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


def _head(head: TagHead) -> dict[str, Any]:
    chain = head._allowed_chain() if isinstance(head, CrfTagHead) else None
    calibration = head.calibration
    biases = calibration and [calibration.biases.get(label, 0.0) for label in head.labels]
    return {
        "labels": head.labels,
        "bad_ids": head.bad_ids if head.is_word_qe else [],
        "label_weights": head.label_weights.tolist(),
        "chain": chain and [scores.clamp(min=-1e30).tolist() for scores in chain],
        "calibration": calibration and {"temperature": calibration.temperature, "biases": biases},
        "threshold": head.threshold,
        "decides_by_threshold": calibration is not None and calibration.threshold is not None,
    }


def _aligner(aligner: LexicalAligner) -> dict[str, Any]:
    lexicon = aligner.lexicon
    return {
        "counts": [lexicon.source, lexicon.target, lexicon.links],
        "weights": aligner.weights,
        "threshold": aligner.threshold,
    }
