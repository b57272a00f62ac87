"""What the driver writes: entries, configurations and room for results."""

import numpy as np

from sim.program.ssd import ALL_NEIGHBOURS, NS_CONFIG, SUBMISSION, TARGET
from sim.program.ssd_host import EdgeList, MiniBatch, host_image, make_commands

EDGES = EdgeList(address=4096, edges=1000, nodes=100, id_bytes=4)


def batch(targets, **more):
    numbers = np.arange(targets, dtype=np.uint64)
    return MiniBatch(node=numbers, offset=10 * numbers, degree=numbers % 10, fanouts=(5, 3), **more)


def test_commands_by_hand():
    first, second = make_commands([batch(3, seed=7, number=9, replace=True), batch(2, look_up=True)], EDGES)
    entry = SUBMISSION.decode(first.submission[None])
    assert (entry["opcode"][0], entry["cid"][0], entry["prp1"][0]) == (0xC1, 0, 1 << 20)
    assert entry["config_bytes"][0] == 64 + 3 * 32
    asked = {name: int(value[0]) for name, value in NS_CONFIG.decode(first.config[None]).items()}
    # 3 targets, at most 15 samples, which are targets, and at most 45 of those: 18 counts in 2 lines, 60 ids in 4.
    expected = {
        "edges_address": 4096, "edges": 1000, "nodes": 100, "seed": 7, "result_address": (1 << 20) + 192,
        "result_lines": 6, "ids_line": 2, "targets": 3, "batch": 9, "id_bytes": 4, "mode": 1, "hops": 2,
        "fanout_0": 5, "fanout_1": 3, "fanout_2": 0, "fanout_3": 0,
    }  # fmt: skip
    assert asked == expected
    targets = TARGET.decode(first.targets)
    assert (targets["node"].tolist(), targets["offset"].tolist()) == ([0, 1, 2], [0, 10, 20])
    assert targets["degree"].tolist() == [0, 1, 2]
    # The next configuration lies behind the first one's result.
    assert SUBMISSION.decode(second.submission[None])["prp1"][0] == (1 << 20) + 192 + 6 * 64
    assert NS_CONFIG.decode(second.config[None])["mode"][0] == 2


def test_room_for_all_neighbours_is_given_by_the_caller():
    one = MiniBatch(
        node=np.zeros(1, np.uint64), offset=np.zeros(1, np.uint64), degree=np.ones(1, np.uint64),
        fanouts=(ALL_NEIGHBOURS,), result_lines=9, ids_line=1,
    )  # fmt: skip
    (command,) = make_commands([one], EDGES)
    config = NS_CONFIG.decode(command.config[None])
    assert (config["result_lines"][0], config["ids_line"][0], config["fanout_0"][0]) == (9, 1, 255)


def test_the_host_finds_each_byte_in_its_line():
    commands = make_commands([batch(3), batch(1)], EDGES)
    host = host_image(commands)
    lines = dict(zip(host.address.tolist(), host.data, strict=True))
    assert (host.sq_entries, host.cq_entries, host.cq_address) == (3, 3, host.sq_address + 192)
    for place, command in enumerate(commands):
        entry = lines[host.sq_address + 64 * place]
        assert np.array_equal(entry, command.submission)
        address = int(SUBMISSION.decode(entry[None])["prp1"][0])
        assert np.array_equal(lines[address], command.config)
        body = np.concatenate([lines[address + 64 * i] for i in range(1, 1 + -(-len(command.targets) // 2))])
        assert np.array_equal(body[: command.targets.size], command.targets.reshape(-1))
        assert not body[command.targets.size :].any()
    assert sorted(lines) == host.address.tolist()


def test_the_end_of_an_edge_list():
    assert [EDGES.pages(size) for size in (512, 4096, 8192, 16384)] == [16, 2, 1, 1]
