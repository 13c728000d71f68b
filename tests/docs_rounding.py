"""Whether this machine rounds as the one on which the outputs in the documentation were made.

Libraries of linear algebra choose other instructions on other kinds of CPUs. Sums then round differently, and after
some steps of training a model gives slightly different numbers, and now and then another tag.
"""

import torch

NUMBERS_OF_THE_PAGES = (
    "0x1.54e3220000000p-8",
    "0x1.e3849c0000000p+18",
    "0x1.263f700000000p+17",
    "-0x1.b9486c0000000p+9",
    "-0x1.110d8c0000000p+21",
    "0x1.267b4e0000000p+18",
)


def rounded_numbers():
    """The loss of a small BiLSTM after some steps of training, and sums of functions, to the last digit."""
    generator = torch.Generator().manual_seed(1)
    lstm = torch.nn.LSTM(164, 50, bidirectional=True)
    output = torch.nn.Linear(100, 17)
    parameters = [*lstm.parameters(), *output.parameters()]
    for parameter in parameters:
        parameter.data.copy_(torch.rand(parameter.shape, generator=generator) * 0.4 - 0.2)
    inputs = torch.randn(25, 16, 164, generator=generator)
    gold = torch.randint(17, (25, 16), generator=generator).flatten()
    optimizer = torch.optim.Adagrad(parameters, lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        scores = output(torch.tanh(lstm(inputs)[0])).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(scores, gold)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()
    table = torch.randn(301, 1003, generator=generator)
    functions = (torch.exp, torch.sigmoid, torch.tanh, lambda x: x.log_softmax(-1), torch.square)
    sums = [function(table).sum() for function in functions]
    return tuple(number.item().hex() for number in (loss, *sums))


def rounds_as_the_pages():
    """Whether outputs of models that are trained here can be those of the pages."""
    return rounded_numbers() == NUMBERS_OF_THE_PAGES
