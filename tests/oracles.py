"""Slow forms of the algorithms, straight from the papers' equations, in loops and float64.

They share no code with the package: NumPy and plain Python only.
"""

import itertools

import numpy


def bisect(weights, low, high):
    """The weights that sum to 1, between those of `low`, which sum to at least 1, and of `high`, to at most 1."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if weights(middle).sum() >= 1 else (low, middle)
    return weights(low)


def csoftmax(scores, bounds):
    """Eq. 10 of Martins & Kreutzer (EMNLP 2017) for one row: bisection on log Z of Proposition 1."""
    scores, bounds = (numpy.asarray(x, dtype=numpy.float64) for x in (scores, bounds))
    possible = bounds > 0
    z, log_u = scores[possible], numpy.log(bounds[possible])
    result = numpy.zeros_like(scores)
    result[possible] = bisect(
        lambda log_z: numpy.exp(numpy.minimum(z - log_z, log_u)),
        (z - log_u).min(),
        z.max() + numpy.log(len(z)),
    )
    return result


def csparsemax(scores, bounds):
    """Constrained sparsemax (Malaviya et al., ACL 2018) for one row: bisection on tau."""
    z, u = (numpy.asarray(x, dtype=numpy.float64) for x in (scores, bounds))
    return bisect(lambda tau: numpy.clip(z - tau, 0, u), (z - u).min(), z.max())


def softmax(scores):
    powers = numpy.exp(scores - scores.max())
    return powers / powers.sum()


def neural_easy_first(h, W_cz, w_z, v, W_cs, w_s, rho, update, num_steps, context_size):
    """Algorithm 2 for one sentence.

    The columns of W_cz and W_cs are those of Eq. 1, c_i = concat(h_(i-w..i+w), s_(i-w..i+w)). `rho` maps scores and
    coverage to attention. Returns s^N (tokens, sketch_dim) and alpha (steps, tokens).
    """
    tokens, sketch_dim = len(h), len(w_s)
    s = numpy.zeros((tokens, sketch_dim))
    beta = numpy.zeros(tokens)
    alphas = []
    for _ in range(num_steps):
        contexts = []
        for i in range(tokens):
            c = []
            for states in (h, s):
                for j in range(i - context_size, i + context_size + 1):
                    inside = 0 <= j < tokens
                    c.append(states[j] if inside else numpy.zeros(states.shape[1]))
            contexts.append(numpy.concatenate(c))
        z = numpy.array([v @ numpy.tanh(W_cz @ c + w_z) for c in contexts])
        alpha = rho(z, beta)
        beta = beta + alpha
        if update == "single":
            average = sum(alpha[i] * contexts[i] for i in range(tokens))
            s = s + numpy.stack([a * numpy.tanh(W_cs @ average + w_s) for a in alpha])
        else:
            s = s + numpy.stack([a * numpy.tanh(W_cs @ c + w_s) for a, c in zip(alpha, contexts)])
        alphas.append(alpha)
    return s, numpy.array(alphas)


def path_scores(emissions, transitions, start, end):
    """The score of every tag sequence of one sentence, by enumeration: {path: score}."""
    tokens, tags = emissions.shape
    scores = {}
    for path in itertools.product(range(tags), repeat=tokens):
        score = start[path[0]] + end[path[-1]]
        score += sum(emissions[i, tag] for i, tag in enumerate(path))
        score += sum(transitions[a, b] for a, b in zip(path, path[1:]))
        scores[path] = float(score)
    return scores


def log_sum_exp(values):
    values = numpy.asarray(list(values))
    return values.max() + numpy.log(numpy.exp(values - values.max()).sum())


def aligned_pair(
    source, target, alignments, unaligned, source_boundaries, target_boundaries, neighbours=True
):
    """The features of each target word of one sentence pair; `alignments` are (source, target) pairs."""
    rows = []
    for i, word in enumerate(target):
        links = [j for j, k in alignments if k == i]
        mean = sum(source[j] for j in links) / len(links) if links else unaligned
        features = [word, mean]
        if neighbours:
            features.append(target[i - 1] if i > 0 else target_boundaries[0])
            features.append(target[i + 1] if i + 1 < len(target) else target_boundaries[1])
            if not links:
                features += [unaligned, unaligned]
            else:
                left, right = min(links) - 1, max(links) + 1
                features.append(source[left] if left >= 0 else source_boundaries[0])
                features.append(source[right] if right < len(source) else source_boundaries[1])
        rows.append(numpy.concatenate(features))
    return numpy.stack(rows)


def conlleval(sentences):
    """What the script conlleval.pl counts, token by token, with its tables of where chunks start and end.

    `sentences` are lists of (gold tag, predicted tag), both in B, I, O. Returns the tokens, those with the right tag,
    and {type: [right chunks, predicted chunks, gold chunks]}.
    """

    def split(tag):
        prefix, _, kind = tag.partition("-")
        return prefix, kind

    def ends(previous, tag, previous_type, kind):
        if (previous, tag) in (("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")):
            return True
        return previous != "O" and previous_type != kind

    def starts(previous, tag, previous_type, kind):
        if (previous, tag) in (("B", "B"), ("I", "B"), ("O", "B"), ("O", "I")):
            return True
        return tag != "O" and previous_type != kind

    rows = [row for sentence in sentences for row in [*sentence, None]]  # None: a boundary
    tokens = hits = 0
    counts = {}
    in_correct = False
    last_gold = last_predicted = ("O", "")
    for row in rows:
        gold, predicted = (split(tag) for tag in row or ("O", "O"))
        gold_change = (last_gold[0], gold[0], last_gold[1], gold[1])
        predicted_change = (last_predicted[0], predicted[0], last_predicted[1], predicted[1])
        if in_correct:
            if ends(*gold_change) and ends(*predicted_change) and last_gold[1] == last_predicted[1]:
                in_correct = False
                counts[last_gold[1]][0] += 1
            elif ends(*gold_change) != ends(*predicted_change) or gold[1] != predicted[1]:
                in_correct = False
        if starts(*gold_change) and starts(*predicted_change) and gold[1] == predicted[1]:
            in_correct = True
        for place, change, kind in ((2, gold_change, gold[1]), (1, predicted_change, predicted[1])):
            if starts(*change):
                counts.setdefault(kind, [0, 0, 0])[place] += 1
        if row:
            tokens += 1
            hits += gold == predicted
        last_gold, last_predicted = gold, predicted
    return tokens, hits, counts
