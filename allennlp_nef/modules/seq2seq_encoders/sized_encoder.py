from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides


class SizedEncoder(Seq2SeqEncoder):
    """A `Seq2SeqEncoder` with its sizes in `_input_dim` and `_output_dim`, and a `_bidirectional` flag."""

    _input_dim: int
    _output_dim: int
    _bidirectional = True

    @overrides
    def get_input_dim(self) -> int:
        return self._input_dim

    @overrides
    def get_output_dim(self) -> int:
        return self._output_dim

    @overrides
    def is_bidirectional(self) -> bool:
        return self._bidirectional
