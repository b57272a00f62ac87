"""Room in the banks."""

import pytest

from sim.config import load_config
from sim.program.cae_program import Rows
from sim.program.cae_space import BankSpace, SpaceError

CONFIG = load_config("tiny").cae.replace(operand_bank_beats=20, vector_bank_beats=10)


def test_matrices_stand_behind_each_other():
    space = BankSpace(CONFIG)
    assert space.matrix(0, 3, 5) == Rows(0, 0, 2)
    assert space.matrix(0, 2, 4) == Rows(0, 6, 1)
    assert space.matrix(1, 1, 1) == Rows(1, 0, 1)
    assert space.row_numbers(0, 12) == Rows(0, 8, 1)


@pytest.mark.parametrize(("bank", "size"), [(0, 20), (CONFIG.operand_banks, 10)])
def test_a_full_bank_is_told(bank, size):
    space = BankSpace(CONFIG)
    space.matrix(bank, size, 4)
    with pytest.raises(SpaceError, match=f"bank {bank} has {size} beats, of which {size} are taken: a matrix of 1 x 9"):
        space.matrix(bank, 1, 9)
