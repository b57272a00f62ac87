// Simulation only: offers the beats of the file NAME.beats on a stream, one whenever the pattern of NAME.stalls lets it.
// NAME.config holds the number of beats and the period of the pattern; NAME.handovers takes the cycle of each handover.
module trace_source #(
    parameter NAME = "source",
    parameter WIDTH = 8
) (
    input clk,
    input rst,
    input [63:0] cycle,
    output [WIDTH-1:0] payload,
    output valid,
    input ready,
    output reg [63:0] taken,
    output done,
    output moved
);
  localparam BYTES = (WIDTH + 7) / 8;
  localparam MAX_PERIOD = 16384;

  reg [8*BYTES-1:0] beat, next_beat;
  reg offered;
  reg [63:0] beats;
  reg [14:0] period, at;
  reg [7:0] stalled[0:MAX_PERIOD-1];
  integer beats_file, log_file, config_file, stalls_file, got;

  // The next beat lies ready in `beat`; an idle stream shows all ones, so that a design that looks at it is found out.
  assign valid = offered & ~rst;
  assign payload = valid ? beat[WIDTH-1:0] : {WIDTH{1'b1}};
  assign moved = valid & ready;
  assign done = taken == beats;

  wire [14:0] following = at + 1 == period ? 15'd0 : at + 15'd1;
  wire more = taken + {63'd0, moved} != beats;

  initial begin
    config_file = $fopen({NAME, ".config"}, "r");
    got = $fscanf(config_file, "%d %d", beats, period);
    $fclose(config_file);
    stalls_file = $fopen({NAME, ".stalls"}, "rb");
    got = $fread(stalled, stalls_file);
    $fclose(stalls_file);
    beats_file = $fopen({NAME, ".beats"}, "rb");
    log_file = $fopen({NAME, ".handovers"}, "wb");
    got = $fread(beat, beats_file);
    taken = 0;
    at = 0;
    offered = 0;
  end

  always @(posedge clk) begin
    if (rst) begin
      offered <= beats != 0 && !stalled[0][0];
    end else begin
      at <= following;
      offered <= (offered & ~ready) | (more & ~stalled[following][0]);
      if (moved) begin
        taken <= taken + 1;
        got = $fread(next_beat, beats_file);
        beat <= next_beat;
        $fwrite(log_file, "%u", cycle);
      end
    end
  end
endmodule
