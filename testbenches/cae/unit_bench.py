# amaranth: UnusedElaboratable=no
"""One unit of the Centralized Acceleration Engine with the banks, as a design that a bench can drive and watch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from hdl.cae.banks import Banks
from hdl.layout import struct_layout
from sim.config import CaeConfig
from sim.program.counters import COUNTER_BITS
from sim.program.instructions import CAE_INSTRUCTION
from sim.program.layout import Field, Layout
from sim.timing.stalls import stall_pattern
from testbenches.bench import Backend, Bench, Result, Sink, Source, run
from testbenches.build import Design


def job_record(config: CaeConfig) -> Layout:
    """Return the field table of `hdl.cae.ports.job_layout`."""
    slot_bits = max(1, (config.window_instructions - 1).bit_length())
    return Layout("Job", (*CAE_INSTRUCTION.fields, Field(name="slot", bits=slot_bits)))


def bank_beat(config: CaeConfig) -> Layout:
    """Return the record of a write to a bank."""
    return Layout(
        "BankBeat",
        (
            Field(name="bank", bits=16),
            Field(name="parts", bits=16),
            Field(name="address", bits=32),
            Field(name="data", bits=32, count=config.lanes),
        ),
    )


REPORT = Layout("Report", (Field(name="slot", bits=16), Field(name="code", bits=16)))


class UnitBench(wiring.Component):
    """A unit with the banks. The sinks of `read`, `done` and `written_*` must always be ready.

    Parameters
    ----------
    config : CaeConfig
        The engine.
    unit : type of wiring.Component
        Made with `config` alone; it has ports ``job``, ``read`` and ``done``.
    readers, writers : sequence of str
        Names of its bank ports.
    counters : sequence of str
        Names of its counters, ports ``cycles_<name>``.

    Attributes
    ----------
    load : In(stream of `bank_beat`)
        Back door: beats that are put into the banks; `bank_beat.parts` is not looked at.
    loads : In(32)
        So many of them are to be loaded before the unit sees its first job.
    job : In(stream of `job_record`)
        Jobs.
    read, done : Out(stream of `REPORT`)
        The unit's reports in their cycles.
    written_<name> : Out(stream of `bank_beat`)
        Every write of a port in its cycle.
    """

    def __init__(
        self,
        config: CaeConfig,
        unit: type[wiring.Component],
        readers: Sequence[str],
        writers: Sequence[str],
        counters: Sequence[str],
    ) -> None:
        self._config, self._unit = config, unit(config)
        self._readers, self._writers = tuple(readers), tuple(writers)
        self._counters = tuple(f"cycles_{name}" for name in counters)
        beat, reported = struct_layout(bank_beat(config)), struct_layout(REPORT)
        super().__init__(
            {
                "load": In(stream.Signature(beat)),
                "loads": In(32),
                "job": In(stream.Signature(struct_layout(job_record(config)))),
                "read": Out(stream.Signature(reported)),
                "done": Out(stream.Signature(reported)),
                **{f"written_{name}": Out(stream.Signature(beat)) for name in self._writers},
                **{name: Out(COUNTER_BITS) for name in self._counters},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Connect the unit, the banks and the back door."""
        m = Module()
        config, unit = self._config, self._unit
        m.submodules.unit = unit
        m.submodules.banks = banks = Banks(config, readers=self._readers, writers=(*self._writers, "load"))
        loaded, whole = Signal(32), Signal()
        m.d.comb += [whole.eq(loaded == self.loads), self.load.ready.eq(1)]
        m.d.sync += loaded.eq(loaded + self.load.valid)
        m.d.comb += [
            banks.write_load.en.eq(self.load.valid),
            banks.write_load.parts.eq(-1),
            *(getattr(banks.write_load, name).eq(self.load.payload[name]) for name in ("bank", "address", "data")),
            unit.job.valid.eq(self.job.valid & whole),
            unit.job.payload.eq(self.job.payload),
            self.job.ready.eq(unit.job.ready & whole),
        ]
        for name in ("read", "done"):
            told, seen = getattr(unit, name), getattr(self, name)
            m.d.comb += [
                seen.valid.eq(told.valid),
                seen.payload.slot.eq(told.slot),
                seen.payload.code.eq(told.code),
            ]
        for name in self._readers:
            wiring.connect(m, getattr(unit, name), getattr(banks, f"read_{name}"))
        for name in self._writers:
            port, seen = getattr(unit, name), getattr(self, f"written_{name}")
            wiring.connect(m, port, getattr(banks, f"write_{name}"))
            m.d.comb += [
                seen.valid.eq(port.en),
                *(seen.payload[field].eq(getattr(port, field)) for field in ("bank", "address", "parts", "data")),
            ]
        m.d.comb += [getattr(self, name).eq(getattr(unit, name)) for name in self._counters]
        return m


@dataclass(frozen=True, kw_only=True)
class UnitRun:
    """What a unit did.

    Attributes
    ----------
    started, read, done : ndarray of int64, shape [n_jobs]
        Cycles of the jobs' handovers and of the reports.
    codes : ndarray of uint64, shape [n_jobs]
        Codes of the ``done`` reports.
    slots : dict of str to ndarray of uint64
        Slots of the reports ``read`` and ``done``.
    writes : dict of str to dict of str to ndarray
        By port: fields of `bank_beat`, and ``cycle``.
    counters : dict of str to int
        By name, at the end of the simulation, `cycles` in.
    loads : int
        Beats that went through the back door, from cycle 0 on.
    """

    started: NDArray[np.int64]
    read: NDArray[np.int64]
    done: NDArray[np.int64]
    codes: NDArray[np.uint64]
    slots: dict[str, NDArray[np.uint64]]
    writes: dict[str, dict[str, NDArray[np.generic]]]
    counters: dict[str, int]
    loads: int


def run_unit(
    design: UnitBench | Design,
    config: CaeConfig,
    instructions: NDArray[np.uint8],
    contents: Mapping[int, NDArray[np.uint32]],
    writes: Mapping[str, int],
    *,
    stalled: NDArray[np.bool_] | None = None,
    max_quiet_cycles: int = 10_000,
    backend: Backend = "trace",
    waves: Path | None = None,
) -> UnitRun:
    """Run jobs on a unit.

    Parameters
    ----------
    design : UnitBench or Design
        The unit with banks: ``Design(UnitBench, config, unit, readers, writers, counters)`` is kept between runs.
    config : CaeConfig
        The engine.
    instructions : ndarray of uint8, shape [n_jobs, CAE_INSTRUCTION.bytes]
        The jobs; their slots go round.
    contents : mapping of int to ndarray of uint32, shape [beats, lanes]
        fp32 bits put into the banks before the first job, from address 0 on.
    writes : mapping of str to int
        How many writes are due at each port.
    stalled : ndarray of bool, optional
        Stall pattern of the jobs.
    max_quiet_cycles : int
        So many cycles without a job, write or report end the run with an error.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    waves : Path, optional
        Write a VCD file there.

    Returns
    -------
    UnitRun
        All that was seen.

    Raises
    ------
    BenchError
        A rule of streams was broken, the unit hung, or a write or report came too many.
    """
    fields = CAE_INSTRUCTION.decode(instructions)
    slots = np.arange(len(instructions)) % config.window_instructions
    jobs = job_record(config).encode(len(instructions), {**fields, "slot": slots})
    beat = bank_beat(config)
    loads = [beat.encode(0, {})]
    for bank, words in contents.items():
        loads.append(beat.encode(len(words), {"bank": bank, "address": np.arange(len(words)), "data": words}))
    loaded = np.concatenate(loads)
    bench = Bench(
        sources={
            "load": Source(payloads=loaded),
            "job": Source(payloads=jobs, stalled=stall_pattern("none", seed=0) if stalled is None else stalled),
        },
        sinks={
            "read": Sink(count=len(jobs)),
            "done": Sink(count=len(jobs)),
            **{f"written_{name}": Sink(count=count) for name, count in writes.items()},
        },
        inputs={"loads": len(loaded)},
        max_quiet_cycles=max_quiet_cycles,
    )
    result: Result = run(design, bench, backend=backend, waves=waves)
    reports = {name: REPORT.decode(result.payloads[name]) for name in ("read", "done")}
    return UnitRun(
        started=result.accepted["job"],
        read=result.accepted["read"],
        done=result.accepted["done"],
        codes=reports["done"]["code"],
        slots={name: fields["slot"] for name, fields in reports.items()},
        writes={
            name: {**beat.decode(result.payloads[f"written_{name}"]), "cycle": result.accepted[f"written_{name}"]}
            for name in writes
        },
        counters={
            name.removeprefix("cycles_"): value for name, value in result.outputs.items() if name.startswith("cycles_")
        },
        loads=len(loaded),
    )
