"""The Verilog module around a design under test: with players on every stream, or with bare ports."""

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from testbenches.build import DUT
from testbenches.models.exchange import TAIL_CYCLES
from testbenches.models.ports import Ports

TOP = "bench"

PLAYERS = ("trace_source.v", "trace_sink.v")

_REFEREE = """
  reg [63:0] bench_cycle = 0, bench_quiet = 0, bench_max_quiet;
  reg [5:0] bench_tail = 0;
  reg bench_starved = 0, bench_ended = 0;
  integer bench_config, bench_got;
  wire bench_done = &{{1'b1{done}}};
  wire bench_moved = |{{1'b0{moved}}};
  wire bench_stop = |{{bench_starved, bench_ended{fault}}};

  initial begin
    bench_config = $fopen("bench.config", "r");
    bench_got = $fscanf(bench_config, "%d", bench_max_quiet);
    $fclose(bench_config);
  end

  always @(posedge clk) begin
    if (!rst) begin
      bench_cycle <= bench_cycle + 1;
      bench_quiet <= bench_moved ? 64'd0 : bench_quiet + 1;
      bench_tail <= bench_tail + {{5'd0, bench_done}};
      bench_ended <= bench_done && bench_tail == {last};
      bench_starved <= !bench_done && !bench_moved && bench_quiet + 1 == bench_max_quiet;
    end
  end
"""


def bench_sources(
    dut: str, ports: Ports, style: Literal["trace", "paced"], ready_after_valid: Collection[str]
) -> dict[str, str]:
    """Write the Verilog of a whole bench.

    Parameters
    ----------
    dut : str
        Verilog text whose top module is `DUT`.
    ports : Ports
        Its ports.
    style : {"trace", "paced"}
        ``trace``: players read and write files, a referee raises ``bench_stop``. ``paced``: each port of the design is
        a signal of the bench, for cocotb to drive and sample.
    ready_after_valid : collection of str
        Sinks that show the design a ready only while it shows a valid.

    Returns
    -------
    dict of str to str
        File name to text; the top module is `TOP`.
    """
    sources = {f"{DUT}.v": dut, f"{TOP}.v": _top(dut, ports, style, ready_after_valid)}
    if style == "trace":
        sources |= {name: Path(__file__).with_name(name).read_text() for name in PLAYERS}
    return sources


def _top(dut: str, ports: Ports, style: Literal["trace", "paced"], ready_after_valid: Collection[str]) -> str:
    driven = "reg" if style == "paced" else "wire"
    lines = [f"module {TOP};", "  reg clk = 0, rst = 1;"]
    lines += [_declare("reg", width, name) for name, width in ports.inputs.items()]
    lines += [_declare("wire", width, name) for name, width in ports.outputs.items()]
    for name, width in ports.sources.items():
        lines += [_declare(driven, width, f"{name}__payload"), f"  {driven} {name}__valid;", f"  wire {name}__ready;"]
    for name, width in ports.sinks.items():
        lines += [_declare("wire", width, f"{name}__payload"), f"  wire {name}__valid;", f"  {driven} {name}__ready;"]
    connected = [*ports.inputs, *ports.outputs]
    connected += [
        f"{name}__{part}" for name in (*ports.sources, *ports.sinks) for part in ("payload", "valid", "ready")
    ]
    connected += [name for name in ("clk", "rst") if f"\n  input {name};\n" in dut[dut.index(f"\nmodule {DUT}(") :]]
    gated = {f"{name}__ready": f"{name}__ready & {name}__valid" for name in ready_after_valid}
    lines.append(f"  {DUT} {DUT} (" + ", ".join(f".{name}({gated.get(name, name)})" for name in connected) + ");")
    if style == "trace":
        for kind, streams in (("trace_source", ports.sources), ("trace_sink", ports.sinks)):
            for name, width in streams.items():
                lines += _player(kind, name, width)
        parts = {
            "done": [*ports.sources, *ports.sinks],
            "moved": [*ports.sources, *ports.sinks],
            "fault": [*ports.sinks],
        }
        wires = {part: "".join(f", bench_{part}_{name}" for name in names) for part, names in parts.items()}
        lines.append(_REFEREE.format(**wires, last=TAIL_CYCLES - 1))
    return "\n".join([*lines, "endmodule", ""])


def _declare(kind: str, width: int, name: str) -> str:
    return f"  {kind} [{width - 1}:0] {name};"


def _player(kind: str, name: str, width: int) -> list[str]:
    outputs = {"taken": 64, "done": 1, "moved": 1} | ({"fault": 2} if kind == "trace_sink" else {})
    pins = [f".{part}({name}__{part})" for part in ("payload", "valid", "ready")]
    pins += [".clk(clk)", ".rst(rst)", ".cycle(bench_cycle)", *(f".{part}(bench_{part}_{name})" for part in outputs)]
    return [
        *(_declare("wire", bits, f"bench_{part}_{name}") for part, bits in outputs.items()),
        f'  {kind} #(.NAME("{name}"), .WIDTH({width})) bench_player_{name} ({", ".join(pins)});',
    ]
