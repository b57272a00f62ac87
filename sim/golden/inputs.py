"""Tensors to start from: a graph's features, or random ones where it has none, and random weights."""

import numpy as np
from numpy.typing import NDArray

from sim.graph import Graph


def layer_inputs(graph: Graph, in_features: int, out_features: int, *, seed: int) -> dict[str, NDArray[np.uint32]]:
    """Make the inputs of a layer's program.

    Parameters
    ----------
    graph : Graph
        Its features are used if it has them in the wanted width.
    in_features, out_features : int
        Widths.
    seed : int
        Seed of all that is random.

    Returns
    -------
    dict of str to ndarray of uint32
        fp32 bits of ``h0`` [N, in_features] (features, or standard normal) and ``w0`` [in_features, out_features]
        (Glorot uniform).
    """
    rng = np.random.default_rng(seed)
    limit = np.sqrt(6 / (in_features + out_features))
    w0 = rng.uniform(-limit, limit, (in_features, out_features)).astype(np.float32)
    if graph.features is not None and graph.n_features == in_features:
        h0 = np.ascontiguousarray(graph.features, np.float32)
    else:
        h0 = rng.standard_normal((graph.n_nodes, in_features)).astype(np.float32)
    return {"h0": h0.view(np.uint32), "w0": w0.view(np.uint32)}
