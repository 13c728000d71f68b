"""What a step of NEF-F does beside its matrix products. `nn.sketching.fused` states the equations.

A kernel goes through the words that a step uses: `words` are their indices in (sentences * tokens,), and the rows of
`hidden` are these words. The places of the sketches are those of the sentences with `context` places of padding at
both ends, (sentences * (tokens + 2 * context), sketch_dim).
"""

from typing import Any

from allennlp_nef.nn._kernels.arithmetic import (
    ONE,
    add_product,
    compiled,
    compiled_sums,
    copy,
    dot,
    tanh_gradient,
    tanh_row,
)


@compiled
def place_of(word: Any, tokens: Any, context: Any) -> Any:
    """Where a word is among the places of the sketches; its window starts `context` places before."""
    return word + (word // tokens * 2 + 1) * context


@compiled
def windows_of(places: Any, words: Any, tokens: Any, context: Any, windows: Any) -> None:
    """The sketches around each word, one after the other: (words, (2 * context + 1) * sketch_dim)."""
    flat, width = places.reshape(-1), windows.shape[1]
    for i in range(words.size):
        start = (place_of(words[i], tokens, context) - context) * places.shape[1]
        copy(flat[start : start + width], windows[i])


@compiled
def rows_of(table: Any, words: Any, rows: Any) -> None:
    """The rows of some words: (words, dim)."""
    for i in range(words.size):
        copy(table[words[i]], rows[i])


@compiled_sums
def scores(hidden: Any, vector: Any, words: Any, result: Any) -> None:
    """Replaces the pre-activations by their tanh; Eq. 2 for the words of a step."""
    tanh_row(
        hidden.reshape(-1)
    )  # one long row: the end of each, where no vector instruction fits, is slow
    for i in range(words.size):
        result[words[i]] = dot(hidden[i, : vector.size], vector)


@compiled
def update(
    hidden: Any, first: Any, alpha: Any, words: Any, tokens: Any, context: Any, places: Any
) -> None:
    """Eq. 7: adds the attention times the columns of `hidden` from `first` on to the sketches."""
    for i in range(words.size):
        word = words[i]
        place = place_of(word, tokens, context)
        add_product(alpha[word], hidden[i, first:], places[place])


@compiled_sums
def grad_attention(
    hidden: Any, first: Any, grad: Any, words: Any, tokens: Any, context: Any, result: Any
) -> None:
    """(B1)."""
    for i in range(words.size):
        word = words[i]
        place = place_of(word, tokens, context)
        result[word] = dot(hidden[i, first:], grad[place])


@compiled
def grad_preactivation(
    hidden: Any,
    vector: Any,
    alpha: Any,
    grad_scores: Any,
    grad: Any,
    words: Any,
    tokens: Any,
    context: Any,
    grad_hidden: Any,
    grad_vector: Any,
    result: Any,
) -> None:
    """(B3), (B4), and (B5) for p."""
    first = vector.size
    for i in range(words.size):
        word = words[i]
        place = place_of(word, tokens, context)
        add_product(grad_scores[word], hidden[i, :first], grad_vector)
        tanh_gradient(grad_scores[word], vector, hidden[i, :first], grad_hidden[i, :first])
        tanh_gradient(alpha[word], grad[place], hidden[i, first:], grad_hidden[i, first:])
        add_product(ONE, grad_hidden[i], result[word])


@compiled
def add_windows(windows: Any, words: Any, tokens: Any, context: Any, places: Any) -> None:
    """(B6): adds the gradient of the window of each word to that of the sketches."""
    flat, width = places.reshape(-1), windows.shape[1]
    for i in range(words.size):
        start = (place_of(words[i], tokens, context) - context) * places.shape[1]
        add_product(ONE, windows[i], flat[start : start + width])
