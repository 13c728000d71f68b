"""The nodes of trees by their height, so that all nodes of a height can be computed at once."""

from typing import NamedTuple

import numpy
import torch


class TreeLevel(NamedTuple):
    """The nodes of one height in a batch of trees. Nodes are numbered through the batch: sentence * nodes + node."""

    nodes: torch.Tensor
    """(nodes,)"""
    children: torch.Tensor
    """Their children, of lower levels: (children,)."""
    parents: torch.Tensor
    """Of each child, the position of its parent in `nodes`: (children,)."""
    places: torch.Tensor
    """Of each child, its place among the children of its parent, from the left, from 0: (children,)."""


def tree_levels(heads: torch.Tensor, mask: torch.Tensor) -> list[TreeLevel]:
    """
    The levels of a batch of trees, leaves first.

    # Parameters

    heads : `torch.LongTensor`, (batch, nodes)
        The head of each node, its parent, from 1; 0 for the root. Without cycles.
    mask : `torch.BoolTensor`, (batch, nodes)
        What heads are in padding does not matter.
    """
    batch, count = heads.shape
    is_node = mask.cpu().numpy().ravel()
    numbers = heads.cpu().numpy()
    starts = numpy.arange(batch)[:, None] * count
    parents = (starts + numbers - 1).ravel()
    has_parent = (numbers > 0).ravel() & is_node
    children = numpy.flatnonzero(has_parent)
    owners = parents[children]
    heights = numpy.zeros(batch * count, dtype=int)
    for _ in range(count):
        before = heights.copy()
        numpy.maximum.at(heights, owners, heights[children] + 1)
        if (heights == before).all():
            break
    # Children are in ascending order: a stable sort by their parents keeps their order below each.
    order = numpy.argsort(owners, kind="stable")
    children, owners = children[order], owners[order]
    first = numpy.searchsorted(owners, owners)
    places = numpy.arange(len(owners)) - first
    positions = numpy.zeros(batch * count, dtype=int)
    levels = []
    for height in range(int(heights[is_node].max(initial=-1)) + 1):
        nodes = numpy.flatnonzero(is_node & (heights == height))
        positions[nodes] = numpy.arange(len(nodes))
        of_level = heights[owners] == height
        arrays = nodes, children[of_level], positions[owners[of_level]], places[of_level]
        levels.append(TreeLevel(*(torch.from_numpy(array).to(heads.device) for array in arrays)))
    return levels
