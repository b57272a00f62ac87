"""The proofs need the `formal` extra; without it they are left out, and the header of the run says so."""

import importlib.util

MISSING = [name for name in ("bitwuzla", "pyosys") if importlib.util.find_spec(name) is None]

if MISSING:
    collect_ignore_glob = ["test_*.py"]


def pytest_report_header() -> str:
    """Say whether the proofs can run."""
    return f"proofs: left out, install {' and '.join(MISSING)}" if MISSING else "proofs: bitwuzla and abc"
