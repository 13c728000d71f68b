import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.data.metadata import TaggingMetadata, tagging_metadata
from allennlp_nef.data.saved_examples import FILE_NAME, Request, request_of, write_examples
from allennlp_nef.modules.checks import check_integers

logger = logging.getLogger(__name__)


@TrainerCallback.register("save_examples")
class SaveExamples(TrainerCallback):
    """Keeps a few sentences of the validation data with the model, as examples for the page that shows it.

    It writes them as requests into `examples.jsonl` in the folder of the run, before the first epoch. The config's
    `include_in_archive: ["examples.jsonl"]` puts the file into the archive. The lengths of the sentences are spread
    over the quantiles of those with at most `max_words` words; of sentences of a length it takes the first ones.
    Sentences with a blank in a word are left out: the page splits at blanks.

    Registered as a `TrainerCallback` with name "save_examples".

    # Parameters

    count : `int`, optional (default = `5`)
        At least 1. How many sentences; fewer where the data have fewer.
    max_words : `int`, optional (default = `25`)
        At least 1. In quality estimation of either side.
    """

    def __init__(self, serialization_dir: str, count: int = 5, max_words: int = 25) -> None:
        super().__init__(serialization_dir)
        check_integers(count=count, max_words=max_words)
        self.count = count
        self.max_words = max_words

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, is_primary: bool = True, *args: Any, **kwargs: Any) -> None:
        # At the start, so that the file is there however the training ends.
        if not is_primary:
            return
        loader = trainer._validation_data_loader
        if loader is None:
            logger.warning("There are no validation data: %s is not written.", FILE_NAME)
            return
        sentences = tagging_metadata(
            getattr(instance.fields.get("metadata"), "metadata", None)
            for instance in loader.iter_instances()
        )
        known = [sentence for sentence in sentences if sentence is not None]
        if len(known) < len(sentences):
            logger.warning(
                "The validation data are of a dataset reader of another package: %s is not written.",
                FILE_NAME,
            )
            return
        reader = getattr(loader, "reader", None)
        tokenizers = (getattr(reader, f"{side}_tokenizer", None) for side in ("source", "target"))
        requests = self.choose(known, any(tokenizers))
        if not requests:
            logger.warning(
                "The validation data have no sentence of at most %d words (max_words of save_examples): "
                "%s has no examples.",
                *(self.max_words, FILE_NAME),
            )
        write_examples(self.serialization_dir, requests)

    def choose(self, sentences: Iterable[TaggingMetadata], as_lists: bool = False) -> list[Request]:
        """The requests for the sentences that are chosen, the shortest one first."""
        first: dict[int, list[Request]] = defaultdict(list)
        counts: dict[int, int] = defaultdict(int)
        for sentence in sentences:
            sides = [sentence.target or sentence.tokens, sentence.source or []]
            length = max(map(len, sides))
            if length > self.max_words or any(word.split() != [word] for word in sum(sides, [])):
                continue
            counts[length] += 1
            if len(first[length]) < self.count:
                first[length].append(request_of(sentence, as_lists))
        lengths = [length for length in sorted(counts) for _ in range(counts[length])]
        number = min(self.count, len(lengths))
        # The middle of each of `number` equal parts.
        chosen = [lengths[(2 * i + 1) * len(lengths) // (2 * number)] for i in range(number)]
        return [first[length].pop(0) for length in chosen]
