# amaranth: UnusedElaboratable=no
"""Channels with the flash behind them: every command, beat and page in the model's cycle, with the right contents."""

import itertools

import numpy as np
import pytest

from sim.timing.ssd.channels import BEAT_LAST, BEAT_NUMBER, BEAT_WANTED, READY_CHANNEL, READY_SLOT
from sim.timing.stalls import STALL_KINDS, never_stalled
from testbenches.ssd.channels_model import Channel, play_model
from testbenches.ssd.configs import SECTORS, SMALL
from testbenches.ssd.presets import with_flash
from testbenches.ssd.simulate_channels import Pages, random_pages, simulate_channels

SLOTS = 128
CONFIGS = {"small": SMALL.replace(page_slots=SLOTS), "sectors": SECTORS.replace(page_slots=SLOTS)}
ODD = {
    "one die, all in the least time": {
        "flash.channels": 1,
        "flash.ways": 1,
        "flash.dies_per_way": 1,
        "flash.command_ns": 10.0,
        "flash.column_ns": 10.0,
        "flash.read_ns": 10.0,
        "flash.channel_bytes_per_s": 800_000_000,
    },
    "short times": {
        "flash.command_ns": 10.0,
        "flash.column_ns": 10.0,
        "flash.read_ns": 20.0,
        "flash.channel_bytes_per_s": 800_000_000,
    },
    "pages first": {"flash.commands_first": False, "flash.ways": 4},
}
NEVER = never_stalled()


def pages_at(config, place, *, hot=None):
    """Whole pages at these places, in order of their slots."""
    place = np.asarray(place, np.int64)
    in_dram = np.zeros(len(place), np.int64) if hot is None else np.asarray(hot, np.int64)
    channel = np.where(in_dram, config.flash.channels, place % config.flash.channels)
    sizes = [int((channel == c).sum()) for c in range(config.flash.channels)]
    return Pages(
        page=place + 1000,
        page_slot=np.arange(len(place)),
        hot=in_dram,
        place=place,
        first=[np.zeros(size, np.int64) for size in sizes],
        last=[np.full(size, config.flash.page_beats - 1) for size in sizes],
        node_bits=40,
    )


def modelled(config, pages, **options):
    channels = [Channel(first, last, NEVER, NEVER) for first, last in zip(pages.first, pages.last, strict=True)]
    return play_model(config, pages.rows, NEVER, NEVER, channels, **options)


@pytest.mark.parametrize("stalls", [*STALL_KINDS, "mixed", "slow"])
@pytest.mark.parametrize("name", CONFIGS)
def test_random_pages(name, stalls):
    for seed in range(2):
        pages = random_pages(CONFIGS[name], SLOTS - 8 * seed, seed, hot=0.2)
        simulation = simulate_channels(CONFIGS[name], pages, stalls=stalls, seed=seed)
        assert simulation.first_difference is None
        assert all(count.min() > 0 for count in simulation.model.counts.values()) or stalls in ("none", "mixed", "slow")


@pytest.mark.parametrize("stalls", ["none", "mixed"])
@pytest.mark.parametrize("name", ODD)
def test_odd_sizes(name, stalls):
    config = SMALL.replace(page_slots=SLOTS, **ODD[name])
    pages = random_pages(config, 16, 3, hot=0.2)
    assert simulate_channels(config, pages, stalls=stalls, seed=3, backend="pysim").first_difference is None


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(30))
def test_many_random_pages(seed):
    config = CONFIGS[("small", "sectors")[seed % 2]]
    pages = random_pages(config, SLOTS, seed, hot=seed % 3 / 4, whole=seed % 5 == 0)
    stalls = (*STALL_KINDS, "mixed", "slow")[seed % 6]
    assert simulate_channels(config, pages, stalls=stalls, seed=seed).first_difference is None


def test_simulators_agree():
    config = CONFIGS["small"]
    pages = random_pages(config, 20, 9, hot=0.1)
    compiled, plain = (
        simulate_channels(config, pages, stalls="random", seed=9, backend=backend) for backend in ("trace", "pysim")
    )
    assert compiled.first_difference is plain.first_difference is None
    assert compiled.result.outputs == plain.result.outputs
    for name, payloads in compiled.result.payloads.items():
        np.testing.assert_array_equal(payloads, plain.result.payloads[name])


def test_nothing_waits_for_a_ready():
    config = CONFIGS["small"]
    pages = random_pages(config, 20, 2, hot=0.2)
    simulation = simulate_channels(config, pages, stalls="random", seed=2, backend="pysim", ready_after_valid=True)
    assert simulation.first_difference is None


def test_every_cycle_has_one_counter():
    config = CONFIGS["small"]
    simulation = simulate_channels(config, random_pages(config, 60, 1), stalls="bursty", seed=4)
    assert simulation.first_difference is None
    outputs = simulation.result.outputs
    totals = {
        sum(count for name, count in outputs.items() if name.startswith("cycles_") and name.endswith(f"_{c}"))
        for c in range(config.flash.channels)
    }
    assert len(totals) == 1
    assert totals.pop() >= simulation.model.cycles


@pytest.mark.parametrize("name", ["small", "sectors", "fast"])
def test_passing_over_what_nobody_wants_changes_no_cycle(name):
    """Nor does leaving out the cycles in which nothing happens."""
    fast = SMALL.replace(page_slots=SLOTS, **{"flash.channel_bytes_per_s": 800_000_000})
    config = CONFIGS.get(name, fast)
    pages = random_pages(config, SLOTS, 5, hot=0.1)
    rng = np.random.default_rng(1)
    wanted = [
        [
            np.unique([first, last, *rng.integers(first, last + 1, rng.integers(0, 5))])
            for first, last in zip(pages.first[c], pages.last[c], strict=True)
        ]
        for c in range(config.flash.channels)
    ]
    every = modelled(config, pages)
    for passed, jump in itertools.product((None, wanted), (False, True)):
        seen = modelled(config, pages, wanted=passed, jump=jump)
        assert seen.cycles == every.cycles
        np.testing.assert_array_equal(seen.ready, every.ready)
        np.testing.assert_array_equal(seen.ready_rows, every.ready_rows)
        for counter, count in every.counts.items():
            np.testing.assert_array_equal(seen.counts[counter], count)
        for c in range(config.flash.channels):
            np.testing.assert_array_equal(seen.commands[c], every.commands[c])
            at_beat = dict(zip(every.beats[c].tolist(), every.beat_rows[c].tolist(), strict=True))
            rows = seen.beat_rows[c]
            for cycle, row in zip(seen.beats[c].tolist(), rows.tolist(), strict=True):
                assert at_beat[cycle][:BEAT_WANTED] == row[:BEAT_WANTED]
            if passed is None:
                assert len(rows) == len(every.beats[c])
            else:
                ends = np.flatnonzero(rows[:, BEAT_LAST])
                pieces = np.split(rows, ends + 1)[:-1]
                assert [piece[piece[:, BEAT_WANTED] == 1, BEAT_NUMBER].tolist() for piece in pieces] == [
                    of_page.tolist() for of_page in wanted[c]
                ]
                assert (rows[:, BEAT_WANTED] | rows[:, BEAT_LAST]).all()


READY_TO_TRANSFER, BEAT_TO_COMMAND, BEAT_TO_BEAT = 4, 3, 1
"""Cycles: from a die that is ready to its transfer, through a loader that takes none of its own; from the last beat of
a die's page to its next read; from the last beat of a page to the next command of a bus that has one."""


@pytest.mark.parametrize("name", ["cosmos", "mqsim", "ull"])
def test_pages_of_one_die_take_turns(name):
    """So many pages of one die take each command, tR, column and transfer, and few cycles between them."""
    config = with_flash(name)
    per_die = config.flash.channels * config.flash.units
    transfer = config.column_cycles + config.flash.page_beats * config.beat_cycles
    one = config.command_cycles + config.read_cycles + READY_TO_TRANSFER + transfer
    for n in (1, 2, 7, 40):
        seen = modelled(config, pages_at(config, 5 + per_die * np.arange(n)), jump=True)
        first = seen.commands[5][0, 0]
        assert seen.cycles - first - 1 == n * one + (n - 1) * BEAT_TO_COMMAND


@pytest.mark.parametrize("name", ["cosmos", "mqsim", "ull"])
def test_dies_of_one_channel_share_its_bus(name):
    """So many dies of one channel take tR and as many transfers, each with a column, and a cycle between them."""
    config = with_flash(name)
    channels = config.flash.channels
    transfer = config.column_cycles + config.flash.page_beats * config.beat_cycles
    for n in range(1, config.flash.units + 1):
        seen = modelled(config, pages_at(config, 3 + channels * np.arange(n)), jump=True)
        first = seen.commands[3][0, 0]
        before = config.command_cycles + config.read_cycles + READY_TO_TRANSFER
        assert seen.cycles - first - 1 == before + n * transfer + (n - 1) * BEAT_TO_BEAT


@pytest.mark.soak
def test_the_formulas_hold_in_the_rtl():
    """As in the model, of the device with the longest pages; all other channels are idle."""
    config = with_flash("cosmos")
    for place in (5 + 64 * np.arange(3), 3 + 8 * np.arange(8)):
        assert simulate_channels(config, pages_at(config, place)).first_difference is None


def test_a_channel_is_busy_as_long_as_it_has_pages():
    """Of a channel whose dies all have pages, from the first transfer on: all cycles but those between two pages."""
    config = with_flash("cosmos")
    dies = config.flash.units
    n = 12 * dies
    seen = modelled(config, pages_at(config, config.flash.channels * np.arange(n)), jump=True)
    counts = {name: int(count[0]) for name, count in seen.counts.items()}
    per_page = config.column_cycles + config.command_cycles + config.flash.page_beats * config.beat_cycles + 1
    transfers = seen.commands[0][seen.commands[0][:, 1] == 1, 0]
    assert seen.cycles - transfers[0] <= n * per_page
    assert counts["load"] + counts["read"] <= config.read_cycles + READY_TO_TRANSFER + 5


def test_dies_are_read_round_robin_and_pages_of_a_die_in_order():
    config = CONFIGS["small"]
    per_die = config.flash.channels * config.flash.units
    pages = pages_at(config, [0, 8, 16, 24, 2, 10, 4, 6, 14])  # channel 0: dies 0 0 0 0 1 1 2 3 3
    simulation = simulate_channels(config, pages)
    assert simulation.first_difference is None
    commands = simulation.model.commands[0]
    reads = commands[commands[:, 1] == 0]
    assert reads[:, 2].tolist() == [0, 1, 2, 3, 0, 1, 3, 0, 0]
    assert (reads[reads[:, 2] == 0, 3] // per_die).tolist() == [0, 1, 2, 3]


def test_a_page_in_the_dram_waits_for_no_die():
    config = CONFIGS["small"]
    pages = pages_at(config, [0, 8, 16, 77, 24], hot=[0, 0, 0, 1, 0])
    simulation = simulate_channels(config, pages)
    assert simulation.first_difference is None
    rows = simulation.model.ready_rows
    assert rows[0, READY_SLOT] == 3
    assert rows[0, READY_CHANNEL] == config.flash.channels


def test_the_loader_has_two_pages_of_a_channel_at_most():
    config = CONFIGS["small"]
    pages = pages_at(config, [0, 2, 4, 6])
    stalled = {"wants_0": np.arange(4000) < 3900}
    channels = [Channel(pages.first[c], pages.last[c], stalled.get(f"wants_{c}", NEVER), NEVER) for c in range(2)]
    seen = play_model(config, pages.rows, NEVER, NEVER, channels)
    assert (seen.ready < 3900).tolist() == [True, True, False, False]
