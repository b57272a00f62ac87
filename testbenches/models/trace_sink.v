// Simulation only: takes beats from a stream whenever the pattern of NAME.stalls lets it, and checks the rules of streams.
// NAME.config holds the number of beats due and the period of the pattern; NAME.handovers takes, for each beat, the cycle
// (64 bits) and the payload (rounded up to 32-bit words), low end first.
module trace_sink #(
    parameter NAME = "sink",
    parameter WIDTH = 8
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input [WIDTH-1:0] payload,
    input valid,
    output ready,
    output reg [63:0] taken,
    output done,
    output moved,
    output reg [1:0] fault
);
  localparam WORDS = (WIDTH + 31) / 32;
  localparam MAX_PERIOD = 16384;
  localparam VALID_DROPPED = 2'd1, PAYLOAD_CHANGED = 2'd2, SPURIOUS_BEAT = 2'd3;

  reg free, waiting;
  reg [WIDTH-1:0] held;
  reg [63:0] beats;
  reg [14:0] period, at;
  reg [7:0] stalled[0:MAX_PERIOD-1];
  integer log_file, config_file, stalls_file, got;

  assign ready = free & ~rst;
  assign moved = valid & ready;
  assign done = taken == beats;

  wire [14:0] following = at + 1 == period ? 15'd0 : at + 15'd1;
  wire [32*WORDS-1:0] word_payload = payload;

  initial begin
    config_file = $fopen({NAME, ".config"}, "r");
    got = $fscanf(config_file, "%d %d", beats, period);
    $fclose(config_file);
    stalls_file = $fopen({NAME, ".stalls"}, "rb");
    got = $fread(stalled, stalls_file);
    $fclose(stalls_file);
    log_file = $fopen({NAME, ".handovers"}, "wb");
    taken = 0;
    at = 0;
    free = 0;
    waiting = 0;
    fault = 0;
  end

  always @(posedge clk) begin
    if (rst) begin
      free <= !stalled[0][0];
    end else begin
      at <= following;
      free <= !stalled[following][0];
      waiting <= valid & ~ready;
      held <= payload;
      if (waiting & ~valid) fault <= VALID_DROPPED;
      else if (waiting && payload != held) fault <= PAYLOAD_CHANGED;
      else if (valid & done) fault <= SPURIOUS_BEAT;
      if (moved & ~done) begin
        taken <= taken + 1;
        $fwrite(log_file, "%u", {word_payload, cycle});
      end
    end
  end
endmodule
