"""Run a program that works on matrices of fp32, and give matrices of fp32."""

import numpy as np
from numpy.typing import NDArray

from sim.config import CaeConfig
from sim.golden.cae import run_instructions
from sim.program.cae_memory import MemoryMap
from sim.program.cae_program import CaeProgram, Rows
from sim.program.instructions import CAE_STATUS, ElementType


def run_vectors(
    config: CaeConfig,
    body: CaeProgram,
    loaded: dict[str, tuple[Rows, NDArray[np.float32]]],
    stored: dict[str, tuple[Rows, tuple[int, int]]],
) -> dict[str, NDArray[np.float32]]:
    """Load matrices, run a program, and return what stands in the banks after it."""
    placed, program = MemoryMap(config.lanes), CaeProgram()
    for name, (_, values) in loaded.items():
        placed.add(name, *values.shape, ElementType.FP32)
    for name, (_, shape) in stored.items():
        placed.add(f"{name} after", *shape, ElementType.FP32)
    memory = placed.empty()
    for name, (rows, values) in loaded.items():
        placed.write(memory, name, values.astype(np.float32).view(np.uint32))
        matrix = placed.matrices[name]
        program.load(ElementType.FP32, matrix.place, rows, rows=matrix.rows, columns=matrix.columns)
    program.instructions += body.instructions
    for name, (rows, shape) in stored.items():
        place = placed.matrices[f"{name} after"].place
        program.store(ElementType.FP32, rows, place, rows=shape[0], columns=shape[1])
    result = run_instructions(program.encode(), config, memory)
    assert not CAE_STATUS.decode(result.status)["code"].any()
    return {name: placed.read(result.memory, f"{name} after").view(np.float32) for name in stored}
