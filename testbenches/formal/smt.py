"""From an Amaranth component to the answer of an SMT solver."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import bitwuzla
from amaranth.back import rtlil
from amaranth.lib import wiring
from pyosys import libyosys


def transition_system(component: wiring.Component) -> str:
    """Translate the RTL as it is shipped into SMT-LIB.

    Parameters
    ----------
    component : wiring.Component
        The block.

    Returns
    -------
    str
        The sort `top_s` of states, the relation `top_t` between a state and the next one, and a function from state to
        value, `top_n <name>`, for every port and named wire.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "top.il"), Path(folder, "top.smt2")
        source.write_text(rtlil.convert(component, name="top"))
        design = libyosys.Design()
        for command in (
            f"read_rtlil {source}",
            "prep -flatten -top top",
            "async2sync",
            "dffunmap",
            f"write_smt2 -wires {target}",
        ):
            libyosys.Pass.call(design, f"tee -q {command}")
        return target.read_text()


def at(name: str, cycle: int) -> str:
    """Write the value of a port or wire in a cycle.

    Parameters
    ----------
    name : str
        Name of the port or wire.
    cycle : int
        Cycle, from 0.

    Returns
    -------
    str
        SMT-LIB term; wires of one bit are of sort Bool.
    """
    return f"(|top_n {name}| s{cycle})"


def unroll(cycles: int) -> str:
    """Declare the states of successive cycles, the first one and all inputs unconstrained.

    Parameters
    ----------
    cycles : int
        Number of clock edges.

    Returns
    -------
    str
        SMT-LIB declarations of `s0` .. `s<cycles>`.
    """
    states = [f"(declare-const s{cycle} top_s)" for cycle in range(cycles + 1)]
    steps = [f"(assert (|top_t| s{cycle} s{cycle + 1}))" for cycle in range(cycles)]
    return "\n".join(states + steps)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the solver said.

    Attributes
    ----------
    satisfiable : bool
        Whether the assertions can hold together.
    values : dict of str to int
        If they can: the asked terms in one such case.
    seconds : float
        Time in the solver.
    """

    satisfiable: bool
    values: dict[str, int]
    seconds: float


def solve(text: str, terms: tuple[str, ...] = ()) -> Answer:
    """Ask whether assertions can hold together.

    Parameters
    ----------
    text : str
        SMT-LIB commands, without `check-sat`.
    terms : tuple of str
        Bit-vector or Boolean terms to give the values of, if they can.

    Returns
    -------
    Answer
        The answer.

    Raises
    ------
    RuntimeError
        If the solver gives up.
    """
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    manager = bitwuzla.TermManager()
    parser = bitwuzla.Parser(manager, options)
    started = time.perf_counter()
    parser.parse(f"(set-logic ALL)\n{text}", False, False)
    solver = parser.bitwuzla()
    result = solver.check_sat()
    seconds = time.perf_counter() - started
    if result == bitwuzla.Result.UNKNOWN:
        raise RuntimeError(f"the solver gave up after {seconds:.0f} s: restrict the claim, or split it")
    satisfiable = result == bitwuzla.Result.SAT
    # Base 2: text of a bit-vector's digits, but True or False of a Boolean.
    values = {term: solver.get_value(parser.parse_term(term)).value(2) for term in terms if satisfiable}
    words = {term: int(value, 2) if isinstance(value, str) else int(value) for term, value in values.items()}
    return Answer(satisfiable=satisfiable, values=words, seconds=seconds)
