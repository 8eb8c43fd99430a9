// Ibex in its configuration "small", beside memory that answers in the next cycle: board.cpp is that memory.
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
  logic fetch_answer, access_answer;

  always_ff @(posedge clk) begin
    fetch_answer <= rst_n & fetch;
    access_answer <= rst_n & access;
  end

  ibex_top core (
      .clk_i(clk),
      .rst_ni(rst_n),
      .test_en_i(1'b0),
      .ram_cfg_i('0),
      .hart_id_i('0),
      .boot_addr_i(`MOTE_VECTORS),
      .instr_req_o(fetch),
      .instr_gnt_i(1'b1),
      .instr_rvalid_i(fetch_answer),
      .instr_addr_o(fetch_address),
      .instr_rdata_i(fetched),
      .instr_rdata_intg_i('0),
      .instr_err_i(1'b0),
      .data_req_o(access),
      .data_gnt_i(1'b1),
      .data_rvalid_i(access_answer),
      .data_we_o(write),
      .data_be_o(bytes),
      .data_addr_o(address),
      .data_wdata_o(stored),
      .data_wdata_intg_o(),
      .data_rdata_i(loaded),
      .data_rdata_intg_i('0),
      .data_err_i(1'b0),
      .irq_software_i(1'b0),
      .irq_timer_i(1'b0),
      .irq_external_i(1'b0),
      .irq_fast_i('0),
      .irq_nm_i(1'b0),
      .scramble_key_valid_i(1'b0),
      .scramble_key_i('0),
      .scramble_nonce_i('0),
      .scramble_req_o(),
      .debug_req_i(1'b0),
      .crash_dump_o(),
      .double_fault_seen_o(),
      .rvfi_valid(retired),
      .rvfi_pc_rdata(pc),
      .fetch_enable_i(ibex_pkg::IbexMuBiOn),
      .alert_minor_o(),
      .alert_major_internal_o(),
      .alert_major_bus_o(),
      .core_sleep_o(),
      .scan_rst_ni(1'b1)
  );
  assign halted = 1'b0;
endmodule

// Cells that a maker's library has: here without delay, and with the clock always on.
module prim_buf #(
    parameter int Width = 1
) (
    input  logic [Width-1:0] in_i,
    output logic [Width-1:0] out_o
);
  assign out_o = in_i;
endmodule

module prim_clock_gating (
    input  logic clk_i,
    input  logic en_i,
    input  logic test_en_i,
    output logic clk_o
);
  assign clk_o = clk_i;
endmodule
