// SPDX-License-Identifier: Apache-2.0
// rashpa_card: a simulated card as a process. It prints one line when it can be opened, and one when it ends.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "network.hpp"
#include "rashpa/core/error.hpp"
#include "simulated_card.hpp"
#include "simulated_unit.hpp"

namespace rashpa::sim {

namespace {

constexpr const char* kUsage =
    R"(rashpa_card DIRECTORY [--memory BYTES] [--latency CYCLES] [--reads N] [--seed N] [--network NETWORK]

  --memory BYTES    of card memory, a multiple of 4096; K, M and G are 2^10, 2^20 and 2^30 (1G)
  --latency CYCLES  from an address to its first beat of memory (40)
  --reads N         addresses that memory takes before it has answered (64)
  --seed N          of the values that registers have before reset (1)
  --network udp     packets go out of the addresses and ports that stand in them (the default)
  --network unix:HERE,THERE   frames are datagrams from the socket HERE to the socket THERE
  --unit            the processing unit of a receiver in place of the sender of a detector; it has no network

  --with-parent     end when standard input is closed

Prints "ready …" on stdout when a driver can open DIRECTORY, and works until SIGTERM or SIGINT; DIRECTORY's files are taken
away then. Ends with 2 and a text on stderr when it cannot begin.
)";

std::atomic<bool> stop{false};

struct Arguments {
  std::filesystem::path directory;
  std::uint64_t memory = std::uint64_t{1} << 30U;
  CardTimes times;
  std::uint64_t seed = 1;
  std::string network;  // empty: udp
  bool unit = false;
  bool with_parent = false;
};

template <typename Number>
Number number_of(const std::string& name, const std::string& text, bool suffix = false) {
  Number value{};
  const char* const end = text.data() + text.size();
  auto [behind, code] = std::from_chars(text.data(), end, value);
  if (suffix && code == std::errc{} && behind + 1 == end) {
    const std::string units = "KMG";
    const auto unit = units.find(*behind);
    const std::uint32_t bits = unit == std::string::npos ? 64 : 10 * (static_cast<std::uint32_t>(unit) + 1);
    if (bits < 64 && value < Number{1} << (64U - bits)) {
      value <<= bits;
      ++behind;
    }
  }
  if (code != std::errc{} || behind != end) {
    throw ConfigError(fmt::format("card: {} {}: not a number that fits; see --help", name, text));
  }
  return value;
}

void take(Arguments& out, const std::string& name, const std::string& value) {
  if (name == "--memory") {
    out.memory = number_of<std::uint64_t>(name, value, true);
  } else if (name == "--latency") {
    out.times.memory_latency = number_of<std::uint32_t>(name, value);
  } else if (name == "--reads") {
    out.times.memory_reads = number_of<std::uint32_t>(name, value);
    if (out.times.memory_reads == 0) throw ConfigError("card: --reads 0: memory must take an address to answer it");
  } else if (name == "--seed") {
    out.seed = number_of<std::uint64_t>(name, value);
  } else if (name == "--network") {
    out.network = value;
  } else {
    throw ConfigError(fmt::format("card: there is no {}; see --help", name));
  }
}

Arguments parse(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--with-parent") {
      out.with_parent = true;
    } else if (word == "--unit") {
      out.unit = true;
    } else if (word.rfind("--", 0) != 0 && out.directory.empty()) {
      out.directory = word;
    } else if (i + 1 < count) {
      take(out, word, words[++i]);
    } else {
      throw ConfigError(fmt::format("card: {} has no value; see --help", word));
    }
  }
  if (out.unit && !out.network.empty()) throw ConfigError("card: --network: a processing unit has none; leave it out");
  if (out.directory.empty()) throw ConfigError("card: give the directory of the card; see --help");
  return out;
}

/// Until the end of standard input, or of the card.
void watch_parent() {
  constexpr int kLookMs = 100;
  while (!stop) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    char said = 0;
    if (poll(&input, 1, kLookMs) > 0 && read(STDIN_FILENO, &said, 1) <= 0) stop = true;
  }
}

void run(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (const std::string word = words[i]; word == "--help" || word == "-h") {
      fmt::print("{}", kUsage);
      return;
    }
  }
  const Arguments arguments = parse(count, words);
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { stop = true; });
  const auto begin = [&](const std::string& what) {
    fmt::print("ready {}: {} bytes of card memory, {}\n", arguments.directory.string(), arguments.memory, what);
    std::fflush(stdout);
    return arguments.with_parent ? std::jthread(watch_parent) : std::jthread();
  };
  if (arguments.unit) {
    SimulatedUnit unit(arguments.directory, arguments.memory, arguments.times, arguments.seed);
    const std::jthread parent = begin("processing unit");
    unit.run(stop);
    fmt::print("ended after {} cycles\n", unit.cycles());
    return;
  }
  const std::string network = arguments.network.empty() ? "udp" : arguments.network;
  SimulatedCard card(arguments.directory, arguments.memory, make_network(network), arguments.times, arguments.seed);
  const std::jthread parent = begin("network " + network);
  card.run(stop);
  fmt::print("ended after {} cycles; {} frames were of no use to the network\n", card.cycles(),
             card.network().refused());
}

}  // namespace

}  // namespace rashpa::sim

int main(int count, char** words) {
  try {
    rashpa::sim::run(count, words);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
