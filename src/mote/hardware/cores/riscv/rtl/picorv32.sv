// PicoRV32 with compressed instructions, the fast multiplier, the divider and the barrel shifter. Its one port looks
// ahead, so that memory which answers in the next cycle keeps no instruction waiting: board.cpp is that memory.
module mote_board (
    input logic clk,
    input logic rst_n,
    output logic fetch,
    output logic [31:0] fetch_address,
    input logic [31:0] fetched,
    output logic access,
    output logic write,
    output logic [3:0] bytes,
    output logic [31:0] address,
    output logic [31:0] stored,
    input logic [31:0] loaded,
    output logic retired,
    output logic [31:0] pc,
    output logic halted
);
  logic read, answer_is_code;
  logic [31:0] next;

  always_ff @(posedge clk) answer_is_code <= fetch;

  picorv32 #(
      .COMPRESSED_ISA(1),
      .ENABLE_FAST_MUL(1),
      .ENABLE_DIV(1),
      .BARREL_SHIFTER(1),
      .PROGADDR_RESET(`MOTE_VECTORS + 32'h80)
  ) core (
      .clk(clk),
      .resetn(rst_n),
      .trap(halted),
      .mem_valid(),
      .mem_instr(),
      .mem_ready(1'b1),
      .mem_addr(),
      .mem_wdata(),
      .mem_wstrb(),
      .mem_rdata(answer_is_code ? fetched : loaded),
      .mem_la_read(read),
      .mem_la_write(write),
      .mem_la_addr(next),
      .mem_la_wdata(stored),
      .mem_la_wstrb(bytes),
      .pcpi_wr(1'b0),
      .pcpi_rd('0),
      .pcpi_wait(1'b0),
      .pcpi_ready(1'b0),
      .irq('0),
      .rvfi_valid(retired),
      .rvfi_pc_rdata(pc)
  );
  assign fetch = read & ~core.mem_do_rdata;
  assign fetch_address = next;
  assign access = write | read & core.mem_do_rdata;
  assign address = next;
endmodule
