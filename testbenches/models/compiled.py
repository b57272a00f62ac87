"""Runs a bench on a compiled simulator: the players' files are written, the simulator started, its files read."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import cocotb_tools.config
import find_libpython
import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from testbenches.build import Design, simulator, verilog_text
from testbenches.models.exchange import Description, Played, payload_bytes, read_outcome
from testbenches.models.ports import Ports
from testbenches.models.rules import BenchError
from testbenches.models.top import TOP, bench_sources
from testbenches.toolchain import run_logged, tail


def play_compiled(
    design: wiring.Component | Design,
    ports: Ports,
    description: Description,
    payloads: Mapping[str, NDArray[np.uint8]],
    stalled: Mapping[str, NDArray[np.bool_]],
    *,
    style: Literal["trace", "paced"],
    files: Mapping[str, Path],
    waves: Path | None,
    timeout_seconds: float,
) -> Played:
    """Compile the design with its bench (or find it in the cache) and run it once.

    Parameters
    ----------
    design : wiring.Component or Design
        The design.
    ports : Ports
        Its ports.
    description : Description
        What is to be played.
    payloads, stalled : mapping of str to ndarray
        Beats of each source, stall pattern of each stream.
    style : {"trace", "paced"}
        Whether compiled players or Python agents play.
    files : mapping of str to Path
        Files that the design reads, by the names under which it finds them.
    waves : Path or None
        VCD file to write.
    timeout_seconds : float
        Wall-clock limit.

    Raises
    ------
    BenchError
        If the simulator did not come to an end of its own.
    """
    text = design.verilog() if isinstance(design, Design) else verilog_text(design)
    gated = description.ready_after_valid
    waived = (
        ("UNOPTFLAT",) if gated else ()
    )  # a design whose valid follows ready closes a loop: it is to hang, and be told
    program = simulator(bench_sources(text, ports, style, gated), top=TOP, waves=waves is not None, waived=waived)
    with tempfile.TemporaryDirectory(prefix="nearsage-bench-") as name:
        folder = Path(name)
        for own_name, file in files.items():
            (folder / own_name).symlink_to(file.resolve())
        description.write(folder)
        for stream, pattern in stalled.items():
            (folder / f"{stream}.config").write_text(f"{description.beats[stream]} {len(pattern)}\n")
            pattern.astype(np.uint8).tofile(folder / f"{stream}.stalls")
        for stream, beats in payloads.items():
            np.ascontiguousarray(beats[:, ::-1]).tofile(folder / f"{stream}.beats")  # $fread fills from the high end
        start = time.perf_counter()
        _simulate(program, folder, style, waves=waves is not None, timeout_seconds=timeout_seconds)
        seconds = time.perf_counter() - start
        outcome = read_outcome(folder)
        if waves is not None and (folder / "dump.vcd").is_file():
            shutil.move(folder / "dump.vcd", waves)
        if outcome is None:
            raise BenchError(f"the simulation broke off; the end of its log:\n{tail(folder / 'log')}")
        accepted = {stream: np.fromfile(folder / f"{stream}.handovers", np.int64) for stream in ports.sources}
        received = {}
        for stream, width in ports.sinks.items():
            record = np.dtype([("cycle", np.int64), ("payload", np.uint8, 4 * -(-width // 32))])
            handovers = np.fromfile(folder / f"{stream}.handovers", record)
            accepted[stream] = handovers["cycle"].copy()
            received[stream] = handovers["payload"][:, : payload_bytes(width)].copy()
    return Played(outcome, accepted, received, seconds)


def _simulate(program: Path, folder: Path, style: str, *, waves: bool, timeout_seconds: float) -> None:
    library = find_libpython.find_libpython()
    if library is None:
        raise BenchError(
            f"{sys.executable} has no shared library, which cocotb needs; use a Python built with --enable-shared"
        )
    project = str(Path(__file__).parent.parent.parent)
    extra = {
        "PYTHONPATH": os.pathsep.join([project, *filter(None, sys.path)]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{library};{cocotb_tools.config.pygpi_entry_point()}",
        "COCOTB_TOPLEVEL": TOP,
        "COCOTB_TEST_MODULES": f"testbenches.models.cocotb_{style}",
        "COCOTB_RANDOM_SEED": "0",
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_REWRITE_ASSERTION_FILES": "",  # saves the import of pytest
        "COCOTB_TRUST_INERTIAL_WRITES": "1",  # Verilator applies them at the right time by itself
        "TOPLEVEL_LANG": "verilog",
    }
    command = [str(program), *(["--trace"] if waves else [])]
    try:
        run_logged(command, folder=folder, log=folder / "log", extra=extra, timeout_seconds=timeout_seconds)
    except subprocess.TimeoutExpired as error:
        raise BenchError(
            f"the simulation was stopped after {timeout_seconds} s (timeout_seconds); "
            f"the end of its log:\n{tail(folder / 'log')}"
        ) from error
