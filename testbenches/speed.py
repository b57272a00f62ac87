"""Speeds: simulated cycles per second of each bench, loading of graphs, golden and timing models against scipy.

Run it with ``nox -s bench``. Times on a shared machine are noisy: compare the ratios of one run.
"""

import gzip
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse
from rich.console import Console
from rich.progress import track
from rich.table import Table

from sim.config import SystemConfig, load_config
from sim.golden.execute import reduce_traces
from sim.golden.numbers import to_bf16
from sim.golden.product import product
from sim.golden.reduce import reduce_streams
from sim.golden.vector import vector_operation
from sim.graph import adjacency, load_graph
from sim.program.cae_program import fp32_bits
from sim.program.commands import ReduceOpcode
from sim.program.engine_work import decode_engine_work
from sim.program.gcn import compile_gcn_epoch, shard_adjacency
from sim.program.instructions import ProductKind, VectorFunction, VectorOperation
from sim.program.items import Reduce
from sim.program.memory import DramCommand
from sim.program.ssd_storage import formula_storage
from sim.system.estimate import estimate
from sim.timing.cae.engine import cae_timing
from sim.timing.dram import schedule_requests
from sim.timing.nme import engine_timing
from sim.timing.reduce import reduce_timing
from testbenches.bench import Backend
from testbenches.cae.simulate import simulate_product
from testbenches.cae.traces import tiles_trace
from testbenches.cae.workload import product_workload
from testbenches.dram.requests import random_requests
from testbenches.dram.simulate import simulate_dram
from testbenches.nme.programs import reduce_programs
from testbenches.nme.simulate import simulate_reduce
from testbenches.nme.simulate_engine import simulate_engines
from testbenches.nme.traces import random_trace
from testbenches.sim.golden.sampling.draw_speed import samples_per_second
from testbenches.ssd.test_engine_graphs import formula_batch, modelled
from testbenches.ssd.workload import SsdWorkload

Row = tuple[str, str, str]


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the best time of some runs, after one run to warm up."""
    work()
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def simulators() -> list[Row]:
    """Measure simulated cycles per second by engine, size and backend."""
    tiny = load_config("tiny")
    rows = []
    sizes: list[tuple[Backend, int]] = [("trace", 4000), ("cocotb", 400), ("pysim", 40)]
    for backend, commands in sizes:
        trace = random_trace(tiny.nme, seed=0, commands=commands, max_edges=40)
        result = simulate_reduce(trace, tiny.nme, backend=backend)
        rows.append(_simulated(f"reduce unit, {tiny.nme.lanes} lanes, {backend}", result))
    for size in (4, 8):
        config = tiny.cae.replace(rows=size, columns=size, accumulator_rows=256)
        result = simulate_product(tiles_trace(config, [(256, 256, size)] * 20, seed=0), config)
        rows.append(_simulated(f"product unit, {size} x {size}, trace", result))
    return rows


def _simulated(name, result) -> Row:
    if not result.equal:
        raise AssertionError(f"{name}: {result.first_difference}")
    rate = result.cycles_simulated / result.seconds_wall
    return name, f"{rate:,.0f} cycles/s", f"{result.cycles_simulated:,} cycles, start included"


def loading() -> list[Row]:
    """Measure how fast text, plain and gzip, is read."""
    n_edges = 10_000_000
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 1_000_000, (n_edges, 2))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(f"{u} {v}" for u, v in pairs.tolist()).encode()
        plain, packed = Path(folder, "edges.txt"), Path(folder, "edges.txt.gz")
        plain.write_bytes(text)
        packed.write_bytes(gzip.compress(text, 1))
        for path in (plain, packed):
            elapsed = seconds(lambda path=path: load_graph(str(path)), repeats=1)
            rows.append((f"load {path.name}", f"{n_edges / elapsed / 1e6:.2f} M edges/s", f"{elapsed:.1f} s for 10 M"))
    return rows


def _reduce_on(config: SystemConfig, spec: str, features: int):
    weighted = adjacency(load_graph(spec), "gcn")
    item = Reduce(
        layer=0,
        direction="forward",
        shards=shard_adjacency(weighted, config),
        features=features,
        source="h0",
        result="p0",
    )
    h0 = np.random.default_rng(0).standard_normal((weighted.n_nodes, features)).astype(np.float32)
    traces = list(reduce_traces(item, {"h0": h0.view(np.uint32)}, config).values())
    matrix = scipy.sparse.csr_array((weighted.weights, weighted.indices, weighted.indptr), (weighted.n_nodes,) * 2)
    return traces, matrix, h0, weighted.n_edges


def models() -> list[Row]:
    """Golden and timing models of the Reduce against scipy's CSR product, and of the product against numpy's."""
    config = load_config("gnnear")
    features = config.nme.max_features
    traces, matrix, h0, n_edges = _reduce_on(config, "rmat:scale=13,edge_factor=16,seed=1", features)
    multiply_adds = n_edges * features
    golden = seconds(lambda: [reduce_streams(trace, config.nme) for trace in traces])
    timing = seconds(lambda: [reduce_timing(trace, config.nme) for trace in traces])
    cycles = sum(reduce_timing(trace, config.nme).cycles for trace in traces)
    scipy_product = seconds(lambda: matrix @ h0)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2708, 1433), (1433, 16)))
    dense = seconds(lambda: product(to_bf16(x), to_bf16(w)))
    numpy_product = seconds(lambda: x @ w)
    m, k, n = 2708, 1433, 16
    return [
        (
            "golden Reduce, bit-exact",
            f"{multiply_adds / golden / 1e9:.2f} G multiply-adds/s",
            f"{scipy_product / golden:.2f} x scipy's CSR product ({multiply_adds / scipy_product / 1e9:.2f} G/s)",
        ),
        ("timing of the Reduce", f"{cycles / timing / 1e6:.0f} M cycles/s", f"{n_edges / timing / 1e6:.0f} M edges/s"),
        (
            "golden product, bit-exact",
            f"{m * k * n / dense / 1e9:.2f} G multiply-adds/s",
            f"{numpy_product / dense:.3f} x numpy's product",
        ),
    ]


def dram() -> list[Row]:
    """Scheduler of one rank under random gathers of 256 bytes: RTL with checking devices, and timing model."""
    config = load_config("gnnear").dram.replace(ranks_per_dimm=1)
    requests = random_requests(config, seed=0, count=100_000, bursts=(4, 5))
    model = seconds(lambda: schedule_requests(requests, config))
    schedule = schedule_requests(requests, config)
    simulation = simulate_dram(requests[:10_000], config)
    if not simulation.equal:
        raise AssertionError(simulation.first_difference)
    share = 4 * schedule.count(DramCommand.READ) / schedule.cycles
    rtl = simulation.schedule.cycles / simulation.seconds_wall
    return [
        ("DRAM scheduler and devices, trace", f"{rtl:,.0f} cycles/s", f"{simulation.schedule.cycles:,} cycles"),
        (
            "timing of the DRAM scheduler",
            f"{schedule.cycles / model / 1e6:.1f} M cycles/s",
            f"random gathers at {share:.1%} of peak",
        ),
    ]


def engines() -> list[Row]:
    """Near-Memory Engines on a graph with Reddit's reuse: timing model, and RTL with devices on a small one."""
    config = load_config("gnnear").replace(**{"nme.interval": 256})
    graph = load_graph("clustered:nodes=23296,edges=1146158,reuse=1.77,interval=256")
    programs = reduce_programs(graph, config, 128, opcode=ReduceOpcode.ADD, normalization="none")
    works = [decode_engine_work(program, config) for program in programs]
    rows = []
    for n in (1, 4, 16):
        elapsed = seconds(lambda n=n: engine_timing(works[:n], config))
        cycles = engine_timing(works[:n], config)[0].cycles
        rate = f"{n * cycles / elapsed / 1e6:.1f} M cycles/s"
        rows.append((f"timing of {n} engines in step", rate, f"{n} x {cycles:,} cycles, DRAM scheduler included"))
    tiny = load_config("tiny").replace(**{"dram.channels": 1, "dram.dimms_per_channel": 1})
    simulation = simulate_engines(reduce_programs(load_graph("rmat:scale=10,edge_factor=8,seed=1"), tiny, 32), tiny)
    if not simulation.equal:
        raise AssertionError(simulation.first_difference)
    rate = simulation.cycles_simulated / simulation.seconds_wall
    rows.append(("engine and devices, trace", f"{rate:,.0f} cycles/s", f"{simulation.cycles_simulated:,} cycles"))
    return rows


def central_engine() -> list[Row]:
    """Centralized Acceleration Engine: timing model of a whole product and of many small instructions, RTL, vectors."""
    full, tiny = load_config("gnnear").cae, load_config("tiny").cae
    rows = []
    for name, config, size in (("128 x 128", full, (2708, 1433, 256)), ("4 x 4", tiny, (64, 64, 64))):
        workload = product_workload(ProductKind.XW, size, config, times=3)
        elapsed = seconds(lambda w=workload: cae_timing(w.instructions, w.config, memory_latency=20))
        cycles = cae_timing(workload.instructions, config, memory_latency=20).cycles
        rate = f"{cycles / elapsed / 1e6:.0f} M cycles/s"
        note = f"{cycles:,} cycles, {len(workload.instructions) / elapsed:,.0f} instructions/s"
        rows.append((f"timing of the CAE, products on {name}", rate, note))
    simulation = workload.simulate()
    if not simulation.equal:
        raise AssertionError(simulation.first_difference)
    rate = f"{simulation.cycles_simulated / simulation.seconds_wall:,.0f} cycles/s"
    rows.append(("CAE and its memory, 4 x 4, trace", rate, f"{simulation.cycles_simulated:,} cycles"))
    numbers = np.random.default_rng(0).standard_normal((4096, 256)).astype(np.float32)
    one = {"operation": VectorOperation.AFFINE, "function": VectorFunction.EXP, "reduction": 0, "right_operand": 0}
    one |= {"rows": 4096, "columns": 256, "alpha": fp32_bits(1.0), "beta": fp32_bits(0.0), "key": 0, "depth": 0}
    golden = seconds(lambda: vector_operation(one, numbers.view(np.uint32), None, 128))
    numpy_exp = seconds(lambda: np.exp(numbers))
    rate = f"{numbers.size / golden / 1e6:.0f} M elements/s"
    return [*rows, ("golden exponential, bit-exact", rate, f"{numpy_exp / golden:.2f} x numpy's")]


def sampling() -> list[Row]:
    """Measure the sampling engine: golden draws, timing of two hops over 97 G edges, RTL with its flash."""
    config = load_config("smartsage").ssd
    rows = []
    for replace, name in ((False, "without"), (True, "with")):
        rate = f"{samples_per_second(replace=replace) / 1e6:.0f} M samples/s"
        rows.append((f"golden draws, {name} replacement", rate, "25 of 100 to 1,000 edges, on all cores"))
    storage = formula_storage(node_bits=26, degree=1445)
    batch = formula_batch(storage, 1024, (25, 10))
    elapsed = seconds(lambda: modelled(storage, batch))
    timing = modelled(storage, batch)
    note = f"{timing.samples:,} samples, {timing.cycles:,} cycles, golden model included"
    rows.append(("timing of two hops of 1,024", f"{elapsed:.2f} s", note))
    graph = load_graph("rmat:scale=14,edge_factor=16,seed=1")
    simulation, _ = SsdWorkload(graph=graph, config=config, batch=1024, fanouts=(25,)).simulate()
    rate = f"{simulation.cycles_simulated / simulation.seconds_wall:,.0f} cycles/s"
    return [
        *rows,
        _equal(simulation, ("sampling engine, 8 x 8 dies, trace", rate, f"{simulation.cycles_rtl:,} cycles")),
    ]


def _equal(simulation, row: Row) -> Row:
    if not simulation.equal:
        raise AssertionError(simulation.first_difference)
    return row


def estimates() -> list[Row]:
    """Edges estimated per second, sharding included."""
    config = load_config("gnnear")
    weighted = adjacency(load_graph("rmat:scale=16,edge_factor=32,seed=1"), "gcn")
    transposed = weighted.transposed()
    elapsed = seconds(lambda: estimate(compile_gcn_epoch(weighted, transposed, (256, 256, 41), config), config), 1)
    return [("estimate of an epoch", f"{weighted.n_edges / elapsed / 1e6:.1f} M edges/s", f"{elapsed:.2f} s")]


def main() -> None:
    """Measure everything and print a table."""
    table = Table("what", "speed", "beside it", title="speeds", title_justify="left")
    console = Console(width=None if sys.stdout.isatty() else 160)
    measures = [simulators, dram, engines, central_engine, sampling, loading, models, estimates]
    for measure in track(measures, "measuring", console=console, transient=True):
        for row in measure():
            table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
