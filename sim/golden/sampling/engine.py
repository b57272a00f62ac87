"""Golden model of the whole sampling engine: what commands write into the host's memory, and how they end."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.golden.sampling.hops import Hop, SampleJob, sample_hops
from sim.program.ssd import (
    COMPLETION,
    COUNT_FAILED,
    LINE_BYTES,
    MODE_LOOK_UP,
    MODE_REPLACE,
    NS_CONFIG,
    SUBMISSION,
    TARGET,
    SsdStatus,
)
from sim.program.ssd_check import check_command
from sim.program.ssd_host import Command, EdgeList, HostImage
from sim.program.ssd_storage import Storage


@dataclass(frozen=True, kw_only=True, eq=False)
class Sampled:
    """What came of one command.

    Attributes
    ----------
    status : SsdStatus
        How it ended.
    detail : int
        Ids written; page or target of the fault (`COMPLETION`).
    hops : list of Hop
        What was sampled; empty if it was refused.
    counts : ndarray of uint32
        Count words of all targets, those that did not fit included.
    ids : ndarray of uint64
        All ids, those that did not fit included.
    """

    status: SsdStatus
    detail: int
    hops: list[Hop]
    counts: NDArray[np.uint32]
    ids: NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class SsdResult:
    """What came of all commands.

    Attributes
    ----------
    commands : list of Sampled
        One for each.
    address : ndarray of uint64, shape [writes]
        Of each line written, in order.
    data : ndarray of uint8, shape [writes, 64]
        The lines.
    mask : ndarray of uint8, shape [writes, 64]
        1 for each byte that is written.
    """

    commands: list[Sampled]
    address: NDArray[np.uint64]
    data: NDArray[np.uint8]
    mask: NDArray[np.uint8]


def run_commands(
    commands: Sequence[Command], host: HostImage, storage: Storage, config: SsdConfig, *, pages: int
) -> SsdResult:
    """Run the commands of a submission queue.

    Parameters
    ----------
    commands : sequence of Command
        In order.
    host : HostImage
        Where the queues lie.
    storage : Storage
        Contents of the SSD.
    config : SsdConfig
        The engine.
    pages : int
        Logical pages of the SSD.

    Returns
    -------
    SsdResult
        All that is written, and what was sampled.
    """
    done: list[Sampled] = []
    written: list[_Lines] = []
    for place, command in enumerate(commands):
        status = check_command(command.submission, command.config, config, pages=pages)
        if status == SsdStatus.OK:
            one, lines = _sample(command, storage, config)
            written.append(lines)
        else:
            nothing = np.zeros(0, np.uint64)
            one = Sampled(status=status, detail=0, hops=[], counts=nothing.astype(np.uint32), ids=nothing)
        done.append(one)
        written.append(_completion(command, one, host, place))
    return SsdResult(
        commands=done,
        address=np.concatenate([np.zeros(0, np.uint64), *(lines.address for lines in written)]),
        data=np.concatenate([np.zeros((0, LINE_BYTES), np.uint8), *(lines.data for lines in written)]),
        mask=np.concatenate([np.zeros((0, LINE_BYTES), np.uint8), *(lines.mask for lines in written)]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lines:
    address: NDArray[np.uint64]
    data: NDArray[np.uint8]
    mask: NDArray[np.uint8]


def _completion(command: Command, one: Sampled, host: HostImage, place: int) -> _Lines:
    lap, slot = divmod(place, host.cq_entries)
    entry = COMPLETION.encode(
        1,
        {
            "detail": one.detail,
            "sq_head": (place + 1) % host.sq_entries,
            "cid": SUBMISSION.decode(command.submission[None])["cid"],
            "phase": 1 - lap % 2,
            "status": one.status,
        },
    )
    address = host.cq_address + COMPLETION.bytes * slot
    data, mask = np.zeros((1, LINE_BYTES), np.uint8), np.zeros((1, LINE_BYTES), np.uint8)
    first = address % LINE_BYTES
    data[0, first : first + COMPLETION.bytes] = entry[0]
    mask[0, first : first + COMPLETION.bytes] = 1
    return _Lines(address=np.array([address - first], np.uint64), data=data, mask=mask)


def _sample(command: Command, storage: Storage, config: SsdConfig) -> tuple[Sampled, _Lines]:
    asked = {name: int(value[0]) for name, value in NS_CONFIG.decode(command.config[None]).items()}
    targets = TARGET.decode(command.targets)
    job = SampleJob(
        edges=EdgeList(
            address=asked["edges_address"], edges=asked["edges"], nodes=asked["nodes"], id_bytes=asked["id_bytes"]
        ),
        fanouts=tuple(asked[f"fanout_{hop}"] for hop in range(asked["hops"])),
        seed=asked["seed"],
        number=asked["batch"],
        replace=bool(asked["mode"] & MODE_REPLACE),
        look_up=bool(asked["mode"] & MODE_LOOK_UP),
    )
    hops = sample_hops(
        job,
        targets["node"].astype(np.uint64),
        targets["offset"].astype(np.uint64),
        targets["degree"].astype(np.uint64),
        storage,
        page_bytes=config.flash.page_bytes,
        frontier_entries=config.frontier_entries,
    )
    counts = np.concatenate([_count_words(hop) for hop in hops])
    ids = np.concatenate([hop.ids for hop in hops])
    first_target = np.cumsum([0, *(len(hop.node) for hop in hops)])
    owner = np.concatenate([hop.owner + first for hop, first in zip(hops, first_target[:-1], strict=True)])
    id_bytes = asked["id_bytes"]
    count_room = asked["ids_line"] * LINE_BYTES // 4
    id_room = (asked["result_lines"] - asked["ids_line"]) * LINE_BYTES // id_bytes
    status, detail = _first_fault(hops, first_target, owner, count_room, id_room, config.frontier_entries)
    if status == SsdStatus.OK:
        detail = len(ids)
    lines = _result_lines(
        counts[:count_room],
        ids[:id_room],
        owner[:id_room],
        id_bytes,
        counts_address=asked["result_address"],
        ids_address=asked["result_address"] + LINE_BYTES * asked["ids_line"],
    )
    return Sampled(status=status, detail=detail, hops=hops, counts=counts, ids=ids), lines


def _count_words(hop: Hop) -> NDArray[np.uint32]:
    failed = hop.bad.copy()
    failed[hop.owner[hop.unreadable]] = True
    words = hop.count | np.where(failed, COUNT_FAILED, 0)
    return words.astype(np.uint32)


def _first_fault(
    hops: list[Hop],
    first_target: NDArray[np.int64],
    owner: NDArray[np.int64],
    count_room: int,
    id_room: int,
    frontier_entries: int,
) -> tuple[SsdStatus, int]:
    """Return the first fault in the order in which the packer meets them: a target, its ids, its count."""
    # Each fault with its place: target; 0 for the target itself, 1 for an id, 2 for the count; id; rank among those.
    faults: list[tuple[tuple[int, int, int, int], SsdStatus, int]] = []
    taken = 0
    for number, (hop, first) in enumerate(zip(hops, first_target[:-1].tolist(), strict=True)):
        bad, unreadable = np.flatnonzero(hop.bad), np.flatnonzero(hop.unreadable)
        if len(bad):
            target = first + int(bad[0])
            faults.append(((target, 0, 0, 0), SsdStatus.OUT_OF_RANGE, target))
        if len(unreadable):
            sample = int(unreadable[0])
            target = first + int(hop.owner[sample])
            faults.append(((target, 1, taken + sample, 0), SsdStatus.UNRECOVERED_READ, int(hop.page[sample])))
        if number + 1 < len(hops) and len(hop.ids) > frontier_entries:
            target = first + int(hop.owner[frontier_entries])
            faults.append(((target, 1, taken + frontier_entries, 2), SsdStatus.FRONTIER_FULL, target))
        taken += len(hop.ids)
    if taken > id_room:
        target = int(owner[id_room])
        faults.append(((target, 1, id_room, 1), SsdStatus.RESULT_TOO_SMALL, target))
    if first_target[-1] > count_room:
        faults.append(((count_room, 2, 0, 0), SsdStatus.RESULT_TOO_SMALL, count_room))
    if not faults:
        return SsdStatus.OK, 0
    _, status, detail = min(faults)
    return status, detail


def _result_lines(
    counts: NDArray[np.uint32],
    ids: NDArray[np.uint64],
    owner: NDArray[np.int64],
    id_bytes: int,
    *,
    counts_address: int,
    ids_address: int,
) -> _Lines:
    """Return the lines in the order in which they fill up; at the end those that are not full, counts first."""
    counted = _packed(counts.astype("<u4"), counts_address)
    numbered = _packed(ids.astype(f"<u{id_bytes}"), ids_address)
    per_count, per_id = LINE_BYTES // 4, LINE_BYTES // id_bytes
    # A line is full with a target's count, or before that with one of its ids.
    last_target = np.arange(1, len(counts) // per_count + 1) * per_count - 1
    last_owner = owner[np.arange(1, len(ids) // per_id + 1) * per_id - 1]
    parts = np.concatenate([counted.mask.any(axis=1), numbered.mask.any(axis=1)])
    never = np.iinfo(np.int64).max
    target = np.full(len(parts), never)
    target[: len(last_target)] = last_target
    target[len(counted.mask) : len(counted.mask) + len(last_owner)] = last_owner
    is_count = np.arange(len(parts)) < len(counted.mask)
    rank = np.where(target == never, ~is_count, is_count)
    order = np.lexsort((np.arange(len(parts)), rank, target))
    return _Lines(
        address=np.concatenate([counted.address, numbered.address])[order],
        data=np.concatenate([counted.data, numbered.data])[order],
        mask=np.concatenate([counted.mask, numbered.mask])[order],
    )


def _packed(values: NDArray[np.unsignedinteger], address: int) -> _Lines:
    size = values.size * values.itemsize
    lines = -(-size // LINE_BYTES)
    data, mask = np.zeros(lines * LINE_BYTES, np.uint8), np.zeros(lines * LINE_BYTES, np.uint8)
    data[:size] = values.view(np.uint8)
    mask[:size] = 1
    return _Lines(
        address=np.uint64(address) + np.arange(lines, dtype=np.uint64) * np.uint64(LINE_BYTES),
        data=data.reshape(-1, LINE_BYTES),
        mask=mask.reshape(-1, LINE_BYTES),
    )
