"""Small Near-Memory Engines of odd sizes, and programs for corners that random ones seldom reach."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig, load_config
from sim.program.commands import EDGE_RECORD, ReduceOpcode
from sim.program.dimm import DimmProgram
from sim.program.engine_commands import (
    ENGINE_COMMAND,
    SHARD_DESCRIPTOR,
    SOURCE_RECORD,
    EngineCode,
    EngineOpcode,
    update_beat,
)
from sim.program.engine_work import decode_engine_work
from sim.program.geometry import Geometry
from sim.program.image import DimmImage
from sim.program.lists import pack_lists, read_lists
from testbenches.nme.engine_traces import random_program
from testbenches.nme.traces import random_bits

SlotRule = Callable[[np.random.Generator, int], NDArray[np.int64]]
"""From a generator and a number of shards to their slots, in the order of execution."""


def small_system(**changes: object) -> SystemConfig:
    """Make a system with one channel whose engines and memories are small, so that their simulators are built fast.

    Parameters
    ----------
    **changes
        As for `SystemConfig.replace`; ``dram`` names a shipped memory whose timing is taken.

    Returns
    -------
    SystemConfig
        The system: lines of 32 bytes, two bank groups of two banks, 8 bursts in a row; a refresh every 900 cycles.
    """
    memory = changes.pop("dram", None)
    config = load_config("tiny", dram=None if memory is None else str(memory))
    sizes = {
        "nme.pes": 1,
        "nme.lanes_per_pe": 2,
        "nme.max_beats": 16,
        "nme.interval": 6,
        "nme.vector_slots": 3,
        "nme.list_slots": 2,
        "nme.queued_passes": 2,
        "dram.channels": 1,
        "dram.ranks_per_dimm": 1,
        "dram.bus_width_bits": 256 // config.dram.burst_length,
        "dram.device_width_bits": 4,
        "dram.bank_groups": 2,
        "dram.banks_per_group": 2,
        "dram.columns": 8 * config.dram.burst_length,
        "dram.rows": 512,
        "dram.mapping": "bursts_over_groups",
        "dram.window_requests": 4,
        "dram.timing.trefi": 900,
        "dram.timing.trfc": 100,
        "partition.window_shards": 2,
    }
    return config.replace(**{**sizes, **changes})


def any_slots(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw slots from all numbers, the greatest among them."""
    return np.where(rng.random(count) < 0.2, 2**32 - 1, rng.integers(0, 2**32, count))


def rising_slots(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Make slots that rise by 0 to 2: as in a schedule, but for equal ones."""
    return np.cumsum(rng.integers(0, 3, count))


def mixed_slots(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw slots of a narrow range in any order: they fall as often as they rise."""
    return rng.integers(0, 7, count)


def last_slots(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Make slots that rise to the greatest number and stay there: the window ends beyond 32 bits."""
    return np.minimum(2**32 - 1 - count + np.cumsum(rng.integers(0, 4, count)), 2**32 - 1)


SLOT_RULES: tuple[SlotRule, ...] = (any_slots, rising_slots, mixed_slots, last_slots)


def with_slots(program: DimmProgram, config: SystemConfig, rule: SlotRule, seed: int) -> DimmProgram:
    """Give the shards of a program other slots.

    Parameters
    ----------
    program : DimmProgram
        The program.
    config : SystemConfig
        The hardware.
    rule : SlotRule
        Makes the slots.
    seed : int
        Any number.

    Returns
    -------
    DimmProgram
        The program with its descriptors changed.
    """
    geometry, commands = Geometry.of(config), decode_engine_work(program, config).commands
    runs = (commands.code == EngineCode.OK) & (commands.opcode == EngineOpcode.RUN)
    slots = rule(np.random.default_rng(seed), int(commands.length[runs].sum()))
    place = next(offset for field, offset in SHARD_DESCRIPTOR.placed() if field.name == "slot") // 8
    image = program.image
    for address, count in zip(commands.address[runs].tolist(), commands.length[runs].tolist(), strict=True):
        length = np.array([count])
        records = read_lists(image, np.array([address]), length, SHARD_DESCRIPTOR.bytes, geometry).copy()
        records[:, place : place + 4] = slots[:count].astype("<u4").view(np.uint8).reshape(count, 4)
        slots = slots[count:]
        changed = pack_lists(records, length, address, geometry).image
        image = image.write(changed.addresses, changed.lines)
    return replace(program, image=image)


def unequal_programs(config: SystemConfig, seed: int, *, commands: int = 5) -> list[DimmProgram]:
    """Make random programs of very unequal length, some without a command, their slots by one of `SLOT_RULES`.

    Parameters
    ----------
    config : SystemConfig
        The hardware.
    seed : int
        Any number; from four in a row every rule comes.
    commands : int
        Commands of the longest program.

    Returns
    -------
    list of DimmProgram
        One for each DIMM.
    """
    dimms, programs = config.dram.dimms, []
    for d in range(dimms):
        length = (commands, commands // 3 + 1, 0, 1)[(seed + d) % 4] if dimms > 1 else commands
        program = random_program(
            config,
            1000 * seed + d,
            commands=length,
            max_edges=(8, 20, 3, 12)[(seed // 4 + d) % 4],
            bad=(0.15, 0.0, 0.3, 0.05)[(seed // 2) % 4],
            max_slices=(3, 1, 6, 2)[(seed // 3) % 4],
            vectors=6,
        )
        programs.append(with_slots(program, config, SLOT_RULES[seed % 4], seed + d))
    return programs


def one_shard(
    config: SystemConfig, sources: NDArray[np.int64], beats: int, *, kind: int = 0, **fields: int
) -> DimmProgram:
    """Make a program that adds up some vectors, which must be in the memory, for destination 0.

    Parameters
    ----------
    config : SystemConfig
        The hardware.
    sources : ndarray of int64
        Numbers of the vectors.
    beats : int
        Beats of a vector.
    kind : int
        Kind of the vectors.
    **fields : int
        Other fields of the descriptor; ``first_chunk``, where its lists begin.

    Returns
    -------
    DimmProgram
        The program.
    """
    geometry, n, first = Geometry.of(config), len(sources), fields.pop("first_chunk", 0)
    source_list = pack_lists(SOURCE_RECORD.encode(n, {"number": sources}), np.array([n]), first + 1, geometry)
    edges = EDGE_RECORD.encode(n, {"destination": 0, "last_of_source": 1, "weight": 0})
    edge_list = pack_lists(edges, np.array([n]), source_list.next_chunk, geometry)
    shard = {
        "opcode": int(ReduceOpcode.ADD),
        "kind": kind,
        "beats": beats,
        "destinations": 1,
        "sources": n,
        "edges": n,
        "sources_address": int(source_list.addresses[0]),
        "edges_address": int(edge_list.addresses[0]),
    }
    records = SHARD_DESCRIPTOR.encode(1, {**shard, **fields})
    return DimmProgram(
        commands=ENGINE_COMMAND.encode(1, {"opcode": int(EngineOpcode.RUN), "count": 1, "address": first}),
        updates=update_beat(config.nme.lanes, 8 * config.nme.element_bytes).encode(0, {}),
        image=pack_lists(records, np.array([1]), first, geometry).image.merge(source_list.image).merge(edge_list.image),
        next_chunk=edge_list.next_chunk,
    )


def stored_numbers(
    config: SystemConfig, numbers: NDArray[np.int64], beats: int, seed: int, *, kind: int = 0
) -> DimmProgram:
    """Make a program that stores random vectors; beats behind the first have any number, for it does not count.

    Parameters
    ----------
    config : SystemConfig
        The hardware.
    numbers : ndarray of int64
        Numbers of the vectors.
    beats : int
        Beats of each.
    seed : int
        Any number.
    kind : int
        Kind of the vectors.

    Returns
    -------
    DimmProgram
        The program.
    """
    nme, n = config.nme, len(numbers)
    rng = np.random.default_rng(seed)
    data = random_bits(rng, (n * beats, nme.lanes), nme.element, 0.0)
    first = np.arange(n * beats) % beats == 0
    numbers = np.where(first, np.repeat(numbers, beats), rng.integers(0, 1 << 32, n * beats))
    command = {"opcode": int(EngineOpcode.STORE), "kind": kind, "beats": beats, "count": n, "tag": 65535}
    layout = update_beat(nme.lanes, 8 * nme.element_bytes)
    return DimmProgram(
        commands=ENGINE_COMMAND.encode(1, command),
        updates=layout.encode(n * beats, {"number": numbers, "data": data}),
        image=DimmImage.empty(Geometry.of(config).line_bytes),
    )


def narrow_over_wide(config: SystemConfig, seed: int) -> DimmProgram:
    """Make a program that reads, as wide vectors, lines that narrow ones were stored in: behind them are zeros.

    Parameters
    ----------
    config : SystemConfig
        The hardware, with two beats or more in a line.
    seed : int
        Any number.

    Returns
    -------
    DimmProgram
        Vectors of a whole line each are stored, then narrower ones in the same places; then lines are read whole.
    """
    geometry = Geometry.of(config)
    per_line = geometry.line_bytes // geometry.beat_bytes
    numbers = np.arange(9)
    wide = stored_numbers(config, numbers, per_line, seed)
    narrow = stored_numbers(config, numbers[::-1], max(1, per_line - 1), seed + 1)
    return wide.then(narrow).then(one_shard(config, numbers, per_line, slot=2**32 - 1, tag=65535))
