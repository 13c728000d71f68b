import torch

from allennlp_nef.tasks.sentence_classes import AttentionPooling


def test_output_is_the_mean_weighted_by_attention():
    torch.manual_seed(0)
    pooling = AttentionPooling(4, 3)
    states = torch.randn(2, 5, 4)
    output = pooling(states, torch.ones(2, 5, dtype=torch.bool))
    torch.testing.assert_close(pooling(states), output)
    for sentence, vector in zip(states, output):
        hidden = [torch.tanh(pooling._hidden.weight @ h + pooling._hidden.bias) for h in sentence]
        scores = torch.stack([pooling._scores.weight[0] @ each for each in hidden]).exp()
        expected = sum(score * h for score, h in zip(scores, sentence)) / scores.sum()
        torch.testing.assert_close(vector, expected)
    assert (pooling.get_input_dim(), pooling.get_output_dim()) == (4, 4)


def test_padding_does_not_reach_the_output():
    torch.manual_seed(0)
    pooling = AttentionPooling(4)
    states = torch.randn(3, 5, 4)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]).bool()
    padded = states.masked_fill(~mask.unsqueeze(-1), float("nan"))
    output = pooling(padded, mask)
    torch.testing.assert_close(output[1], pooling(states[1:2, :2])[0])
    assert output[2].tolist() == [0, 0, 0, 0]
