"""Real graphs come from the folder that NEARSAGE_DATA names."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Give the folder of real graphs, or skip."""
    folder = os.environ.get("NEARSAGE_DATA")
    if not folder:
        pytest.skip("NEARSAGE_DATA is unset: it names the folder with planetoid/ and snap/")
    return Path(folder)
