"""Run a product trace through the RTL and both models."""

from dataclasses import asdict
from pathlib import Path

from amaranth.lib import wiring

from hdl.cae.product import ProductUnit
from sim.config import CaeConfig
from sim.golden.product import product_streams
from sim.program.commands import MATRIX_STATUS, result_beat
from sim.program.matrix_trace import MatrixTrace
from sim.timing.product import ProductStalls, product_timing
from sim.timing.stalls import StallKind, stall_pattern
from testbenches.bench import Backend
from testbenches.build import Design
from testbenches.equivalence import Expectation, Simulation, check


def product_stalls(kind: StallKind, seed: int) -> ProductStalls:
    """Make stall patterns of one kind for all streams, independent of each other.

    Parameters
    ----------
    kind : StallKind
        The kind.
    seed : int
        Any number.

    Returns
    -------
    ProductStalls
        The patterns.
    """
    names = ProductStalls.__dataclass_fields__
    return ProductStalls(**{name: stall_pattern(kind, seed=8 * seed + i) for i, name in enumerate(names)})


def simulate_product(
    trace: MatrixTrace,
    config: CaeConfig,
    *,
    stalls: ProductStalls | None = None,
    backend: Backend = "trace",
    waves: Path | None = None,
    design: wiring.Component | Design | None = None,
) -> Simulation:
    """Run a trace on the product unit and compare.

    Parameters
    ----------
    trace : MatrixTrace
        Streams in.
    config : CaeConfig
        The engine.
    stalls : ProductStalls, optional
        How the environment stalls; not at all by default.
    backend : {"trace", "cocotb", "pysim"}
        How to run the RTL.
    waves : Path, optional
        Write a VCD file there.
    design : wiring.Component or Design, optional
        Another design in the place of the product unit, such as one with a planted bug.

    Returns
    -------
    Simulation
        The comparison.
    """
    stalls = stalls or ProductStalls()
    golden = product_streams(trace, config)
    timing = product_timing(trace.commands, config, stalls)
    patterns = {name: getattr(stalls, name) for name in ProductStalls.__dataclass_fields__}
    cycles = asdict(timing)
    return check(
        design or Design(ProductUnit, config),
        {"command": trace.commands, "weights": trace.weights, "activations": trace.activations},
        patterns,
        Expectation(
            payloads={
                "results": (result_beat(config.columns), golden.results),
                "status": (MATRIX_STATUS, golden.status),
            },
            accepted={name: cycles[name] for name in patterns},
            counters=timing.counters,
        ),
        backend=backend,
        waves=waves,
    )
