// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/packet/opcode.hpp"

#include <fmt/format.h>

#include <array>

#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::wire {

namespace {

enum Header : std::uint8_t { reth = 1, atomic = 2, aeth = 4, atomic_ack = 8, immediate = 16, invalidate = 32 };
enum Transport : std::uint8_t { rc = 1, uc = 2, ud = 4 };

struct Operation {
  std::string_view name;
  std::uint8_t headers;
  std::uint8_t transports;
};

// By the low five bits of the opcode; which transports have the operation, and its extended headers.
constexpr std::array<Operation, 24> kOperations{{
    {"SEND_FIRST", 0, rc | uc},
    {"SEND_MIDDLE", 0, rc | uc},
    {"SEND_LAST", 0, rc | uc},
    {"SEND_LAST_WITH_IMMEDIATE", immediate, rc | uc},
    {"SEND_ONLY", 0, rc | uc | ud},
    {"SEND_ONLY_WITH_IMMEDIATE", immediate, rc | uc | ud},
    {"RDMA_WRITE_FIRST", reth, rc | uc},
    {"RDMA_WRITE_MIDDLE", 0, rc | uc},
    {"RDMA_WRITE_LAST", 0, rc | uc},
    {"RDMA_WRITE_LAST_WITH_IMMEDIATE", immediate, rc | uc},
    {"RDMA_WRITE_ONLY", reth, rc | uc},
    {"RDMA_WRITE_ONLY_WITH_IMMEDIATE", reth | immediate, rc | uc},
    {"RDMA_READ_REQUEST", reth, rc},
    {"RDMA_READ_RESPONSE_FIRST", aeth, rc},
    {"RDMA_READ_RESPONSE_MIDDLE", 0, rc},
    {"RDMA_READ_RESPONSE_LAST", aeth, rc},
    {"RDMA_READ_RESPONSE_ONLY", aeth, rc},
    {"ACKNOWLEDGE", aeth, rc},
    {"ATOMIC_ACKNOWLEDGE", aeth | atomic_ack, rc},
    {"COMPARE_SWAP", atomic, rc},
    {"FETCH_ADD", atomic, rc},
    {"", 0, 0},
    {"SEND_LAST_WITH_INVALIDATE", invalidate, rc},
    {"SEND_ONLY_WITH_INVALIDATE", invalidate, rc},
}};

constexpr std::uint8_t kCnp = 0x81;

const Operation* operation_of(std::uint8_t opcode, std::string_view& transport) noexcept {
  constexpr struct {
    std::uint8_t bits;
    Transport flag;
    std::string_view name;
  } kTransports[] = {{0x00, rc, "RC"}, {0x20, uc, "UC"}, {0x60, ud, "UD"}};
  const std::size_t low = opcode & 0x1FU;
  for (const auto& candidate : kTransports) {
    if ((opcode & 0xE0U) != candidate.bits || low >= kOperations.size()) continue;
    if ((kOperations[low].transports & candidate.flag) == 0) return nullptr;
    transport = candidate.name;
    return &kOperations[low];
  }
  return nullptr;
}

}  // namespace

OpcodeHeaders headers_of(std::uint8_t opcode) noexcept {
  OpcodeHeaders headers;
  if (opcode == kCnp) {
    headers.known = true;  // its 16 reserved bytes count as payload
    return headers;
  }
  std::string_view transport;
  const Operation* const operation = operation_of(opcode, transport);
  if (operation == nullptr) return headers;
  headers.known = true;
  headers.deth = transport == "UD";
  headers.reth = (operation->headers & reth) != 0;
  headers.atomic = (operation->headers & atomic) != 0;
  headers.aeth = (operation->headers & aeth) != 0;
  headers.atomic_ack = (operation->headers & atomic_ack) != 0;
  headers.immediate = (operation->headers & immediate) != 0;
  headers.invalidate = (operation->headers & invalidate) != 0;
  return headers;
}

std::string opcode_name(std::uint8_t opcode) {
  if (opcode == kCnp) return "CNP";
  std::string_view transport;
  const Operation* const operation = operation_of(opcode, transport);
  if (operation == nullptr) return fmt::format("UNKNOWN_0x{:02x}", opcode);
  return fmt::format("{}_{}", transport, operation->name);
}

std::optional<std::uint8_t> opcode_of(std::string_view name) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (opcode_name(static_cast<std::uint8_t>(opcode)) == name) return static_cast<std::uint8_t>(opcode);
  }
  return std::nullopt;
}

std::string_view name_of(IcrcVerdict verdict) noexcept {
  constexpr std::string_view kNames[] = {"unchecked", "ok", "modulo-id", "bad"};
  return kNames[static_cast<std::uint8_t>(verdict) & 3U];
}

}  // namespace rashpa::wire
