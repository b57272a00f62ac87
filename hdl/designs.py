"""The designs that can be generated as Verilog, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.lib import wiring

from hdl.arith.add import Fp32Add
from hdl.arith.compare import Fp32Compare, Fp32MaxMin
from hdl.arith.convert import Bf16ToFp32, Fp32ToBf16
from hdl.arith.exp import Fp32Exp
from hdl.arith.log import Fp32Log
from hdl.arith.mul import Bf16Mul, Fp32Mul
from hdl.arith.reciprocal import Fp32Reciprocal
from hdl.arith.reciprocal_sqrt import Fp32ReciprocalSqrt
from hdl.arith.threefry import Threefry
from hdl.cae.engine import CentralEngine
from hdl.cae.ports import READ_CYCLES
from hdl.cae.product import ProductUnit
from hdl.cae.vector.unit import VectorUnit
from hdl.dram.scheduler import DramScheduler
from hdl.nme.engine import NearMemoryEngine
from hdl.nme.reduce import ReduceUnit
from hdl.ssd.engine import SamplingEngine, clearing_cycles
from sim.config import SystemConfig


@dataclass(frozen=True, kw_only=True)
class DesignEntry:
    """One design.

    Attributes
    ----------
    summary : str
        What it is, in a line.
    make : callable
        Makes the component from a system configuration.
    latency : callable
        Gives its latencies in cycles, by what they are, from a system configuration.
    """

    summary: str
    make: Callable[[SystemConfig], wiring.Component]
    latency: Callable[[SystemConfig], dict[str, int]]


def _arith(summary: str, component: type[wiring.Component], latency: Callable[[SystemConfig], int]) -> DesignEntry:
    return DesignEntry(
        summary=summary,
        make=lambda config: component(latency=latency(config)),
        latency=lambda config: {"result": latency(config)},
    )


DESIGNS: dict[str, DesignEntry] = {
    "nme": DesignEntry(
        summary="Near-Memory Engine of one DIMM: fetch of shards, gather, reduce unit, DRAM scheduler",
        make=NearMemoryEngine,
        latency=lambda config: {
            "read_to_line": config.dimm_memory.gates.read_to_data,
            "write_to_line": config.dimm_memory.gates.write_to_data - 1,
        },
    ),
    "reduce": DesignEntry(
        summary="reduce unit of a Near-Memory Engine with the output buffer of one interval",
        make=lambda config: ReduceUnit(config.nme),
        latency=lambda config: {
            "beat_to_sum": config.nme.pipeline_cycles,
            "same_destination": config.nme.hazard_cycles,
            "last_beat_to_first_partial": config.nme.pipeline_cycles + 2,
        },
    ),
    "cae": DesignEntry(
        summary="Centralized Acceleration Engine: sequencer, banks, transfers, systolic array, merge, vector units",
        make=lambda config: CentralEngine(config.cae),
        latency=lambda _: {"bank_read": READ_CYCLES},
    ),
    "product": DesignEntry(
        summary="product unit of the Centralized Acceleration Engine: systolic array with accumulator memory",
        make=lambda config: ProductUnit(config.cae),
        latency=lambda config: {
            "row_to_sum": config.cae.pipeline_cycles,
            "same_row": config.cae.reuse_cycles,
            "last_row_to_first_result": config.cae.pipeline_cycles + 2,
        },
    ),
    "vector": DesignEntry(
        summary="vector unit of the Centralized Acceleration Engine",
        make=lambda config: VectorUnit(config.cae),
        latency=lambda _: {"bank_read": READ_CYCLES},
    ),
    "dram": DesignEntry(
        summary="DRAM command scheduler of one channel",
        make=lambda config: DramScheduler(config.dram),
        latency=lambda config: {
            "request_to_command": 1,
            "read_to_data": config.dram.gates.read_to_data,
            "write_to_data": config.dram.gates.write_to_data,
        },
    ),
    "ssd": DesignEntry(
        summary="in-SSD sampling engine: queues, draws, page scheduling, extraction, packing",
        make=lambda config: SamplingEngine(config.ssd),
        latency=lambda config: {"reset_to_doorbell": clearing_cycles(config.ssd)},
    ),
    "fp32_add": _arith("fp32 adder", Fp32Add, lambda config: config.nme.add_latency),
    "fp32_mul": _arith("fp32 multiplier", Fp32Mul, lambda config: config.nme.mul_latency),
    "bf16_mul": _arith("bf16 x bf16 to fp32 multiplier", Bf16Mul, lambda config: config.cae.mul_latency),
    "fp32_compare": _arith("fp32 comparison", Fp32Compare, lambda _: 1),
    "fp32_max_min": _arith("fp32 maximum and minimum", Fp32MaxMin, lambda _: 1),
    "fp32_to_bf16": _arith("fp32 to bf16 conversion", Fp32ToBf16, lambda _: 1),
    "bf16_to_fp32": _arith("bf16 to fp32 conversion", Bf16ToFp32, lambda _: 1),
    "fp32_exp": _arith("fp32 exponential function", Fp32Exp, lambda _: Fp32Exp.DEFAULT_LATENCY),
    "fp32_log": _arith("fp32 natural logarithm", Fp32Log, lambda _: Fp32Log.DEFAULT_LATENCY),
    "fp32_reciprocal": _arith("fp32 reciprocal", Fp32Reciprocal, lambda _: Fp32Reciprocal.DEFAULT_LATENCY),
    "fp32_reciprocal_sqrt": _arith(
        "fp32 reciprocal square root", Fp32ReciprocalSqrt, lambda _: Fp32ReciprocalSqrt.DEFAULT_LATENCY
    ),
    "threefry": _arith("random words from a counter, Threefry-2x32-20", Threefry, lambda _: Threefry.DEFAULT_LATENCY),
}
"""All designs."""
