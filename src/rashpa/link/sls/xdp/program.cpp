// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/program.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstddef>

namespace rashpa::link::sls::xdp {

namespace {

constexpr std::int32_t kHeaders = 42;  // Ethernet, IPv4 without options, UDP
constexpr std::int16_t kToPass = -1;   // a jump that is not known yet

/// Instructions that fall through from test to test; a frame that fails one goes on to the kernel.
class Code {
 public:
  void add(int code, int to, int from, int offset, std::int32_t value) {
    bpf_insn one{};
    one.code = static_cast<std::uint8_t>(code);
    one.dst_reg = static_cast<std::uint8_t>(to) & 0xFU;
    one.src_reg = static_cast<std::uint8_t>(from) & 0xFU;
    one.off = static_cast<std::int16_t>(offset);
    one.imm = value;
    all_.push_back(one);
  }
  void set(int to, std::int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void copy(int to, int from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void load(int size, int to, int from, int at) { add(BPF_LDX | BPF_MEM | size, to, from, at, 0); }
  void pass_unless_equal(int value, std::uint32_t right) {
    add(BPF_JMP32 | BPF_JNE | BPF_K, value, 0, kToPass, static_cast<std::int32_t>(right));
  }
  /// The end: XDP_PASS. Resolves jumps to it.
  [[nodiscard]] std::vector<bpf_insn> finish() {
    const std::size_t pass = all_.size();
    set(BPF_REG_0, XDP_PASS);
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    for (std::size_t i = 0; i < pass; ++i) {
      if (all_[i].off == kToPass) all_[i].off = static_cast<std::int16_t>(pass - i - 1);
    }
    return std::move(all_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  void jump_to(std::size_t from, std::size_t to) { all_[from].off = static_cast<std::int16_t>(to - from - 1); }

 private:
  std::vector<bpf_insn> all_;
};

int map_create(std::uint32_t entries) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = attributes.value_size = sizeof(std::uint32_t);
  attributes.max_entries = entries;
  const int file = bpf(BPF_MAP_CREATE, attributes);
  if (file < 0) refuse("cannot make a map", errno);
  return file;
}

int load(std::span<const bpf_insn> code) {
  static constexpr char kLicense[] = "Apache-2.0";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.insns = reinterpret_cast<std::uintptr_t>(code.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(code.size());
  attributes.license = reinterpret_cast<std::uintptr_t>(&kLicense[0]);
  attributes.prog_flags = BPF_F_XDP_HAS_FRAGS;
  const int file = bpf(BPF_PROG_LOAD, attributes);
  if (file < 0) refuse("cannot load the program", errno);
  return file;
}

}  // namespace

std::vector<bpf_insn> instructions(std::uint32_t address, std::span<const std::uint16_t> ports, std::uint32_t queues,
                                   int map) {
  constexpr int kContext = BPF_REG_6;
  constexpr int kPlace = BPF_REG_7;
  constexpr int kFrame = BPF_REG_2;
  constexpr int kValue = BPF_REG_5;
  constexpr std::int32_t kFragment = 0x3FFF;
  Code code;
  code.copy(kContext, BPF_REG_1);
  code.load(BPF_W, kFrame, kContext, offsetof(xdp_md, data));
  code.load(BPF_W, BPF_REG_3, kContext, offsetof(xdp_md, data_end));
  code.copy(BPF_REG_4, kFrame);
  code.add(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, kHeaders);
  code.add(BPF_JMP | BPF_JGT | BPF_X, BPF_REG_4, BPF_REG_3, kToPass, 0);
  const auto field = [&](int size, int at, std::uint32_t right) {
    code.load(size, kValue, kFrame, at);
    code.pass_unless_equal(kValue, right);
  };
  field(BPF_H, 12, htons(ETH_P_IP));
  field(BPF_B, 14, 0x45);  // version 4, no options
  field(BPF_B, 23, IPPROTO_UDP);
  field(BPF_W, 30, address);
  code.load(BPF_H, kValue, kFrame, 20);
  code.add(BPF_ALU64 | BPF_AND | BPF_K, kValue, 0, 0, htons(kFragment));
  code.pass_unless_equal(kValue, 0);
  code.load(BPF_H, kValue, kFrame, 36);  // destination port
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    code.set(kPlace, static_cast<std::int32_t>(i * queues));
    found.push_back(code.size());
    code.add(BPF_JMP | BPF_JEQ | BPF_K, kValue, 0, 0, htons(ports[i]));
  }
  code.add(BPF_JMP | BPF_JA, 0, 0, kToPass, 0);
  for (const std::size_t from : found) code.jump_to(from, code.size());
  code.load(BPF_W, BPF_REG_2, kContext, offsetof(xdp_md, rx_queue_index));
  code.add(BPF_JMP | BPF_JGE | BPF_K, BPF_REG_2, 0, kToPass, static_cast<std::int32_t>(queues));
  code.add(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_2, kPlace, 0, 0);
  code.add(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map);
  code.add(0, 0, 0, 0, 0);        // the upper half of the number
  code.set(BPF_REG_3, XDP_PASS);  // where no socket is
  code.add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map);
  code.add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  return code.finish();
}

Program::Program(std::uint32_t address, std::span<const std::uint16_t> ports, std::uint32_t queues)
    : queues_(queues),
      sockets_(map_create(static_cast<std::uint32_t>(ports.size()) * queues)),
      program_(load(instructions(address, ports, queues, sockets_.get()))) {}

void Program::give(std::uint32_t port, std::uint32_t queue, int socket) {
  const std::uint32_t place = port * queues_ + queue;
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(sockets_.get());
  attributes.key = reinterpret_cast<std::uintptr_t>(&place);
  attributes.value = reinterpret_cast<std::uintptr_t>(&socket);
  if (bpf(BPF_MAP_UPDATE_ELEM, attributes) != 0) refuse("cannot add a socket to the map", errno);
}

void Program::attach(int interface, const std::string& name) {
  int code = 0;
  for (const std::uint32_t way : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program_.get());
    attributes.link_create.target_ifindex = static_cast<std::uint32_t>(interface);
    attributes.link_create.attach_type = BPF_XDP;
    attributes.link_create.flags = way;
    link_ = FileDescriptor(bpf(BPF_LINK_CREATE, attributes));
    if (link_.get() >= 0) {
      in_driver_ = way == XDP_FLAGS_DRV_MODE;
      return;
    }
    code = errno;
    if (code == EBUSY || code == EEXIST || code == EPERM) break;
  }
  refuse(fmt::format("cannot put the program at {}", name), code);
}

}  // namespace rashpa::link::sls::xdp
