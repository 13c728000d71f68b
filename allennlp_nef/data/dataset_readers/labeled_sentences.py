from collections.abc import Iterator
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from overrides import overrides

from allennlp_nef.data.dataset_readers.untagged_reader import Text, UntaggedReader
from allennlp_nef.data.fields import ClassField
from allennlp_nef.data.formats.characters import OddCharacters, check_labels
from allennlp_nef.data.formats.labeled_sentences import (
    LAYOUTS,
    LabeledSentence,
    read_labeled_sentences,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError


@DatasetReader.register("labeled_sentences")
class LabeledSentencesReader(UntaggedReader):
    """
    Reads sentences with a label each, such as the questions of TREC and the Stanford Sentiment Treebank (SST). The
    module `allennlp_nef.data.formats.labeled_sentences` states the layouts.

    An instance has the fields `tokens` (`TextField`), `label` (`ClassField`, where it is known) and `metadata`
    (`SentencesMetadata`), as AllenNLP's `basic_classifier` takes them.

    Registered as a `DatasetReader` with name "labeled_sentences".

    # Parameters

    layout : `str`, optional (default = `"tab"`)
        "tab": label, tab, sentence. "blank": label, blank, sentence. "trec": coarse and fine label, as in `LOC:city`,
        blank, question. "trees": trees in brackets, of which the label of the root is read.
    fine_labels : `bool`, optional (default = `False`)
        Whether the labels of the layout "trec" are the fine ones, such as `LOC:city`; else they are the coarse ones.
    tokenizer, token_indexers, encoding, max_tokens, max_instances
        See `UntaggedReader`. A tree has its own words.
    """

    def __init__(self, layout: str = "tab", fine_labels: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if layout not in LAYOUTS:
            raise ConfigurationError(
                f"layout: expected one of {', '.join(LAYOUTS)}, got {layout!r}"
            )
        if fine_labels and layout != "trec":
            raise ConfigurationError(f"fine_labels: expected the layout trec, got {layout}")
        self.layout = layout
        self.fine_labels = fine_labels

    @overrides(check_signature=False)
    def examples(self, file_path: TextPath) -> Iterator[tuple[TextPath, LabeledSentence]]:
        """Each sentence after the path of its file."""
        odd = OddCharacters()
        for sentence in read_labeled_sentences(
            file_path, self.layout, self.split, self.encoding, self.on_error
        ):
            try:
                odd.check(sentence.words, f"{file_path}:{sentence.line}")
            except DataFormatError as error:
                self.on_error(error)
                continue
            if self.layout == "trec" and not self.fine_labels:
                sentence = sentence._replace(label=sentence.label.partition(":")[0])
            yield file_path, sentence
        odd.warn(self.warn)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[1].words)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        path, sentence = example
        return self.text_to_instance(sentence.words, sentence.label, f"{path}:{sentence.line}")

    @overrides(check_signature=False)
    def text_to_instance(
        self, tokens: Text, label: str | None = None, place: str | None = None
    ) -> Instance:
        """
        # Parameters

        tokens : `str` or `list[str]`
            A sentence, or its words.
        label : `str`, optional (default = `None`, not known)
        place : `str`, optional (default = `None`)
            `file:line`, for errors.

        # Raises

        `DataFormatError`: no words, a word or a label that `check_words` or `check_labels` refuses.
        """
        fields = self.fields_of(self.words_of(tokens, "tokens"))
        if label is not None:
            check_labels([label], "label")
            fields["label"] = ClassField(label, place)
        return Instance(fields)
