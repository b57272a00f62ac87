// Simulation only: the pages of one channel of the flash, as the controller moves them; the compiled twin of the memory
// in flash_storage.py. The file flash.image in the folder of the run holds all channels' pages, of eight bytes a word,
// low byte first; what lies behind its end is 0. The file flash.bad, which may be missing, has the number of a page that
// cannot be read in each line.
module flash_storage #(
    parameter PAGE_BEATS = 64,
    parameter FORMULA_BITS = 0,
    parameter MOST_BAD = 4096
) (
    input clk,
    input start,
    input [39:0] page,
    input [10:0] beat,
    input advance,
    output [63:0] word,
    output bad
);
  reg [63:0] place, raw, value, words;
  reg [39:0] bad_pages[0:MOST_BAD-1];
  reg failed, hit;
  integer file, list, got, n_bad, i;

  assign word = value;
  assign bad = failed;

  initial begin
    value = 0;
    failed = 0;
    place = 0;
    words = 0;
    n_bad = 0;
    file = 0;
    if (FORMULA_BITS == 0) file = $fopen("flash.image", "rb");
    if (file != 0) begin
      // The results are looked at: Verilator leaves out a seek of which nobody asks how it went.
      got = -1;
      if ($fseek(file, 0, 2) == 0) got = $ftell(file);
      if (got < 0) $fatal(1, "flash.image cannot be read");
      words = {35'd0, got[31:3]};
    end
    list = $fopen("flash.bad", "r");
    if (list != 0) begin
      got = $fscanf(list, "%d", bad_pages[0]);
      while (got == 1) begin
        n_bad = n_bad + 1;
        got = $fscanf(list, "%d", bad_pages[n_bad]);
      end
      $fclose(list);
    end
  end

  always @(posedge clk) begin
    if (start || advance) begin
      place = start ? page * PAGE_BEATS + beat : place + 1;
      if (FORMULA_BITS != 0) value <= (place * 64'h9E3779B97F4A7C15) >> (64 - FORMULA_BITS);
      else if (place < words) begin
        if (start) if ($fseek(file, {place[28:0], 3'd0}, 0) != 0) $fatal(1, "flash.image cannot be read");
        got = $fread(raw, file);
        value <= {raw[7:0], raw[15:8], raw[23:16], raw[31:24], raw[39:32], raw[47:40], raw[55:48], raw[63:56]};
      end else value <= 0;
    end
    if (start) begin
      hit = 0;
      for (i = 0; i < n_bad; i = i + 1) if (bad_pages[i] == page) hit = 1;
      failed <= hit;
    end
  end
endmodule
