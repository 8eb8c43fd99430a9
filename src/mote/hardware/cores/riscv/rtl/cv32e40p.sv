// CV32E40P without its extensions and without an FPU, beside memory that answers in the next cycle: board.cpp is that
// memory. An instruction counts as retired when it leaves the decoder, as the core's own counter has it.
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
    fetch_answer  <= rst_n & fetch;
    access_answer <= rst_n & access;
  end

  cv32e40p_core core (
      .clk_i(clk),
      .rst_ni(rst_n),
      .pulp_clock_en_i(1'b0),
      .scan_cg_en_i(1'b0),
      .boot_addr_i(`MOTE_VECTORS + 32'h80),
      .mtvec_addr_i(`MOTE_VECTORS),
      .dm_halt_addr_i(`MOTE_VECTORS),
      .hart_id_i('0),
      .dm_exception_addr_i(`MOTE_VECTORS),
      .instr_req_o(fetch),
      .instr_gnt_i(1'b1),
      .instr_rvalid_i(fetch_answer),
      .instr_addr_o(fetch_address),
      .instr_rdata_i(fetched),
      .data_req_o(access),
      .data_gnt_i(1'b1),
      .data_rvalid_i(access_answer),
      .data_we_o(write),
      .data_be_o(bytes),
      .data_addr_o(address),
      .data_wdata_o(stored),
      .data_rdata_i(loaded),
      .apu_busy_o(),
      .apu_req_o(),
      .apu_gnt_i(1'b0),
      .apu_operands_o(),
      .apu_op_o(),
      .apu_flags_o(),
      .apu_rvalid_i(1'b0),
      .apu_result_i('0),
      .apu_flags_i('0),
      .irq_i('0),
      .irq_ack_o(),
      .irq_id_o(),
      .debug_req_i(1'b0),
      .debug_havereset_o(),
      .debug_running_o(),
      .debug_halted_o(),
      .fetch_enable_i(1'b1),
      .core_sleep_o()
  );
  assign retired = core.id_stage_i.minstret;
  assign pc = core.pc_id;
  assign halted = 1'b0;
endmodule

// The clock is always on.
module cv32e40p_clock_gate (
    input  logic clk_i,
    input  logic en_i,
    input  logic scan_cg_en_i,
    output logic clk_o
);
  assign clk_o = clk_i;
endmodule
