"""Small taggers to export, with random weights."""

import json
import random

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.predictors import Predictor

import allennlp_nef  # noqa: F401  # registers the components
from tests.predictors.small_models import ENTITIES

WORDS = [word for text, _ in ENTITIES for word in text.split()]
UNSEEN = ["@@PADDING@@", "Änne", "ROME", "anna", "house"]
BILSTM = {"type": "lstm", "input_size": None, "hidden_size": 5, "bidirectional": True}
NEF = {"type": "neural_easy_first", "input_dim": None, "sketch_dim": 4, "preattention_dim": 3}
PASS = {"type": "pass_through", "input_dim": None}


def words(side, **options):
    """The indexers and the embedder of words and affixes."""
    tokens, affixes = {"namespace": f"{side}tokens"}, {"type": "affixes", "namespace": f"{side}a"}
    embedding = {"type": "embedding", "embedding_dim": 6, "vocab_namespace": tokens["namespace"]}
    indexers = {"tokens": {"type": "single_id", **tokens, **options}, "affixes": affixes}
    return indexers, {"tokens": embedding, "affixes": {**affixes, "embedding_dim": 3}}


def tagger(reader="conll_tags", indexers=None, embedders=None, **model):
    return {
        "dataset_reader": {"type": reader, "token_indexers": indexers},
        "model": {
            "type": "nef_tagger",
            "text_field_embedder": {"token_embedders": embedders},
            **model,
        },
    }


def quality_estimator(tagged="target", eos=False, **model):
    (source, source_embedders), (target, target_embedders) = map(words, ("source_", "target_"))
    pair = {
        "type": "aligned_pair",
        "source_embedder": {"token_embedders": source_embedders},
        "target_embedder": {"token_embedders": target_embedders},
        "word_similarity": True,
    }
    reader = {"type": "wmt_word_qe", "tagged": tagged, "eos": eos, "word_similarity": True}
    indexers = {"source_token_indexers": source, "target_token_indexers": target}
    model = {"type": "word_qe_tagger", "pair_embedder": pair, "encoder": BILSTM, **model}
    return {"dataset_reader": {**reader, **indexers}, "model": model}


def configs(transformer):
    """Configs by name; `transformer` is the folder of a pretrained one."""
    pieces = {"type": "word_pieces", "model_name": transformer}
    indexers, embedders = words("")
    lower, _ = words("", lowercase_tokens=True)
    pair = {"type": "transformer_pair", "model_name": transformer, "aligned_source": True}
    pair_config = quality_estimator(eos=True, pair_embedder=pair, encoder=PASS, threshold=0.4)
    for side in ("source", "target"):
        pair_config["dataset_reader"][f"{side}_token_indexers"] = {"pieces": pieces}
    return {
        "crf": tagger(
            indexers=indexers,
            embedders=embedders,
            encoder=BILSTM,
            decoder={**NEF, "num_steps": 3},
            tag_head={"type": "crf", "constraints": "BIO"},
        ),
        "length": tagger(
            indexers={"tokens": lower["tokens"], "pieces": pieces},
            embedders={
                "tokens": embedders["tokens"],
                "pieces": {**pieces, "sub_token_mode": "avg"},
            },
            encoder={**BILSTM, "type": "gru"},
            decoder={**NEF, "num_steps": "length", "sketch_update": "single"},
            tag_head={"label_weights": {"O": 2}},
        ),
        "gaps": quality_estimator(
            "target_and_gaps",
            sentence_score={},
            temperature=1.5,
            tag_head={"label_weights": {"BAD": 3}},
        ),
        "transformer": pair_config,
    }


def predictor_of(config):
    """The predictor of a tagger with random weights."""
    params = Params(json.loads(json.dumps(config)))
    reader = DatasetReader.from_params(params["dataset_reader"])
    is_qe = config["model"]["type"] == "word_qe_tagger"
    if is_qe:
        tags = ["OK", "BAD"] * (len(WORDS) + 1)
        number = {"target_and_gaps": 2 * len(WORDS) + 1}.get(reader.tagged, len(WORDS) + reader.eos)
        instance = reader.text_to_instance(WORDS, WORDS, [(0, 0)], tags[:number])
    else:
        tags = (["O", "B-PER", "I-PER", "B-LOC", "I-LOC"] * 4)[: len(WORDS)]
        instance = reader.text_to_instance(WORDS, tags)
    reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances([instance])
    torch.manual_seed(0)
    model = Model.from_params(params["model"], vocab=vocab).eval()
    for parameter in model.parameters():  # decisions far from each other
        parameter.data *= 3
    return Predictor.by_name(model.default_predictor)(model, reader)


def requests_for(predictor, max_words, number=60):
    """Requests of 1 to `max_words` words, with and without alignments."""
    rng = random.Random(0)

    def sentence():
        return [rng.choice(WORDS + UNSEEN) for _ in range(rng.randint(1, max_words))]

    if predictor.task != "word_qe":
        return [{"tokens": sentence()} for _ in range(number)]
    requests = []
    for i in range(number):
        source, target = sentence(), sentence()
        links = [[rng.randrange(len(source)), rng.randrange(len(target))] for _ in range(i % 4)]
        given = [links, " ".join(f"{i}-{j}" for i, j in links)][i % 2]
        requests.append({"source": source, "target": " ".join(target), "alignments": given})
    return requests
