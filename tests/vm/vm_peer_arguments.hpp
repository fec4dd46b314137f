// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/verbs/options.hpp"

namespace rashpa::vm {

enum class Role : std::uint8_t { source, destination };
enum class Fault : std::uint8_t { none, wrong_key, short_buffer, bad_icrc };

/// The command line of rashpa_vm_peer; vm_peer_usage.hpp says what each means.
struct Arguments {
  Role role = Role::source;
  std::string link, peer, bind, device;
  std::string card, card_mac, peer_mac;  ///< link fpga
  std::vector<std::string> exchanges;    ///< one per program at the other side
  std::uint16_t port = 4791;
  link::roce::Options packets{};
  link::Flow flow = link::Flow::credits;
  double rate_hz = 0;
  std::uint64_t frames = 100;
  std::uint32_t first_module = 0, modules = 2, width = 256, height = 32, slots = 16, stack = 4;
  std::int64_t deadline_ms = 2000;
  double timeout_s = 60;
  bool spin = false;
  link::Verify verify = link::Verify::all;
  link::verbs::Operation operation = link::verbs::Operation::write;
  link::verbs::Paging paging = link::verbs::Paging::pinned;
  std::map<std::string, std::uint64_t> expect;  ///< by "complete", "partial", "missing"
  std::string expect_fates, fates;
  Fault fault = Fault::none;
  double fault_rate = 0.01;
  std::uint64_t seed = 1;
  std::uint32_t delay_exit_ms = 0;
};

/// Empty when help is asked for. Throws ConfigError that names the argument.
std::optional<Arguments> parse(int count, char** words);

}  // namespace rashpa::vm
