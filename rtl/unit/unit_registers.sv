// SPDX-License-Identifier: Apache-2.0
// The page of registers (schema/unit_registers.rdl): settings, the ring of stacks, doorbells; identity, status, counters.
module unit_registers
  import unit_pkg::*;
  import unit_registers_pkg::*;
#(
    parameter logic [31:0] GitHash = 32'd0,
    parameter logic [31:0] Clock = 32'd0,
    parameter logic [63:0] MemoryBytes = 64'd0
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               s_axil_awvalid,
    output logic               s_axil_awready,
    input  logic        [14:0] s_axil_awaddr,
    input  logic               s_axil_wvalid,
    output logic               s_axil_wready,
    input  logic        [31:0] s_axil_wdata,
    input  logic        [ 3:0] s_axil_wstrb,
    output logic               s_axil_bvalid,
    input  logic               s_axil_bready,
    output logic        [ 1:0] s_axil_bresp,
    input  logic               s_axil_arvalid,
    output logic               s_axil_arready,
    input  logic        [14:0] s_axil_araddr,
    output logic               s_axil_rvalid,
    input  logic               s_axil_rready,
    output logic        [31:0] s_axil_rdata,
    output logic        [ 1:0] s_axil_rresp,
    output settings_t          settings_o,
    output logic        [31:0] posted_o,
    output logic        [31:0] abort_o,
    input  logic        [ 1:0] slot_i,             // a cycle later:
    output stack_t             stack_o,
    output logic               stack_images_o,     // 1 … MostImages
    input  state_e             state_i,
    input  error_code_e        error_i,
    input  logic        [31:0] error_stack_i,
    input  logic        [31:0] abort_done_i,
    input  logic        [31:0] done_i,
    input  logic        [31:0] counters_i    [10]
);
  localparam logic [31:0] Magic = 32'h5550_5352;
  localparam logic [31:0] Version = 32'd2;
  localparam logic [31:0] Capabilities = {8'd0, 8'(Slots), 8'(MostImages), 8'(Lanes)};

  logic write, read, write_done_q, read_done_q, asked_q, refused_q, known_q;
  logic [12:0] read_word;
  logic [ 4:0] write_word;
  logic [ 4:0] group_q;
  logic [31:0] data, read_q;
  page_t raw_q[Slots], photons_q[Slots], results_q[Slots], lists_q[Slots];
  logic [7:0] images_q[Slots];  // and whether they are a number that can be
  settings_t settings_q;

  logic asked_write, settings_hit, stacks_hit, doorbell_hit;
  logic [12:0] asked_word;
  logic [31:0] asked_data;

  axi_lite_slave #(
      .AddressBits(15)
  ) u_slave (
      .clk_i,
      .rst_ni,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_awaddr,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_bresp,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_araddr,
      .s_axil_rvalid,
      .s_axil_rready,
      .s_axil_rdata,
      .s_axil_rresp,
      .write_o(asked_write),
      .write_word_o(asked_word),
      .write_data_o(asked_data),
      .write_done_i(write_done_q),
      .write_error_i(refused_q),
      .read_o(read),
      .read_word_o(read_word),
      .read_done_i(read_done_q),
      .read_error_i(!known_q),
      .read_data_i(read_q)
  );

  // A write a cycle later, and where it goes.
  always_ff @(posedge clk_i) begin
    write        <= asked_write && rst_ni;
    write_word   <= asked_word[4:0];
    data         <= asked_data;
    settings_hit <= asked_word[12:4] == SettingsBase[14:6] && asked_word[3:0] < 4'd9 && state_i == StateIdle;
    stacks_hit   <= asked_word[12:5] == StacksBase[14:7] && asked_word[2:0] < 3'd5;
    doorbell_hit <= asked_word[12:1] == DoorbellsStacksPostedAddress[14:3];
  end

  always_ff @(posedge clk_i) begin
    write_done_q <= write && rst_ni;
    refused_q <= !(stacks_hit || doorbell_hit || settings_hit);
    if (write && settings_hit) begin
      unique case (write_word[3:0])
        SettingsBlocksAddress[5:2]: settings_q.blocks <= data[15:0];
        SettingsLastAddress[5:2]: settings_q.last_beats <= data[5:0];
        SettingsLastLanesAddress[5:2]: settings_q.last_lanes <= data;
        SettingsImagePagesAddress[5:2]: settings_q.image_pages <= data;
        SettingsCalibrationLowAddress[5:2]: settings_q.calibration_low <= data;
        SettingsCalibrationHighAddress[5:2]: settings_q.calibration_high <= data;
        SettingsBrightAddress[5:2]: settings_q.bright <= data[15:0];
        SettingsListAddress[5:2]: {settings_q.lists, settings_q.threshold} <= data[16:0];
        SettingsListPagesAddress[5:2]: settings_q.list_pages <= data[17:0];
        default: ;
      endcase
    end
    if (write && stacks_hit) begin
      unique case (write_word[2:0])
        StacksRawPageWord: raw_q[write_word[4:3]] <= data;
        StacksPhotonsPageWord: photons_q[write_word[4:3]] <= data;
        StacksResultsPageWord: results_q[write_word[4:3]] <= data;
        StacksImagesWord: images_q[write_word[4:3]] <= {data != '0 && data <= 32'(MostImages), data[6:0]};
        StacksListsPageWord: lists_q[write_word[4:3]] <= data;
        default: ;
      endcase
    end
    if (!rst_ni) begin
      posted_o <= '0;
      abort_o  <= '0;
    end else if (write && doorbell_hit) begin
      if (write_word[0]) abort_o <= data;
      else posted_o <= data;
    end
  end
  assign settings_o = settings_q;

  always_ff @(posedge clk_i) begin
    stack_o <= '{
        raw: raw_q[slot_i],
        photons: photons_q[slot_i],
        results: results_q[slot_i],
        images: images_q[slot_i][6:0],
        lists: lists_q[slot_i]
    };
    stack_images_o <= images_q[slot_i][7];
  end

  // In two steps: which group, which of its words.
  logic [31:0] identity_q, status_q, counter_q, setting_q, doorbell_q;
  always_ff @(posedge clk_i) begin
    asked_q     <= read && rst_ni;
    read_done_q <= asked_q && rst_ni;
    unique case (read_word[2:0])
      3'd0: identity_q <= Magic;
      3'd1: identity_q <= Version;
      3'd2: identity_q <= GitHash;
      3'd3: identity_q <= Capabilities;
      3'd4: identity_q <= 32'(BlockBeats * Lanes);
      3'd5: identity_q <= Clock;
      3'd6: identity_q <= MemoryBytes[31:0];
      3'd7: identity_q <= MemoryBytes[63:32];
    endcase
    unique case (read_word[2:0])
      3'd0: status_q <= 32'(state_i);
      3'd1: status_q <= 32'(error_i);
      3'd2: status_q <= error_stack_i;
      3'd3: status_q <= abort_done_i;
      default: status_q <= done_i;
    endcase
    counter_q <= read_word[3:0] < 4'd10 ? counters_i[read_word[3:0]] : '0;
    unique case (read_word[3:0])
      4'd0: setting_q <= 32'(settings_q.blocks);
      4'd1: setting_q <= 32'(settings_q.last_beats);
      4'd2: setting_q <= settings_q.last_lanes;
      4'd3: setting_q <= settings_q.image_pages;
      4'd4: setting_q <= settings_q.calibration_low;
      4'd5: setting_q <= settings_q.calibration_high;
      4'd6: setting_q <= 32'(settings_q.bright);
      4'd7: setting_q <= 32'({settings_q.lists, settings_q.threshold});
      default: setting_q <= 32'(settings_q.list_pages);
    endcase
    doorbell_q <= read_word[0] ? abort_o : posted_o;
    group_q[0] <= read_word[12:3] == IdentityBase[14:5];
    group_q[1] <= read_word[12:3] == StatusBase[14:5] && read_word[2:0] <= 3'd4;
    group_q[2] <= read_word[12:4] == CountersBase[14:6] && read_word[3:0] < 4'd10;
    group_q[3] <= read_word[12:4] == SettingsBase[14:6] && read_word[3:0] < 4'd9;
    group_q[4] <= read_word[12:1] == DoorbellsStacksPostedAddress[14:3];
    known_q <= group_q != '0;
    read_q <= (group_q[0] ? identity_q : '0) | (group_q[1] ? status_q : '0) | (group_q[2] ? counter_q : '0) |
              (group_q[3] ? setting_q : '0) | (group_q[4] ? doorbell_q : '0);
  end
endmodule
