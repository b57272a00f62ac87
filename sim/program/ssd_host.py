"""What the driver of the sampling engine puts into the host's memory: queues, configurations, room for results."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.program.ssd import LINE_BYTES, MODE_LOOK_UP, MODE_REPLACE, NS_CONFIG, SUBMISSION, TARGET, SsdOpcode

QUEUE_ADDRESS = 0x1000
"""Byte of the host's memory at which the submission queue begins; the completion queue follows."""


@dataclass(frozen=True, kw_only=True)
class EdgeList:
    """Where and how an edge list lies on the SSD.

    Attributes
    ----------
    address : int
        Byte of the SSD at which it begins, a multiple of `id_bytes`.
    edges, nodes : int
        Edges in the list, and nodes of the graph.
    id_bytes : int
        4 or 8.
    """

    address: int
    edges: int
    nodes: int
    id_bytes: int

    def pages(self, page_bytes: int) -> int:
        """Return the pages of the SSD up to the end of the list.

        Parameters
        ----------
        page_bytes : int
            Bytes of a page.

        Returns
        -------
        int
            Pages.
        """
        return -(-(self.address + self.edges * self.id_bytes) // page_bytes)


@dataclass(frozen=True, kw_only=True, eq=False)
class MiniBatch:
    """The targets of one command, and what is asked of them.

    Attributes
    ----------
    node, offset, degree : ndarray of uint64, shape [targets]
        Number of each target, edge with which its list begins, edges of its list.
    fanouts : tuple of int
        Of each hop, `ALL_NEIGHBOURS` for all.
    seed, number : int
        Seed of the draws (64 bits) and number of the batch (32 bits).
    replace : bool
        Draw with replacement.
    look_up : bool
        The engine looks offset and degree of the targets up by itself.
    result_lines, ids_line : int, optional
        Room for the result, and where in it ids begin, in lines; by default as much as there can be at most (all
        neighbours aside, of which the first hop's degrees are known only).
    """

    node: NDArray[np.uint64]
    offset: NDArray[np.uint64]
    degree: NDArray[np.uint64]
    fanouts: tuple[int, ...]
    seed: int = 0
    number: int = 0
    replace: bool = False
    look_up: bool = False
    result_lines: int | None = None
    ids_line: int | None = None

    def most(self) -> tuple[int, int]:
        """Return the most counts and ids that there can be, where no fan-out is for all neighbours."""
        width, counts, ids = len(self.node), 0, 0
        for fanout in self.fanouts:
            counts += width
            width *= fanout
            ids += width
        return counts, ids


@dataclass(frozen=True, eq=False)
class Command:
    """One entry of the submission queue with its configuration, as bytes: right or wrong.

    Attributes
    ----------
    submission : ndarray of uint8, shape [64]
        The entry.
    config : ndarray of uint8, shape [64]
        The record `NS_CONFIG`, at the address of PRP1.
    targets : ndarray of uint8, shape [n, 32]
        The targets behind it.
    """

    submission: NDArray[np.uint8]
    config: NDArray[np.uint8]
    targets: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, TARGET.bytes), np.uint8))


def _lines(n_bytes: int) -> int:
    return -(-n_bytes // LINE_BYTES)


def make_commands(batches: Sequence[MiniBatch], edges: EdgeList, *, first_address: int = 1 << 20) -> list[Command]:
    """Encode commands, each with a configuration and a result of its own in the host's memory.

    Parameters
    ----------
    batches : sequence of MiniBatch
        What to sample.
    edges : EdgeList
        The edge list.
    first_address : int
        Where configurations and results begin in the host's memory, a multiple of 64.

    Returns
    -------
    list of Command
        One for each batch; its identifier is its place.
    """
    commands, address = [], first_address
    for place, batch in enumerate(batches):
        targets = TARGET.encode(len(batch.node), {"node": batch.node, "offset": batch.offset, "degree": batch.degree})
        counts, ids = batch.most()
        ids_line = _lines(4 * counts) if batch.ids_line is None else batch.ids_line
        lines = ids_line + _lines(ids * edges.id_bytes) if batch.result_lines is None else batch.result_lines
        config_bytes = NS_CONFIG.bytes + targets.size
        result = address + LINE_BYTES * _lines(config_bytes)
        config = NS_CONFIG.encode(
            1,
            {
                "edges_address": edges.address,
                "edges": edges.edges,
                "nodes": edges.nodes,
                "seed": batch.seed,
                "result_address": result,
                "result_lines": lines,
                "ids_line": ids_line,
                "targets": len(targets),
                "batch": batch.number,
                "id_bytes": edges.id_bytes,
                "mode": MODE_REPLACE * batch.replace | MODE_LOOK_UP * batch.look_up,
                "hops": len(batch.fanouts),
                **{f"fanout_{hop}": fanout for hop, fanout in enumerate(batch.fanouts)},
            },
        )
        submission = SUBMISSION.encode(
            1, {"opcode": SsdOpcode.SAMPLE, "cid": place & 0xFFFF, "prp1": address, "config_bytes": config_bytes}
        )
        commands.append(Command(submission[0], config[0], targets))
        address = result + LINE_BYTES * lines
    return commands


@dataclass(frozen=True, kw_only=True, eq=False)
class HostImage:
    """The host's memory before the first doorbell.

    Attributes
    ----------
    address : ndarray of uint64, shape [lines]
        Of each line that holds something, ascending.
    data : ndarray of uint8, shape [lines, 64]
        The lines.
    sq_address, cq_address : int
        Where the queues begin.
    sq_entries, cq_entries : int
        Entries of the queues; one of each stays free, as NVM Express has it.
    """

    address: NDArray[np.uint64]
    data: NDArray[np.uint8]
    sq_address: int
    cq_address: int
    sq_entries: int
    cq_entries: int


def host_image(commands: Sequence[Command], *, cq_entries: int | None = None) -> HostImage:
    """Lay commands out in the host's memory.

    Parameters
    ----------
    commands : sequence of Command
        In order of submission. Those whose PRP1 is no multiple of a line have no configuration.
    cq_entries : int, optional
        Entries of the completion queue; by default one more than there are commands, and at least 2.

    Returns
    -------
    HostImage
        Queues with room for all commands, entries and configurations.
    """
    entries = max(2, len(commands) + 1)
    lines: dict[int, NDArray[np.uint8]] = {}
    for place, command in enumerate(commands):
        lines[QUEUE_ADDRESS + LINE_BYTES * place] = command.submission
        address = int(SUBMISSION.decode(command.submission[None])["prp1"][0])
        if address % LINE_BYTES == 0:
            body = np.zeros(LINE_BYTES * _lines(64 + command.targets.size), np.uint8)
            body[:64] = command.config
            body[64 : 64 + command.targets.size] = command.targets.reshape(-1)
            for line, part in enumerate(body.reshape(-1, LINE_BYTES)):
                lines[address + LINE_BYTES * line] = part
    order = sorted(lines)
    return HostImage(
        address=np.array(order, np.uint64),
        data=np.array([lines[address] for address in order], np.uint8).reshape(-1, LINE_BYTES),
        sq_address=QUEUE_ADDRESS,
        cq_address=QUEUE_ADDRESS + LINE_BYTES * entries,
        sq_entries=entries,
        cq_entries=cq_entries or entries,
    )
