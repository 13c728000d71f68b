"""What is counted of the sentences of a data set, as they go by."""

import unicodedata
from collections import Counter
from collections import Counter as Counts
from typing import Any

from allennlp_nef.commands.data_checks.chunk_checks import ChunkChecks
from allennlp_nef.commands.data_checks.sentences import Sentence
from allennlp_nef.data.formats.characters import is_odd, name_of_character

QUANTILES = {"median": 0.5, "quantile_90": 0.9, "quantile_99": 0.99}


class Statistics:
    """The statistics of a split: the training, validation or test data."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        """The tokens of each sentence."""
        self.other_lengths: list[int] = []
        """In quality estimation, the words of the other side."""
        self.longest = 0
        self.longest_place: str | None = None
        self.labeled = 0
        """Sentences with labels."""
        self.labels: Counts[str] = Counter()
        self.words: dict[str, Counts[str]] = {}
        """By side."""
        self.chunks = ChunkChecks()
        self.target_words = self.unaligned_words = self.sentences_with_alignments = 0
        self.not_nfc = 0
        """Sentences with words that are not in NFC."""
        self.odd: dict[str, list[Any]] = {}
        """Of each odd character its number, and where it is first."""
        self.repeated = self.contradictory = 0
        """Sentences that occurred before in the split; those of them with other labels."""
        self.keys: dict[int, int] = {}
        """The hash of the labels by the hash of the sentence, of the first such sentence."""
        self.source_keys: set[int] = set()
        self._order: list[int] = []
        self._labels: list[int] = []
        self._sources: list[int] = []

    def add(self, sentence: Sentence) -> None:
        """Counts a sentence."""
        length = len(sentence.tokens)
        self.lengths.append(length)
        if sentence.others is not None:
            self.other_lengths.append(len(sentence.others))
        if length > self.longest:
            self.longest, self.longest_place = length, sentence.place
        if sentence.tags is not None:
            self.labeled += 1
            self.labels.update(sentence.tags)
        if sentence.chunk_tags is not None:
            self.chunks.add(sentence.chunk_tags, sentence.place)
        for side, words in sentence.words.items():
            self.words.setdefault(side, Counter()).update(words)
            self._add_characters(words, sentence.place)
        if sentence.unaligned is not None:
            self.sentences_with_alignments += 1
            self.target_words += len(sentence.words["target"])
            self.unaligned_words += sentence.unaligned
        self._add_key(sentence)

    def _add_characters(self, words: list[str], place: str) -> None:
        text = " ".join(words)
        if text.isascii():
            return
        self.not_nfc += not unicodedata.is_normalized("NFC", text)
        for character in filter(is_odd, set(text)):
            name = name_of_character(character)
            entry = self.odd.setdefault(name, [0, place])
            entry[0] += text.count(character)

    def _add_key(self, sentence: Sentence) -> None:
        key = hash(tuple(tuple(words) for words in sentence.words.values()))
        labels = hash(None if sentence.tags is None else tuple(sentence.tags))
        if key in self.keys:
            self.repeated += 1
            self.contradictory += self.keys[key] != labels
        else:
            self.keys[key] = labels
        self._order.append(key)
        self._labels.append(labels)
        if "source" in sentence.words:
            self._sources.append(hash(tuple(sentence.words["source"])))
            self.source_keys.add(self._sources[-1])

    def overlap(self, other: "Statistics") -> dict[str, Any]:
        """The sentences that also occur in another split, with other labels there, or only with their source."""
        found: dict[str, Any] = {"sentences": 0, "contradictory": 0}
        tokens = 0
        for key, labels, length in zip(self._order, self._labels, self.lengths):
            if key in other.keys:
                found["sentences"] += 1
                found["contradictory"] += other.keys[key] != labels
                tokens += length
        found["share_of_tokens"] = tokens / max(1, sum(self.lengths))
        if self._sources:
            found["sources"] = sum(key in other.source_keys for key in self._sources)
        return found

    def unseen(self, training: "Statistics") -> dict[str, dict[str, Any]]:
        """By side, the words that the training data lack: as a share of all words, and of the different words."""
        result = {}
        for side, words in self.words.items():
            known = training.words.get(side, Counter())
            unseen = {word: count for word, count in words.items() if word not in known}
            result[side] = {
                "words": sum(unseen.values()) / max(1, sum(words.values())),
                "different_words": len(unseen) / max(1, len(words)),
            }
        return result

    def as_json(self) -> dict[str, Any]:
        """The statistics that need no other split."""
        lengths = sorted(self.lengths) or [0]
        total = sum(self.labels.values())
        result: dict[str, Any] = {
            "sentences": len(self.lengths),
            "labeled_sentences": self.labeled,
            "tokens": sum(self.lengths),
            "lengths": {
                "mean": sum(lengths) / len(lengths),
                **{name: lengths[int(q * (len(lengths) - 1))] for name, q in QUANTILES.items()},
                "longest": self.longest,
                "longest_place": self.longest_place,
            },
            "words": {
                side: {"words": sum(words.values()), "different_words": len(words)}
                for side, words in self.words.items()
            },
            "labels": {label: count / total for label, count in self.labels.most_common()},
            "repeated": {"sentences": self.repeated, "contradictory": self.contradictory},
            "odd_characters": {
                name: {"count": count, "first": place}
                for name, (count, place) in sorted(self.odd.items())
            },
            "sentences_not_in_nfc": self.not_nfc,
        }
        if self.chunks.count:
            result["chunks"] = self.chunks.as_json()
        if self.sentences_with_alignments:
            result["unaligned_words"] = self.unaligned_words / max(1, self.target_words)
        return result
