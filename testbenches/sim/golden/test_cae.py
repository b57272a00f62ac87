"""The golden model of the engine: its limits. What it computes is tested where programs are compiled."""

import numpy as np
import pytest

from sim.config import load_config
from sim.golden.cae import run_instructions
from sim.program.assembly import assemble
from sim.program.instructions import CAE_STATUS, CaeCode

CONFIG = load_config("gnnear").cae.replace(vector_bank_beats=64, operand_bank_beats=64)
NOTHING = np.zeros((0, CONFIG.lanes), np.uint16)


def test_memory_ends_where_the_program_ends():
    text = "store.bf16 left=b0[0:1] memory=m[6:1] rows=2 columns=1\nload.fp32 memory=m[9:2] result=b1 rows=1 columns=1"
    result = run_instructions(assemble(text.replace("result=b1 ", "result=b1[0] ")), CONFIG, NOTHING)
    assert len(result.memory) == 11
    assert not CAE_STATUS.decode(result.status)["code"].any()


def test_memory_beyond_what_is_kept_is_told():
    text = f"store.bf16 left=b0[0] memory=m[{CONFIG.memory_beats - 1}] rows=1 columns=1"
    with pytest.raises(ValueError, match="the program uses beat 1073741823 of the memory"):
        run_instructions(assemble(text), CONFIG, NOTHING)


def test_memory_beyond_the_engines_is_refused():
    text = f"store.bf16 left=b0[0] memory=m[{CONFIG.memory_beats}] rows=1 columns=1"
    result = run_instructions(assemble(text), CONFIG, NOTHING)
    assert CAE_STATUS.decode(result.status)["code"].tolist() == [CaeCode.BAD_MEMORY]
