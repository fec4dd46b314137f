// SPDX-License-Identifier: Apache-2.0
/// One end of an acquisition without Python: see vm_peer_usage.hpp for the command line and what comes out.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/emulator/emulator.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/sink/simple/null_sink.hpp"
#include "vm_peer_arguments.hpp"
#include "vm_peer_exchange.hpp"
#include "vm_peer_usage.hpp"

namespace rashpa::vm {

namespace {

constexpr std::uint32_t kRun = 7;
// Frames of the pattern: a prime, so that a slot never gets the same image twice and a line that did not arrive shows.
constexpr std::uint64_t kPattern = 31;

char letter_of(Completeness state) {
  constexpr char kLetters[] = {'o', 'c', 'p', 'm'};
  return kLetters[static_cast<std::size_t>(state) % sizeof kLetters];
}

link::LinkOptions link_options(const Arguments& arguments) {
  if (link::kind_of(arguments.link) == link::Kind::roce) return arguments.packets;
  if (link::kind_of(arguments.link) == link::Kind::fpga) {
    return link::fpga::Options{.card = arguments.card,
                               .pmtu = arguments.packets.pmtu,
                               .packetisation = arguments.packets.packetisation,
                               .source_mac = arguments.card_mac,
                               .destination_mac = arguments.peer_mac};
  }
  link::verbs::Options out{};
  out.transport = arguments.packets.transport;
  out.pmtu = arguments.packets.pmtu;
  out.packetisation = arguments.packets.packetisation;
  out.window_bytes = arguments.packets.window_bytes;
  out.device = arguments.device;
  out.verify = arguments.verify;
  out.operation = arguments.operation;
  out.paging = arguments.paging;
  return out;
}

receiver::Config receiver_config(const Arguments& arguments) {
  receiver::BufferConfig buffer;
  buffer.name = "full";
  buffer.width = arguments.width;
  buffer.height = arguments.height * arguments.modules;
  buffer.slots = arguments.slots;
  buffer.stack = arguments.stack;
  buffer.images = arguments.frames;
  buffer.deadline_ms = static_cast<std::uint32_t>(arguments.deadline_ms);
  buffer.sinks.emplace_back([](const receiver::Output& output) {
    return std::make_unique<sink::NullSink>(static_cast<std::uint64_t>(output.width) * output.height * 2);
  });
  for (std::uint32_t place = 0; place < arguments.modules; ++place) {
    const std::uint32_t module = arguments.first_module + place;
    buffer.dtps.push_back({.id = module,
                           .module = module,
                           .x = 0,
                           .y = place * arguments.height,
                           .width = arguments.width,
                           .height = arguments.height});
  }
  receiver::Config config;
  config.buffers.push_back(std::move(buffer));
  config.memory = memory::MemoryKind::pageable;
  config.link = link_options(arguments);
  config.source_link = arguments.peer;
  config.bind_address = arguments.bind;
  config.port = arguments.port;
  config.flow = arguments.flow;
  config.run = kRun;
  config.poll = arguments.spin ? scheduler::Poll::spin : scheduler::Poll::event;
  return config;
}

// Letters of all images, or the counts of --expect: true when they are what was asked for.
bool as_expected(const Arguments& arguments, const receiver::Receiver& receiver, const Books& books) {
  if (!books.balanced()) return false;
  if (!arguments.expect_fates.empty()) {
    std::ifstream file(arguments.expect_fates);
    std::string expected;
    std::string found;
    file >> expected;
    for (const Completeness state : receiver.completeness(0)) found.push_back(letter_of(state));
    if (found != expected) fmt::print(stderr, "vm_peer: fates\n  {} were sent,\n  {} arrived\n", expected, found);
    return found == expected;
  }
  for (const auto& [name, count] : arguments.expect) {
    const std::uint64_t found = name == "complete" ? books.complete : name == "partial" ? books.partial : books.missing;
    if (found != count) return false;
  }
  return true;
}

int destination(const Arguments& arguments) {
  receiver::Receiver receiver(receiver_config(arguments));
  std::vector<ExchangedEnd> ends;
  const auto endpoints = receiver.endpoints();
  for (std::size_t d = 0; d < endpoints.size(); ++d) ends.push_back({endpoints[d], receiver.placements()[d]});
  give(arguments.exchanges, ".destination", ends);
  std::vector<link::Endpoint> sources;
  for (const ExchangedEnd& end : take(arguments.exchanges, ".source", arguments.timeout_s)) {
    sources.push_back(end.endpoint);
  }
  receiver.arm(sources);
  receiver.start();
  give(arguments.exchanges, ".armed", ends);
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(arguments.timeout_s * 1e9);
  while (!receiver.wait(0.01) && !there(arguments.exchanges, ".done") && now_ns() < until) {
  }
  receiver.finish();
  const bool decided = receiver.wait(arguments.timeout_s);
  // The source's fates are written then; and a source on a reliable connection waits for acknowledgements, which nobody
  // would send it (again) any more.
  if (!arguments.expect_fates.empty() || arguments.packets.transport == link::Transport::rc) {
    take(arguments.exchanges, ".done", arguments.timeout_s);
  }
  const receiver::Status status = receiver.status();
  const Books& books = status.buffers[0].books;
  const link::Counts& link = status.link;
  const bool ok = decided && as_expected(arguments, receiver, books);
  fmt::print(
      "{{\"role\": \"destination\", \"link\": \"{}\", \"expected\": {}, \"complete\": {}, \"partial\": {}, "
      "\"missing\": {}, \"accepted\": {}, \"vetoed\": {}, \"errored\": {}, \"written\": {}, \"balanced\": {}, "
      "\"packets\": {}, \"events\": {}, \"payload_bytes\": {}, \"duplicates\": {}, \"late\": {}, \"overruns\": {}, "
      "\"icrc_bad\": {}, \"refused_key\": {}, \"unknown_qp\": {}, \"sequence_drops\": {}, \"bad_records\": {}, "
      "\"crc_mismatches\": {}, \"memory\": \"{}\", \"registration\": \"{}\", \"first_incomplete\": \"{}\", "
      "\"elapsed_s\": {:.3f}, \"ok\": {}}}\n",
      arguments.link, books.expected, books.complete, books.partial, books.missing, books.accepted, books.vetoed,
      books.errored, books.written, books.balanced(), link["packets"], link["events"], link["payload_bytes"],
      link["duplicate_packets"], link["late_packets"], link["overrun_packets"], link["icrc_bad"], link["refused_key"],
      link["unknown_qp"], link["sequence_drops"], link["bad_records"], link["crc_mismatches"], status.memory,
      status.registration, status.first_incomplete, status.elapsed_s, ok);
  receiver.stop();
  return ok ? 0 : 1;
}

emulator::Config emulator_config(const Arguments& arguments, std::vector<ExchangedEnd> ends) {
  emulator::Config config;
  config.dataset = dataset::make_pattern({arguments.width, arguments.height, PixelType::u16},
                                         arguments.first_module + arguments.modules, kPattern);
  config.link = link_options(arguments);
  config.destination_link = arguments.peer;
  config.bind_address = arguments.bind;
  config.frames = arguments.frames;
  config.rate_hz = arguments.rate_hz;
  config.flow = arguments.flow;
  if (arguments.fault == Fault::bad_icrc) {
    config.faults.seed = arguments.seed;
    config.faults.corrupt = arguments.fault_rate;
  }
  for (std::uint32_t place = 0; place < ends.size(); ++place) {
    const std::uint32_t module = arguments.first_module + place;
    ExchangedEnd& end = ends[place];
    if (arguments.fault == Fault::wrong_key) end.endpoint.rkey ^= 1U;
    constexpr std::uint64_t kBehindEverything = 1ULL << 40;
    if (arguments.fault == Fault::short_buffer) end.placement.pixels_offset += kBehindEverything;
    const transfer::Dtp dtp{.id = module,
                            .module = module,
                            .region = {0, 0, arguments.width, arguments.height},
                            .slice = {},
                            .images = arguments.frames,
                            .placement = end.placement,
                            .run = kRun};
    config.dtps.push_back({dtp, end.endpoint});
  }
  return config;
}

void write_fates(const std::string& path, const emulator::Emulator& emulator, std::size_t dtps, std::uint64_t frames) {
  std::vector<std::vector<Completeness>> all;
  for (std::size_t dtp = 0; dtp < dtps; ++dtp) all.push_back(emulator.fates(dtp));
  std::string letters;
  for (std::uint64_t image = 0; image < frames; ++image) {
    std::size_t complete = 0;
    std::size_t missing = 0;
    for (const auto& fates : all) {
      complete += fates[image] == Completeness::complete ? 1U : 0U;
      missing += fates[image] == Completeness::missing ? 1U : 0U;
    }
    letters.push_back(complete == dtps ? 'c' : missing == dtps ? 'm' : 'p');
  }
  std::ofstream file(path);
  file << letters << '\n';
  file.close();
  if (!file) throw FileError(fmt::format("vm_peer: cannot write {}", path));
}

int source(const Arguments& arguments) {
  const auto ends = take(arguments.exchanges, ".destination", arguments.timeout_s);
  if (ends.size() != arguments.modules) {
    throw ConfigError(
        fmt::format("vm_peer: the destination has {} DTPs, --modules says {}", ends.size(), arguments.modules));
  }
  emulator::Emulator emulator(emulator_config(arguments, ends));
  std::vector<ExchangedEnd> own;
  for (const auto& endpoint : emulator.endpoints()) own.push_back({endpoint, {}});
  give(arguments.exchanges, ".source", own);
  take(arguments.exchanges, ".armed", arguments.timeout_s);
  emulator.start();
  const bool sent = emulator.wait(arguments.timeout_s);
  if (!arguments.fates.empty()) write_fates(arguments.fates, emulator, ends.size(), arguments.frames);
  give(arguments.exchanges, ".done", own);
  std::this_thread::sleep_for(std::chrono::milliseconds(arguments.delay_exit_ms));  // wait: as long as is asked
  std::uint64_t images = 0;
  link::Counts sum{};
  const emulator::Status status = emulator.status();
  for (const auto& dtp : status.dtps) {
    images += dtp.images_sent;
    for (const auto& [name, value] : dtp.link) sum.add(name, value);
  }
  const bool ok = sent && images == arguments.frames * arguments.modules;
  fmt::print(
      "{{\"role\": \"source\", \"link\": \"{}\", \"images_sent\": {}, \"messages\": {}, \"packets\": {}, "
      "\"payload_bytes\": {}, \"send_errors\": {}, \"naks\": {}, \"retransmitted\": {}, "
      "\"connection_errors\": {}, \"injected_corrupt\": {}, \"registration\": \"{}\", "
      "\"elapsed_s\": {:.3f}, \"ok\": {}}}\n",
      arguments.link, images, sum["messages"], sum["packets"], sum["payload_bytes"], sum["send_errors"], sum["naks"],
      sum["retransmitted_packets"], sum["connection_errors"], emulator.injected().corrupt, emulator.registration(),
      status.elapsed_s, ok);
  emulator.stop();
  return ok ? 0 : 1;
}

int run(int count, char** words) {
  const auto arguments = parse(count, words);
  if (!arguments) {
    fmt::print("{}", kUsage);
    return 0;
  }
  return arguments->role == Role::source ? source(*arguments) : destination(*arguments);
}

}  // namespace

}  // namespace rashpa::vm

int main(int count, char** words) {
  try {
    return rashpa::vm::run(count, words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
