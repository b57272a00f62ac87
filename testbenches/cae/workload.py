"""What the Centralized Acceleration Engine can be given to do: a product, a layer's product, a program of the user."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.golden.cae import MOST_MEMORY_BYTES
from sim.golden.numbers import fp32_to_bf16
from sim.program.assembly import AssemblyError, assemble
from sim.program.cae_check import check_instructions, rows_of
from sim.program.cae_products import ProductShape, check_tiling, compile_product, default_tiling
from sim.program.instructions import CAE_INSTRUCTION, CaeCode, CaeOpcode, ProductKind, partial_beat
from sim.timing.stalls import StallKind, paced_pattern
from testbenches.bench import Backend
from testbenches.cae.simulate_engine import CaeSimulation, cae_stalls, simulate_program


@dataclass(frozen=True, kw_only=True)
class CaeWorkload:
    """A program with all that it needs.

    Attributes
    ----------
    title : str
        What it is.
    config : CaeConfig
        The engine.
    instructions : ndarray of uint8, shape [n_instructions, CAE_INSTRUCTION.bytes]
        The program.
    memory : ndarray of uint16, shape [beats, lanes]
        The memory before.
    partials : list of ndarray of uint8
        What comes on each port for MERGE.
    """

    title: str
    config: CaeConfig
    instructions: NDArray[np.uint8]
    memory: NDArray[np.uint16]
    partials: list[NDArray[np.uint8]]

    @property
    def multiply_adds(self) -> int:
        """Multiply-and-adds of all products that are not refused."""
        decoded = rows_of(CAE_INSTRUCTION.decode(self.instructions))
        codes = check_instructions(decoded, self.config)
        return sum(
            one["rows"] * one["depth"] * one["columns"]
            for one, code in zip(decoded, codes, strict=True)
            if code == CaeCode.OK and one["opcode"] == CaeOpcode.PRODUCT
        )

    def simulate(
        self,
        *,
        stalls: StallKind = "none",
        seed: int = 0,
        memory_beats_per_cycle: float = 1.0,
        backend: Backend = "trace",
        waves: Path | None = None,
    ) -> CaeSimulation:
        """Run it on the RTL and compare.

        Parameters
        ----------
        stalls : StallKind
            How all streams stall.
        seed : int
            Seed of the stalls.
        memory_beats_per_cycle : float
            Bandwidth of the memory, above 0 and up to 1; other stalls of the memory go before it.
        backend : {"trace", "cocotb", "pysim"}
            How to run the RTL.
        waves : Path, optional
            Write a VCD file there.

        Returns
        -------
        CaeSimulation
            The comparison.
        """
        patterns = cae_stalls(stalls, seed, self.config)
        if stalls == "none":
            patterns = replace(patterns, memory=paced_pattern(1 / memory_beats_per_cycle))
        return simulate_program(
            self.instructions,
            self.config,
            memory=self.memory,
            partials=self.partials,
            stalls=patterns,
            backend=backend,
            waves=waves,
        )

    def share_of_peak(self, cycles: int) -> float:
        """Return the share of the array's multiply-and-adds in so many cycles.

        Parameters
        ----------
        cycles : int
            Cycles.

        Returns
        -------
        float
            The share.
        """
        return self.multiply_adds / (self.config.rows * self.config.columns * cycles) if cycles else 0.0


def product_workload(
    kind: ProductKind, size: tuple[int, int, int], config: CaeConfig, *, seed: int = 0, times: int = 1
) -> CaeWorkload:
    """Make a product of random matrices, from memory to memory.

    Parameters
    ----------
    kind : ProductKind
        Which operand lies across.
    size : tuple of int
        M, K and N.
    config : CaeConfig
        The engine.
    seed : int
        Seed of the operands.
    times : int
        Run it so often.

    Returns
    -------
    CaeWorkload
        The product.

    Raises
    ------
    TilingError
        It does not fit the engine or its memory.
    """
    m, k, n = size
    shape = ProductShape(kind=kind, rows=m, depth=k, columns=n, lanes=config.lanes)
    check_tiling(shape, default_tiling(shape, config), config)  # before the operands take any memory
    left, right = random_operands(shape, seed)
    repeated = f", {times} times" if times > 1 else ""
    return _product(f"{kind.name.lower()} {m} x {k} x {n}{repeated}", shape, left, right, config, times)


def matrix_workload(title: str, x: NDArray[np.uint32], w: NDArray[np.uint32], config: CaeConfig) -> CaeWorkload:
    """Make the product of two matrices, from memory to memory.

    Parameters
    ----------
    title : str
        What it is.
    x, w : ndarray of uint32, shape [M, K] and [K, N]
        fp32 bits; rounded to bf16.
    config : CaeConfig
        The engine.

    Returns
    -------
    CaeWorkload
        The product.
    """
    (m, k), (_, n) = x.shape, w.shape
    shape = ProductShape(kind=ProductKind.XW, rows=m, depth=k, columns=n, lanes=config.lanes)
    return _product(title, shape, fp32_to_bf16(x), fp32_to_bf16(w), config, 1)


def program_workload(text: str, title: str, config: CaeConfig, *, seed: int = 0) -> CaeWorkload:
    """Make a workload of a program's text: memory and partial sums are standard normal.

    Parameters
    ----------
    text : str
        The program, see `sim.program.assembly`.
    title : str
        What it is.
    config : CaeConfig
        The engine.
    seed : int
        Seed of memory and partial sums.

    Returns
    -------
    CaeWorkload
        The program; the memory holds bf16 numbers wherever a LOAD reads, and sources send every slot.

    Raises
    ------
    AssemblyError
        A line is wrong, there is none, or the program uses more memory than a simulation keeps.
    """
    instructions = assemble(text)
    decoded = rows_of(CAE_INSTRUCTION.decode(instructions))
    good = [one for one, code in zip(decoded, check_instructions(decoded, config), strict=True) if code == CaeCode.OK]
    rng = np.random.default_rng(seed)
    if not decoded:
        raise AssemblyError("there is no instruction in it")
    used = [one for one in good if one["opcode"] in (CaeOpcode.LOAD, CaeOpcode.STORE)]
    beats = max((_memory_end(one, config.lanes) for one in used), default=0)
    most = MOST_MEMORY_BYTES // (2 * config.lanes)
    if beats > most:
        raise AssemblyError(f"it uses beat {beats - 1} of the memory; a simulation keeps {most}: use lower addresses")
    memory = np.zeros((beats, config.lanes), np.uint16)
    for one in used:
        if one["opcode"] == CaeOpcode.LOAD:
            numbers = rng.standard_normal((one["rows"], _row_beats(one, config.lanes), config.lanes)).astype(np.float32)
            rows = one["memory_address"] + one["memory_pitch"] * np.arange(one["rows"])
            addresses = rows[:, None] + np.arange(numbers.shape[1])
            memory[addresses] = fp32_to_bf16(numbers.view(np.uint32))
    partials = [[partial_beat(config.lanes).encode(0, {})] for _ in range(config.merge_ports)]
    for one in good:
        if one["opcode"] == CaeOpcode.MERGE:
            for source in range(config.merge_sources):
                if one["depth"] >> source & 1:
                    partials[config.merge_port(source)].append(_dense_partials(one, config.lanes, rng))
    return CaeWorkload(
        title=title,
        config=config,
        instructions=instructions,
        memory=memory,
        partials=[np.concatenate(beats_of_port) for beats_of_port in partials],
    )


def random_operands(shape: ProductShape, seed: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Draw standard normal operands as they lie.

    Parameters
    ----------
    shape : ProductShape
        The product.
    seed : int
        Seed.

    Returns
    -------
    tuple of ndarray of uint16
        bf16 bits of left and right.
    """
    rng = np.random.default_rng(seed)
    left, right = (
        fp32_to_bf16(rng.standard_normal(size).astype(np.float32).view(np.uint32))
        for size in (shape.left_shape, shape.right_shape)
    )
    return left, right


def product_memory(shape: ProductShape, left: NDArray[np.uint16], right: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Put operands where their product expects them.

    Parameters
    ----------
    shape : ProductShape
        The product.
    left, right : ndarray of uint16
        bf16 bits, as they lie.

    Returns
    -------
    ndarray of uint16, shape [beats, lanes]
        The memory.
    """
    placed = shape.memory_map()
    memory = placed.empty()
    placed.write(memory, "left", left)
    placed.write(memory, "right", right)
    return memory


def _product(
    title: str,
    shape: ProductShape,
    left: NDArray[np.uint16],
    right: NDArray[np.uint16],
    config: CaeConfig,
    times: int,
) -> CaeWorkload:
    program = compile_product(shape, default_tiling(shape, config), config, times=times)
    return CaeWorkload(
        title=title,
        config=config,
        instructions=program.encode(),
        memory=product_memory(shape, left, right),
        partials=[partial_beat(config.lanes).encode(0, {})] * config.merge_ports,
    )


def _memory_end(one: dict[str, int], lanes: int) -> int:
    return one["memory_address"] + (one["rows"] - 1) * one["memory_pitch"] + _row_beats(one, lanes)


def _row_beats(one: dict[str, int], lanes: int) -> int:
    """Return the beats of memory of a row: one for each beat of bf16, two of fp32, as `ElementType` counts."""
    return -(-one["columns"] // lanes) * one["operation"]


def _dense_partials(one: dict[str, int], lanes: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    row_beats = -(-one["columns"] // lanes)
    beat = np.tile(np.arange(row_beats), one["rows"])
    numbers = rng.standard_normal((len(beat), lanes)).astype(np.float32).view(np.uint32)
    fields = {
        "index": np.repeat(np.arange(one["rows"]), row_beats),
        "first": beat == 0,
        "last": beat == row_beats - 1,
        "data": numbers,
    }
    layout = partial_beat(lanes)
    return np.concatenate([layout.encode(len(beat), fields), layout.encode(1, {"end": 1})])
