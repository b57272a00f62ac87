"""Sessions of NearSAGE: `nox -s estimate` is the main job, plain `nox` runs all checks."""

import hashlib
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "formal", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

ROOT = Path(__file__).parent


def install(session: nox.Session, *extras: str) -> None:
    """Install NearSAGE with some extras, unless that was done for the same requirements before."""
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + repr(extras).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / "nearsage-installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    session.install("--quiet", "--editable", f".[{','.join(extras)}]" if extras else ".")
    stamp.write_text(wanted)


@nox.session
def estimate(session: nox.Session) -> None:
    """Run one graph layer through the RTL of both engines, then estimate an epoch; arguments are passed on."""
    install(session)
    session.run("nearsage", "estimate", "--verify", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format of every file."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of sim and scripts, strictly."""
    install(session, "types")
    session.run("mypy")


@nox.session
def formal(session: nox.Session) -> None:
    """Prove the arithmetic of the RTL equal to IEEE floating point, for all inputs."""
    install(session, "formal")
    session.run("pytest", "-n", "2", "testbenches/formal", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests but the proofs."""
    install(session, "tests")
    session.run("pytest", "-n", "2", "--ignore=testbenches/formal", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run the broad sweeps that the tests leave out."""
    install(session, "tests", "formal")
    session.run("pytest", "-n", "2", "-m", "soak", *session.posargs)


@nox.session
def verilog(session: nox.Session) -> None:
    """Generate all designs into build/verilog, then lint and synthesize them."""
    install(session, "tests")
    session.run("nearsage", "verilog", "--all", *session.posargs)
    session.run("pytest", "-n", "2", "testbenches/test_verilog.py")


@nox.session
def synth(session: nox.Session) -> None:
    """Synthesize parts of the Centralized Acceleration Engine; compare with the table in docs/synthesis.md."""
    install(session, "tests")
    session.run("python", "-m", "testbenches.synthesis", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speeds: simulators, graph loading, golden models against scipy."""
    install(session, "tests")
    session.run("python", "-m", "testbenches.speed", *session.posargs)
