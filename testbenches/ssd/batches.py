"""Mini-batches for benches: of a graph, with corners, and wrong ones."""

import numpy as np

from sim.program.ssd import ALL_NEIGHBOURS
from sim.program.ssd_host import MiniBatch, make_commands
from sim.program.ssd_image import make_image
from sim.program.ssd_storage import graph_storage


def stored(graph, config, *, id_bytes=8, edges_address=None, hot_pages=0, bad_pages=()):
    """Return a graph's image and the SSD's contents."""
    image = make_image(
        graph.indptr, graph.indices, page_bytes=config.flash.page_bytes, id_bytes=id_bytes, edges_address=edges_address
    )
    return image, graph_storage(image, hot_pages=hot_pages, bad_pages=bad_pages)


def batch_of(graph, nodes, fanouts, *, room=None, **more):
    """Make a batch of nodes with their true lists.

    `room` is the most ids and counts of a batch that asks for all neighbours.
    """
    nodes = np.asarray(nodes, np.int64)
    inside = np.clip(nodes, 0, graph.n_nodes - 1)
    begin = graph.indptr[inside]
    if ALL_NEIGHBOURS in fanouts and room is not None:
        more = {"ids_line": -(-room // 16), "result_lines": -(-room // 16) + -(-room // 8)} | more
    return MiniBatch(
        node=nodes.astype(np.uint64), offset=begin.astype(np.uint64),
        degree=(graph.indptr[inside + 1] - begin).astype(np.uint64), fanouts=tuple(fanouts), **more,
    )  # fmt: skip


def random_batches(graph, rng, count, *, max_fanout, targets=12):
    """Make batches with all kinds of corners, each of which can be run."""
    made = []
    for number in range(count):
        n = int(rng.integers(1, targets + 1))
        hops = int(rng.integers(1, 4))
        fanouts = rng.choice([1, 2, 3, max_fanout, 5, ALL_NEIGHBOURS], hops, p=[0.2, 0.2, 0.2, 0.1, 0.2, 0.1])
        if hops == 3 or fanouts[0] in (max_fanout, ALL_NEIGHBOURS):
            fanouts[1:] = rng.integers(1, 3, hops - 1)
        batch = batch_of(
            graph, rng.integers(0, graph.n_nodes, n), fanouts.tolist(), room=4096, seed=int(rng.integers(1 << 62)),
            number=number, replace=bool(rng.integers(2)), look_up=bool(rng.integers(2)),
        )  # fmt: skip
        kind = rng.integers(8)
        if kind == 0:  # a target that is no node, or whose list goes beyond the end
            batch.node[rng.integers(n)] = [graph.n_nodes, (1 << 48) - 1, (1 << 64) - 1][rng.integers(3)]
            offsets = [graph.n_edges - 1, graph.n_edges, 1 << 48, (1 << 64) - 1]
            batch.offset[rng.integers(n)] = offsets[rng.integers(4)]
            batch.degree[rng.integers(n)] = [1 << 31, (1 << 32) - 1, graph.n_edges + 1][rng.integers(3)]
        counts, ids = batch.most()
        if kind == 1 and ALL_NEIGHBOURS not in batch.fanouts:  # too little room for counts, or for ids
            lines = int(rng.integers(1, 4))
            batch = batch_of(
                graph, batch.node.astype(np.int64), batch.fanouts, seed=batch.seed, number=number,
                ids_line=min(lines, -(-counts // 16)), result_lines=lines + ids // 16,
            )  # fmt: skip
        made.append(batch)
    return made


def corners(graph, *, fanouts, **more):
    """Make a batch with a target of each degree around a fan-out, the hub, vertex 0 and the last one."""
    degree = np.diff(graph.indptr)
    nodes = [0, graph.n_nodes - 1, int(degree.argmax())]
    for wanted in (0, 1, fanouts[0] - 1, fanouts[0], fanouts[0] + 1):
        nodes += np.flatnonzero(degree == wanted)[:1].tolist()
    return batch_of(graph, nodes, fanouts, room=1 << 16, **more)


def commands_of(image, batches):
    """Encode batches for an image."""
    return make_commands(batches, image.edges)
