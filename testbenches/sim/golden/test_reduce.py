"""The golden reduce unit against a second model in plain Python, bit for bit, bad streams included."""

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.reduce import reduce_streams
from sim.program.commands import EDGE_RECORD, REDUCE_COMMAND, REDUCE_STATUS, result_beat
from sim.program.reduce_trace import ReduceTrace
from testbenches.sim.golden import reference

BASE = load_config("tiny").nme.model_copy(update={"pes": 1, "lanes_per_pe": 3, "max_beats": 3, "interval": 6})
CONFIGS = {element: BASE.model_copy(update={"element": element}) for element in ("bf16", "fp32")}
COMMAND = ("opcode", "beats", "destinations", "tag", "sources", "edges")
EDGE = ("destination", "last_of_source", "weight")


def trace_of(commands, edges, vectors, config):
    def columns(names, rows):
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    dtype = f"<u{config.element_bytes}"
    return ReduceTrace(
        commands=REDUCE_COMMAND.encode(len(commands), columns(COMMAND, commands) if commands else {}),
        edges=EDGE_RECORD.encode(len(edges), columns(EDGE, edges) if edges else {}),
        vectors=np.array(vectors, dtype).reshape(-1, config.lanes).view(np.uint8),
    )


def check(commands, edges, vectors, config):
    """Compare both models; return what they agree on."""
    result = reduce_streams(trace_of(commands, edges, vectors, config), config)
    partials, status = reference.reduce_streams(commands, edges, vectors, config)
    beats = result_beat(config.lanes).decode(result.partials)
    rows = zip(*(beats[name].tolist() for name in ("index", "first", "last", "data")), strict=True)
    assert list(rows) == partials
    words = REDUCE_STATUS.decode(result.status)
    assert list(zip(*(words[name].tolist() for name in ("tag", "code", "edges")), strict=True)) == status
    assert result.partials_of.sum() == len(partials)
    return partials, status


def random_streams(rng, config, n_commands, fault_share):
    """Make shards of random sizes; in a share of them a field of the command, or some edges, are wrong."""
    commands, edges, vectors = [], [], []
    for _ in range(n_commands):
        beats, destinations = int(rng.integers(1, config.max_beats + 1)), int(rng.integers(1, config.interval + 1))
        counts = rng.integers(1, 4, rng.integers(1, 6)).tolist()
        command = [int(rng.integers(1, 5)), beats, destinations, int(rng.integers(65536)), len(counts), sum(counts)]
        lasts = [i == count - 1 for count in counts for i in range(count)]
        slots = rng.integers(0, destinations, len(lasts)).tolist()
        fault = int(rng.integers(4)) if rng.random() < fault_share else -1
        if fault == 0:
            field = int(rng.choice([0, 1, 2, 4, 5]))
            command[field] = 0 if field > 2 else int(rng.choice([0, 7]))
            commands.append(tuple(command))
            continue  # refused: nothing of it is in the streams
        if fault == 1:
            slots = rng.choice([0, destinations - 1, destinations, 65535], len(lasts)).tolist()
        if fault >= 2:
            lasts = (rng.random(len(lasts)) < rng.random()).tolist()
        commands.append(tuple(command))
        weights = reference.random_bits(rng, len(lasts), config.element).tolist()
        edges += zip(slots, lasts, weights, strict=True)
        vectors += map(tuple, reference.random_bits(rng, (len(counts) * beats, config.lanes), config.element).tolist())
    return commands, edges, vectors


@pytest.mark.parametrize("element", CONFIGS)
@pytest.mark.parametrize("fault_share", [0.0, 0.6])
def test_random_streams(element, fault_share):
    codes = set()
    for seed in range(12):
        streams = random_streams(np.random.default_rng(seed), CONFIGS[element], 12, fault_share)
        _, status = check(*streams, CONFIGS[element])
        codes |= {code for _, code, _ in status}
    assert codes == ({0} if fault_share == 0 else set(range(8)))


SPECIALS = [
    # weight, element, sum (bf16 bits; fp32 sums)
    (0x3F80, 0x8000, 0x00000000),  # +0 plus -0
    (0x3F80, 0x0001, 0x00000000),  # a subnormal is zero ...
    (0x7F80, 0x0001, 0x7FC00000),  # ... infinity times it is not a number
    (0x7F80, 0x3F80, 0x7F800000),
    (0xFF80, 0x3F80, 0xFF800000),
    (0x3F80, 0xFFA5, 0x7FC00000),  # NaN of any kind becomes the canonical one
    (0x7F7F, 0x7F7F, 0x7F800000),  # overflow
    (0x0080, 0x0080, 0x00000000),  # underflow
    (0x0080, 0x3F00, 0x00000000),  # 2**-127 is subnormal: flushed
    (0x0080, 0x3F80, 0x00800000),  # 2**-126 is not
    (0x3F81, 0x3F81, 0x3F820200),  # products of bf16 are exact
]


@pytest.mark.parametrize(("weight", "element", "total"), SPECIALS)
@pytest.mark.parametrize("kind", CONFIGS)
def test_special_values(weight, element, total, kind):
    shift = 0 if kind == "bf16" else 16
    partials, _ = check([(2, 1, 1, 0, 1, 1)], [(0, True, weight << shift)], [(element << shift, 0, 0)], CONFIGS[kind])
    assert partials[0][3][0] == total


def test_infinities_cancel_to_nan():
    edges = [(0, False, 0x7F80), (0, True, 0xFF80)]
    partials, _ = check([(2, 1, 1, 0, 1, 2)], edges, [(0x3F80, 0, 0)], CONFIGS["bf16"])
    assert partials[0][3] == [0x7FC00000, 0x7FC00000, 0x7FC00000]  # infinity times 0 is not a number either


def test_add_does_not_look_at_the_weight():
    partials, _ = check([(1, 1, 1, 0, 1, 1)], [(0, True, 0x7FC0)], [(0x4040, 0x0001, 0x8000)], CONFIGS["bf16"])
    assert partials[0][3] == [0x40400000, 0, 0]


EXTREMES = [
    # elements in the order of their edges, greatest, least (bf16 bits; fp32 results)
    ([0x8000], 0x80000000, 0x80000000),  # alone: no +0 is added
    ([0x0001], 0x00000000, 0x00000000),  # a subnormal is a zero of its sign
    ([0x807F], 0x80000000, 0x80000000),
    ([0xFFA5], 0x7FC00000, 0x7FC00000),
    ([0xBF80], 0xBF800000, 0xBF800000),
    ([0x8000, 0x0000], 0x00000000, 0x80000000),
    ([0x0000, 0x8000], 0x00000000, 0x80000000),
    ([0x0001, 0x8001, 0x0002], 0x00000000, 0x80000000),
    ([0x3F80, 0x7FC1], 0x7FC00000, 0x7FC00000),
    ([0xFF81, 0x3F80], 0x7FC00000, 0x7FC00000),
    ([0x7F80, 0xFF80], 0x7F800000, 0xFF800000),
    ([0xFF80, 0xFF7F], 0xFF7F0000, 0xFF800000),
    ([0x3F80, 0x4000, 0xC000, 0x3F81], 0x40000000, 0xC0000000),
]


@pytest.mark.parametrize(("elements", "greatest", "least"), EXTREMES)
@pytest.mark.parametrize("kind", CONFIGS)
def test_greatest_and_least(elements, greatest, least, kind):
    """The weight, here NaN, is not looked at."""
    shift, n = 0 if kind == "bf16" else 16, len(elements)
    vectors = [(element << shift, 0, 0) for element in elements]
    for opcode, expected in ((3, greatest), (4, least)):
        partials, _ = check([(opcode, 1, 1, 0, n, n)], [(0, True, 0x7FC0 << shift)] * n, vectors, CONFIGS[kind])
        assert partials[0][3][0] == expected


def test_additions_run_in_the_order_of_the_edges():
    one, big = 0x3F800000, 0x4B800000  # 1 and 2**24: (big + 1) + 1 is big, (1 + 1) + big is not
    config = CONFIGS["fp32"]
    sums = []
    for order in ([big, one, one], [one, one, big]):
        edges = [(0, True, one)] * 3
        partials, _ = check([(2, 1, 1, 0, 3, 3)], edges, [(bits, 0, 0) for bits in order], config)
        sums.append(partials[0][3][0])
    assert sums == [big, big + 1]


def test_sums_do_not_leak_into_the_next_shard():
    streams = [(1, 1, 6, 1, 1, 1), (1, 1, 6, 2, 1, 1)], [(3, True, 0), (3, True, 0)], [(0x3F80,) * 3] * 2
    partials, status = check(*streams, CONFIGS["bf16"])
    assert partials == [(3, True, True, [0x3F800000] * 3)] * 2
    assert status == [(1, 0, 1), (2, 0, 1)]


def test_first_reason_counts():
    # Outside first, then an orphan; and the other way round.
    config = CONFIGS["bf16"]
    _, status = check([(1, 1, 2, 0, 1, 3)], [(9, False, 0), (0, True, 0), (0, True, 0)], [(0,) * 3], config)
    assert status == [(0, 6, 1)]
    _, status = check([(1, 1, 2, 0, 1, 3)], [(0, True, 0), (0, True, 0), (9, True, 0)], [(0,) * 3], config)
    assert status == [(0, 7, 1)]


def test_only_refused_commands_give_only_status():
    partials, status = check([(0, 1, 1, 7, 1, 1), (2, 0, 1, 8, 1, 1)], [], [], CONFIGS["bf16"])
    assert (partials, status) == ([], [(7, 1, 0), (8, 2, 0)])


def test_no_commands():
    assert check([], [], [], CONFIGS["bf16"]) == ([], [])
