"""The golden model of the sampling engine against plain Python, byte for byte."""

import numpy as np
import pytest

from sim.golden.sampling.engine import run_commands
from sim.graph import load_graph
from sim.program.ssd import COUNT_FAILED, NO_ID, SsdStatus
from sim.program.ssd_host import host_image
from testbenches.sim.golden.sampling.engine_reference import reference
from testbenches.ssd.batches import batch_of, commands_of, random_batches, stored
from testbenches.ssd.configs import SECTORS, SMALL

GRAPH = load_graph("rmat:scale=7,edge_factor=6,seed=3")
KARATE = load_graph("karate")


def written(result):
    """Apply the writes; give the memory, byte by byte."""
    memory = {}
    for address, line, mask in zip(result.address.tolist(), result.data, result.mask, strict=True):
        for i in np.flatnonzero(mask):
            assert address + i not in memory or address < 1 << 20, "a byte of a result is written twice"
            memory[address + int(i)] = int(line[i])
    return memory


def compare(graph, batches, config, *, id_bytes=8, edges_address=None, bad_pages=(), cq_entries=None):
    image, storage = stored(graph, config, id_bytes=id_bytes, edges_address=edges_address, bad_pages=bad_pages)
    commands = commands_of(image, batches)
    host = host_image(commands, cq_entries=cq_entries)
    result = run_commands(commands, host, storage, config, pages=config.flash.pages)
    expected = reference(
        commands,
        [SsdStatus.OK if one.hops else one.status for one in result.commands],
        host,
        lambda edge: int(graph.indices[edge]),
        lambda node: (int(graph.indptr[node]), int(graph.indptr[node + 1] - graph.indptr[node])),
        lambda page: page in bad_pages,
        config,
    )
    assert written(result) == expected
    return result


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("id_bytes", "edges_address"), [(8, None), (4, 708)])
def test_equal_to_plain_python(seed, id_bytes, edges_address):
    rng = np.random.default_rng(seed)
    batches = random_batches(GRAPH, rng, 12, max_fanout=64)
    bad_pages = tuple(rng.integers(0, 16, seed % 3).tolist())
    result = compare(
        GRAPH, batches, [SMALL, SECTORS][seed % 2], id_bytes=id_bytes, edges_address=edges_address,
        bad_pages=bad_pages, cq_entries=5,
    )  # fmt: skip
    assert len(result.commands) == 12


def test_statuses_of_all_kinds_are_met():
    seen = set()
    for seed in range(6):
        batches = random_batches(GRAPH, np.random.default_rng(seed), 12, max_fanout=64, targets=60)
        image, storage = stored(GRAPH, SMALL, bad_pages=(3,))
        commands = commands_of(image, batches)
        result = run_commands(commands, host_image(commands), storage, SMALL, pages=SMALL.flash.pages)
        seen |= {one.status for one in result.commands}
    run_to_their_end = {"OK", "OUT_OF_RANGE", "UNRECOVERED_READ", "RESULT_TOO_SMALL", "FRONTIER_FULL"}
    assert {status.name for status in seen} >= run_to_their_end


def test_a_page_that_cannot_be_read_spoils_its_targets_only():
    image, storage = stored(KARATE, SMALL)
    batch = [batch_of(KARATE, range(34), (255,), room=512)]
    commands = commands_of(image, batch)
    (good,) = run_commands(commands, host_image(commands), storage, SMALL, pages=SMALL.flash.pages).commands
    result = compare(KARATE, batch, SMALL, bad_pages=(2,))
    (spoilt,) = result.commands
    # 64 ids of 8 bytes a page; the list begins with page 1, so page 2 holds edges 64 to 127.
    hit = [begin < 128 and end > 64 for begin, end in zip(KARATE.indptr[:-1], KARATE.indptr[1:], strict=True)]
    assert (spoilt.counts >= COUNT_FAILED).tolist() == hit
    assert (spoilt.status, spoilt.detail) == (SsdStatus.UNRECOVERED_READ, 2)
    assert spoilt.ids.tolist() == [NO_ID if 64 <= edge < 128 else good.ids[edge] for edge in range(156)]


def test_order_and_company_do_not_matter():
    image, storage = stored(GRAPH, SMALL)
    nodes = np.arange(GRAPH.n_nodes)
    shuffled = np.random.default_rng(1).permutation(nodes)
    rows = {}
    for order in (nodes, shuffled, shuffled[:40]):
        commands = commands_of(image, [batch_of(GRAPH, order, (5,), seed=7, number=3)])
        (one,) = run_commands(commands, host_image(commands), storage, SMALL, pages=SMALL.flash.pages).commands
        ends = np.cumsum(one.counts)
        for node, end, count in zip(order.tolist(), ends, one.counts, strict=True):
            row = one.ids[end - count : end].tolist()
            assert rows.setdefault(node, row) == row


def test_another_seed_or_batch_gives_other_samples():
    image, storage = stored(GRAPH, SMALL)
    hub = int(np.diff(GRAPH.indptr).argmax())
    batches = [batch_of(GRAPH, [hub], (8,), seed=seed, number=number) for seed, number in ((1, 0), (2, 0), (1, 1))]
    commands = commands_of(image, batches)
    done = run_commands(commands, host_image(commands), storage, SMALL, pages=SMALL.flash.pages).commands
    assert len({tuple(one.ids.tolist()) for one in done}) == 3
