// Simulation only: the written bursts of a DRAM channel; the compiled twin of the memories in dram_storage.py.
module dram_storage #(
    parameter WIDTH = 512,
    parameter PLACE_BITS = 14,
    parameter OWNER_BITS = 37
) (
    input clk,
    input write,
    input [PLACE_BITS-1:0] write_place,
    input [OWNER_BITS-1:0] write_owner,
    input [WIDTH-1:0] write_data,
    output [OWNER_BITS-1:0] displaced,
    input [PLACE_BITS-1:0] read_place,
    output reg [OWNER_BITS-1:0] read_owner,
    output reg [WIDTH-1:0] read_data
);
  reg [OWNER_BITS-1:0] owners[0:(1<<PLACE_BITS)-1];
  reg [WIDTH-1:0] bursts[0:(1<<PLACE_BITS)-1];
  integer place;

  assign displaced = owners[write_place];

  initial begin
    for (place = 0; place < 1 << PLACE_BITS; place = place + 1) begin
      owners[place] = 0;
      bursts[place] = 0;
    end
    read_owner = 0;
    read_data = 0;
  end

  always @(posedge clk) begin
    read_owner <= owners[read_place];
    read_data <= bursts[read_place];
    if (write) begin
      owners[write_place] <= write_owner;
      bursts[write_place] <= write_data;
    end
  end
endmodule
