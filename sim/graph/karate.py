"""Zachary's karate club: the smallest real graph, for tests and first steps.

Source: W. W. Zachary, "An information flow model for conflict and fission in small groups", Journal of Anthropological
Research 33 (1977), with the correction of the edge between members 23 and 34 (1-based) that the field uses: 78 edges.
"""

import numpy as np

from sim.graph.graph import Graph
from sim.graph.rules import EdgeRules, graph_from_edges

CLUBS = ("Mr. Hi", "Officer")
"""Names of the classes 0 and 1: the club that a member joined after the split."""

# Member: the friends with a higher number. Every friendship is listed once; members count from 0.
_FRIENDS = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
_OFFICERS = (9, 14, 15, 18, 20, *range(22, 34))


def load_karate() -> Graph:
    """Give the karate club: 34 nodes, 78 friendships (156 edges), 2 classes.

    Returns
    -------
    Graph
        Features are the 34 x 34 identity. Node 0 (the instructor) and node 33 (the president) are for training, all
        others for testing, as in the semi-supervised example of Kipf and Welling.
    """
    n_nodes = 34
    pairs = np.array([(a, b) for a, friends in _FRIENDS.items() for b in friends], dtype=np.int64)
    labels = np.zeros(n_nodes, np.int64)
    labels[list(_OFFICERS)] = 1
    train_mask = np.zeros(n_nodes, np.bool_)
    train_mask[[0, n_nodes - 1]] = True
    return graph_from_edges(
        "karate",
        np.concatenate([pairs[:, 0], pairs[:, 1]]),
        np.concatenate([pairs[:, 1], pairs[:, 0]]),
        n_nodes,
        EdgeRules(),
        features=np.eye(n_nodes, dtype=np.float32),
        labels=labels,
        n_classes=len(CLUBS),
        train_mask=train_mask,
        test_mask=~train_mask,
    )
