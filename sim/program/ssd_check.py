"""Which commands the sampling engine refuses, and why."""

import numpy as np
from numpy.typing import NDArray

from sim.config import SsdConfig
from sim.program.ssd import (
    ALL_NEIGHBOURS,
    EDGE_BITS,
    LINE_BYTES,
    MODE_LOOK_UP,
    MODE_REPLACE,
    MOST_HOPS,
    NODE_BITS,
    NS_CONFIG,
    SUBMISSION,
    TARGET,
    SsdOpcode,
    SsdStatus,
)


def check_command(
    submission: NDArray[np.uint8], ns_config: NDArray[np.uint8], config: SsdConfig, *, pages: int
) -> SsdStatus:
    """Judge a command.

    Parameters
    ----------
    submission : ndarray of uint8, shape [64]
        The entry.
    ns_config : ndarray of uint8, shape [64]
        What its PRP1 points to.
    config : SsdConfig
        The engine.
    pages : int
        Logical pages of the SSD.

    Returns
    -------
    SsdStatus
        OK, or the first reason for which it is refused.
    """
    entry = {name: int(value[0]) for name, value in SUBMISSION.decode(submission[None]).items()}
    if entry["opcode"] != SsdOpcode.SAMPLE:
        return SsdStatus.INVALID_OPCODE
    if entry["prp1"] % LINE_BYTES:
        return SsdStatus.PRP_OFFSET
    asked = {name: int(value[0]) for name, value in NS_CONFIG.decode(ns_config[None]).items()}
    fanouts = [asked[f"fanout_{hop}"] for hop in range(min(asked["hops"], MOST_HOPS))]
    end = asked["edges_address"] + asked["edges"] * asked["id_bytes"]
    result_end = asked["result_address"] + LINE_BYTES * asked["result_lines"]
    for is_wrong, status in (
        (asked["targets"] == 0, SsdStatus.NO_TARGETS),
        (entry["config_bytes"] != NS_CONFIG.bytes + TARGET.bytes * asked["targets"], SsdStatus.INVALID_FIELD),
        (asked["id_bytes"] not in (4, 8), SsdStatus.BAD_ID_BYTES),
        (asked["mode"] & ~(MODE_REPLACE | MODE_LOOK_UP) != 0, SsdStatus.BAD_MODE),
        (not 1 <= asked["hops"] <= MOST_HOPS, SsdStatus.BAD_HOPS),
        (
            any(f == 0 or config.max_fanout < f < ALL_NEIGHBOURS for f in fanouts),
            SsdStatus.BAD_FANOUT,
        ),
        (
            asked["edges"] > 1 << EDGE_BITS
            or asked["nodes"] > (1 << NODE_BITS) - 1
            or end > pages * config.flash.page_bytes
            or asked["edges_address"] % max(1, asked["id_bytes"]) != 0,
            SsdStatus.BAD_EDGES,
        ),
        (
            asked["result_address"] % LINE_BYTES != 0
            or asked["ids_line"] > asked["result_lines"]
            or result_end > 1 << 64,
            SsdStatus.BAD_RESULT,
        ),
    ):
        if is_wrong:
            return status
    return SsdStatus.OK
