"""The whole sampling engine with its flash: every bit is golden, every cycle the model's."""

import numpy as np
import pytest

from sim.golden.sampling.subgraph import subgraph
from sim.graph import Graph, load_graph
from sim.program.ssd import COUNT_FAILED, NS_CONFIG, SUBMISSION, SsdStatus
from sim.program.ssd_host import Command, host_image
from sim.timing.stalls import STALL_KINDS
from testbenches.ssd.batches import batch_of, commands_of, corners, random_batches, stored
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.simulate_engine import doorbells_of, simulate_commands, ssd_stalls

KARATE = load_graph("karate")
GRAPH = load_graph("rmat:scale=8,edge_factor=6,seed=3")
FANOUTS = (1, 2, 10, 25, 64, 255)


def run(graph, batches, config, *, id_bytes=8, edges_address=None, hot_pages=0, bad_pages=(), **more):
    image, storage = stored(
        graph, config, id_bytes=id_bytes, edges_address=edges_address, hot_pages=hot_pages, bad_pages=bad_pages
    )
    simulation = simulate_commands(commands_of(image, batches), image, storage, config, **more)
    assert simulation.equal, simulation.first_difference
    assert simulation.cycles_rtl == simulation.cycles_model > 0
    return simulation


@pytest.mark.parametrize("stalls", STALL_KINDS)
def test_random_batches(stalls):
    rng = np.random.default_rng(STALL_KINDS.index(stalls))
    run(
        GRAPH, random_batches(GRAPH, rng, 10, max_fanout=64), SMALL, hot_pages=2, bad_pages=(9,),
        stalls=None if stalls == "none" else ssd_stalls(stalls, 5, SMALL),
    )  # fmt: skip


@pytest.mark.parametrize(("id_bytes", "edges_address"), [(4, 2052), (8, 72)])
def test_pages_of_sectors(id_bytes, edges_address):
    rng = np.random.default_rng(id_bytes)
    batches = random_batches(GRAPH, rng, 10, max_fanout=64, targets=40)
    run(GRAPH, batches, SECTORS, id_bytes=id_bytes, edges_address=edges_address, hot_pages=1)


@pytest.mark.parametrize("fanout", FANOUTS)
def test_corners_of_degrees(fanout):
    batches = [corners(GRAPH, fanouts=(fanout,), seed=fanout), corners(GRAPH, fanouts=(fanout,), replace=True)]
    run(GRAPH, batches, SECTORS, id_bytes=4)


def test_four_commands_under_way_overlap():
    batches = [batch_of(GRAPH, range(9 * i, 9 * i + 9), (4, 2), number=i) for i in range(4)]
    together = run(GRAPH, batches, SMALL)
    one_by_one = sum(run(GRAPH, [batch], SMALL).cycles_rtl for batch in batches)
    assert together.cycles_rtl < 0.95 * one_by_one


def test_queues_that_go_round():
    """Ten commands in a completion queue of four entries: the host frees them while others run."""
    batches = [batch_of(KARATE, range(i, i + 5), (3,), number=i) for i in range(10)]
    image, storage = stored(KARATE, SMALL)
    commands = commands_of(image, batches)
    host = host_image(commands, cq_entries=4)
    # One doorbell for all; then, one after the other and not before they are written, for the completions.
    submit = doorbells_of(host, [10])
    free = np.array([[1, (i + 1) % 4] for i in range(10)])
    period = np.ones(16_384, np.bool_)
    period[::2_000] = False
    stalls = ssd_stalls("none", 0, SMALL)
    stalls = type(stalls)(doorbell=period)
    simulation = simulate_commands(
        commands, image, storage, SMALL, host=host, doorbells=np.concatenate([submit, free]), stalls=stalls
    )
    assert simulation.equal, simulation.first_difference
    assert simulation.counters["doorbell_error"] == 0


def test_a_doorbell_out_of_range_is_ignored():
    image, storage = stored(KARATE, SMALL)
    commands = commands_of(image, [batch_of(KARATE, range(5), (3,))])
    host = host_image(commands)
    doorbells = np.concatenate([[[0, 9], [1, 5]], doorbells_of(host, [1])])
    simulation = simulate_commands(commands, image, storage, SMALL, host=host, doorbells=doorbells)
    assert simulation.equal, simulation.first_difference
    assert simulation.counters["doorbell_error"] == 1


def wrong(command, layout, **fields):
    """Change fields of a command's entry or configuration."""
    record = command.submission if layout is SUBMISSION else command.config
    values = layout.decode(record[None]) | fields
    made = layout.encode(1, values)[0]
    return Command(
        made if layout is SUBMISSION else command.submission, made if layout is NS_CONFIG else command.config,
        command.targets,
    )  # fmt: skip


WRONG = {
    "INVALID_OPCODE": (SUBMISSION, {"opcode": 0xC2}),
    "PRP_OFFSET": (SUBMISSION, {"prp1": (1 << 20) + 4}),
    "INVALID_FIELD": (SUBMISSION, {"config_bytes": 64}),
    "NO_TARGETS": (NS_CONFIG, {"targets": 0}),
    "BAD_ID_BYTES": (NS_CONFIG, {"id_bytes": 5}),
    "BAD_FANOUT": (NS_CONFIG, {"fanout_0": 0}),
    "BAD_HOPS": (NS_CONFIG, {"hops": 5}),
    "BAD_MODE": (NS_CONFIG, {"mode": 4}),
    "BAD_EDGES": (NS_CONFIG, {"edges": 1 << 47}),
    "BAD_RESULT": (NS_CONFIG, {"ids_line": 1 << 31}),
    "RESULT_TOO_SMALL": (NS_CONFIG, {"result_lines": 1, "ids_line": 1}),
}


def test_bad_commands_among_good_ones():
    image, storage = stored(KARATE, SMALL)
    good = commands_of(image, [batch_of(KARATE, range(i, i + 6), (3, 2), number=i) for i in range(2 * len(WRONG))])
    spoilt = list(WRONG.values())
    commands = [
        wrong(command, spoilt[i // 2][0], **spoilt[i // 2][1]) if i % 2 else command for i, command in enumerate(good)
    ]
    commands[3] = wrong(good[3], SUBMISSION, prp1=int(SUBMISSION.decode(good[3].submission[None])["prp1"][0]) + 4)
    simulation = simulate_commands(commands, image, storage, SMALL)
    assert simulation.equal, simulation.first_difference
    ended = [one.status.name for one in simulation.golden.commands]
    assert ended == [name for wanted in WRONG for name in ("OK", wanted)]


def spoilt(command, rng):
    """Change one or two fields of a command to values that are mostly wrong."""
    edges = [0, 1 << 48, (1 << 48) + 1, (1 << 64) - 1, GRAPH.n_edges - 5]
    prp1 = int(SUBMISSION.decode(command.submission[None])["prp1"][0])
    address = int(NS_CONFIG.decode(command.config[None])["edges_address"][0])
    for _ in range(int(rng.integers(1, 3))):
        layout, name, value = [
            (SUBMISSION, "opcode", int(rng.integers(256))),
            (SUBMISSION, "prp1", prp1 + int(rng.integers(1, 64))),
            (SUBMISSION, "config_bytes", int(rng.integers(1 << 32))),
            (NS_CONFIG, "targets", int(rng.integers(2) * rng.integers(1 << 32))),
            (NS_CONFIG, "id_bytes", int(rng.choice([0, 1, 2, 3, 5, 6, 7, 9, 12, 16, 255]))),
            (NS_CONFIG, "mode", int(rng.integers(256))),
            (NS_CONFIG, "hops", int(rng.integers(8))),
            (NS_CONFIG, f"fanout_{rng.integers(4)}", int(rng.integers(256))),
            (NS_CONFIG, "edges", edges[rng.integers(5)]),
            (NS_CONFIG, "edges_address", address + int(rng.choice([1, 4, 8, 1 << 40]))),
            (NS_CONFIG, "nodes", int(rng.choice([0, 1, 50, 1 << 48]))),
            (NS_CONFIG, "result_lines", int(rng.integers(6))),
            (NS_CONFIG, "ids_line", int(rng.integers(4))),
            (NS_CONFIG, "seed", int(rng.integers(1 << 62))),
        ][rng.integers(14)]
        command = wrong(command, layout, **{name: value})
    return command


def fuzz(seed):
    """Run forty commands, every other one spoilt."""
    rng = np.random.default_rng(seed)
    config = (SMALL, SECTORS)[seed % 2]
    image, storage = stored(
        GRAPH, config, id_bytes=(8, 4)[seed // 2 % 2], edges_address=(None, 2056)[seed // 4 % 2], hot_pages=seed % 3,
        bad_pages=(seed % 9,) if seed % 5 == 0 else (),
    )  # fmt: skip
    commands = commands_of(image, random_batches(GRAPH, rng, 40, max_fanout=64))
    commands = [spoilt(command, rng) if rng.integers(2) else command for command in commands]
    stalls = ssd_stalls(STALL_KINDS[seed // 2 % 4], seed, SMALL) if seed % 2 == 0 else None
    run = simulate_commands(commands, image, storage, config, stalls=stalls)
    assert run.equal, run.first_difference
    return {one.status.name for one in run.golden.commands}


def test_random_commands_good_and_bad():
    seen = set().union(*map(fuzz, range(10)))
    assert len(seen) >= 11


@pytest.mark.soak
@pytest.mark.parametrize("part", range(25))
def test_ten_thousand_random_commands(part):
    for seed in range(1000 + 10 * part, 1010 + 10 * part):
        fuzz(seed)


def test_a_page_that_cannot_be_read():
    simulation = run(KARATE, [batch_of(KARATE, range(34), (255,), room=512)], SMALL, bad_pages=(2,))
    (one,) = simulation.golden.commands
    assert one.status == SsdStatus.UNRECOVERED_READ
    assert 0 < (one.counts >= COUNT_FAILED).sum() < 34


def test_pyg_libs_example():
    """The 6-cycle, seeds 2 and 3, all neighbours for two hops."""
    indices = [[(node - 1) % 6, (node + 1) % 6] for node in range(6)]
    cycle = Graph(
        name="cycle", indptr=np.arange(0, 13, 2), indices=np.array([sorted(row) for row in indices]).reshape(-1)
    )
    (one,) = run(cycle, [batch_of(cycle, [2, 3], (255, 255), room=64)], SMALL).golden.commands
    made = subgraph(np.array([2, 3], np.uint64), one.counts, one.ids, 2)
    edges = np.concatenate([hop.edge for hop in one.hops])[made.edge]
    assert made.row.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert made.column.tolist() == [2, 1, 0, 3, 4, 0, 1, 5]
    assert made.nodes.tolist() == [2, 3, 1, 4, 0, 5]
    assert edges.tolist() == [4, 5, 6, 7, 2, 3, 8, 9]
    assert (made.nodes_per_hop, made.edges_per_hop) == ([2, 2, 2], [4, 4])


def test_channels_do_not_change_what_is_sampled():
    batches = [batch_of(GRAPH, range(40), (5, 3), seed=11)]
    few, many = (run(GRAPH, batches, config).golden.commands[0] for config in (SMALL, SECTORS))
    assert few.ids.tolist() == many.ids.tolist()
