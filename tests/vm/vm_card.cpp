// SPDX-License-Identifier: Apache-2.0
/// The source of an acquisition that a card plays by itself: its table is written, its frames lie in its memory, and
/// its adders make every descriptor. The other end is rashpa_vm_peer --role destination; files of the exchange are
/// those of vm_peer_usage.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/dataset/files/raw_dataset.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/wire/address.hpp"
#include "vm_peer_exchange.hpp"

namespace rashpa::vm {

namespace {

namespace registers = card::registers;

constexpr const char* kUsage = R"(rashpa_vm_card --card DIR --exchange PREFIX --bind ADDRESS [--name value …]

  --card DIR            the card's directory
  --exchange PREFIX     as rashpa_vm_peer has it
  --bind ADDRESS        where the card's packets come from, and credits go to
  --card-mac MAC --peer-mac MAC (02:00:00:00:00:02, …:01)   of the card, and of the destination
  --frames N (40) --modules N (2) --width N (256) --height N (32)    of the pattern that rashpa_vm_peer has, too
  --raw FILE[,FILE …]   recorded frames of one module instead: u16, --width x --height
  --pmtu 256|…|4096 (1024) --packetisation only|first_middle_last (only) --flow credits|paced (credits)
  --faults KIND:DTP:PACKET[:BIT],…   drop or flip; packets of a DTP are counted from 0, bits from the frame's first
  --abort-after N       rings Abort when so many images have left, all DTPs together
  --fates FILE          one letter per image, c, p or m: what faults and Abort left of it
  --timeout-s N (60)

Prints one line of JSON: images_sent, lines, packets, payload_bytes, credits, icrc_bad, faults, cycles, packets_an_image, ok.
Ends with 0 when the card has ended as it should, 1 when it has not, 2 on a wrong argument or an error (text on stderr).
)";

constexpr std::uint32_t kRun = 7;
constexpr std::uint64_t kPattern = 31;  // frames, as rashpa_vm_peer's

using Words = std::map<std::string, std::string>;

std::uint64_t number(const Words& words, const std::string& name) {
  const std::string& text = words.at(name);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) {
    throw ConfigError(fmt::format("vm_card: --{} {}: not a number that fits; see --help", name, text));
  }
  return value;
}

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, between);) parts.push_back(part);
  return parts;
}

Words parse(int count, char** given) {
  Words words = {{"card", ""},
                 {"exchange", ""},
                 {"bind", ""},
                 {"card-mac", "02:00:00:00:00:02"},
                 {"peer-mac", "02:00:00:00:00:01"},
                 {"frames", "40"},
                 {"modules", "2"},
                 {"width", "256"},
                 {"height", "32"},
                 {"raw", ""},
                 {"pmtu", "1024"},
                 {"packetisation", "only"},
                 {"flow", "credits"},
                 {"faults", ""},
                 {"abort-after", "0"},
                 {"fates", ""},
                 {"timeout-s", "60"}};
  for (int i = 1; i < count; i += 2) {
    const std::string word = given[i];
    const auto found = word.starts_with("--") ? words.find(word.substr(2)) : words.end();
    if (found == words.end() || i + 1 >= count) {
      throw ConfigError(fmt::format("vm_card: '{}': give pairs --name value; see --help", word));
    }
    found->second = given[i + 1];
  }
  for (const char* needed : {"card", "exchange", "bind"}) {
    if (words[needed].empty()) throw ConfigError(fmt::format("vm_card: --{} is needed; see --help", needed));
  }
  return words;
}

std::array<std::uint8_t, 6> mac_of(const Words& words, const std::string& name) {
  std::array<std::uint8_t, 6> mac{};
  const auto parts = parts_of(words.at(name), ':');
  for (std::size_t i = 0; i < mac.size() && parts.size() == mac.size(); ++i) {
    const auto [end, code] = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), mac[i], 16);
    if (code == std::errc{} && end == parts[i].data() + parts[i].size() && i + 1 == mac.size()) return mac;
  }
  throw ConfigError(fmt::format("vm_card: --{} {}: no MAC address", name, words.at(name)));
}

struct Fault {
  registers::FaultKind kind = registers::FaultKind::nothing;
  std::uint32_t dtp = 0;
  std::uint64_t packet = 0;
  std::uint32_t bit = 0;
};

std::vector<Fault> faults_of(const Words& words) {
  std::vector<Fault> faults;
  for (const std::string& text : parts_of(words.at("faults"), ',')) {
    const auto parts = parts_of(text, ':');
    const bool drop = parts.size() == 3 && parts[0] == "drop";
    if (!drop && !(parts.size() == 4 && parts[0] == "flip")) {
      throw ConfigError(fmt::format("vm_card: --faults {}: give drop:DTP:PACKET or flip:DTP:PACKET:BIT", text));
    }
    const auto part = [&](std::size_t i) { return number({{"faults", parts[i]}}, "faults"); };
    faults.push_back({.kind = drop ? registers::FaultKind::drop : registers::FaultKind::flip,
                      .dtp = static_cast<std::uint32_t>(part(1)),
                      .packet = part(2),
                      .bit = drop ? 0 : static_cast<std::uint32_t>(part(3))});
  }
  if (faults.size() > registers::faults::kCount) {
    throw ConfigError(fmt::format("vm_card: {} faults; a card has {}", faults.size(), registers::faults::kCount));
  }
  return faults;
}

/// A run on a card, whose DTPs are modules 0, 1 and so on.
class Source {
 public:
  Source(const Words& words, const std::vector<ExchangedEnd>& ends)
      : words_(words),
        card_(words.at("card")),
        frames_(number(words, "frames")),
        timeout_s_(static_cast<double>(number(words, "timeout-s"))),
        faults_(faults_of(words)) {
    const auto width = static_cast<std::uint32_t>(number(words, "width"));
    const auto height = static_cast<std::uint32_t>(number(words, "height"));
    const auto modules = static_cast<std::uint32_t>(ends.size());
    if (words.at("raw").empty()) {
      dataset_ = dataset::make_pattern({width, height, PixelType::u16}, modules, kPattern);
    } else {
      dataset_ = dataset::load_raw({parts_of(words.at("raw"), ',')}, {.shape = {width, height, PixelType::u16}});
    }
    if (dataset_->modules() != modules) {
      throw ConfigError(fmt::format("vm_card: {} modules for {} DTPs", dataset_->modules(), modules));
    }
    for (std::uint32_t dtp = 0; dtp < modules; ++dtp) prepare(dtp, ends[dtp]);
    for (std::uint32_t dtp = modules; dtp < registers::dtp_table::kCount; ++dtp) card_.write_table(dtp, {});
    card_.write32(registers::settings::kMode, 0);
    order_faults();
  }

  [[nodiscard]] const std::vector<ExchangedEnd>& ends() const noexcept { return ends_; }

  /// True when the card has ended as it was asked to.
  bool play() {
    const auto patience = static_cast<std::uint32_t>(timeout_s_ * 1e6);
    card_.carry_out(card::Command::arm, patience);
    for (std::uint32_t dtp = 0; dtp < ends_.size(); ++dtp) {
      card_.write32(registers::doorbells::kFramesAvailable + 4 * dtp, static_cast<std::uint32_t>(frames_));
    }
    card_.carry_out(card::Command::start, patience);
    const std::uint64_t last = number(words_, "abort-after");
    const std::int64_t until = now_ns() + static_cast<std::int64_t>(timeout_s_ * 1e9);
    while (card_.state() == registers::State::running && now_ns() < until) {
      if (last != 0 && card_.read64(registers::counters::kImages) >= last) {
        card_.carry_out(card::Command::abort, patience);
        return card_.state() == registers::State::idle;
      }
      card_.wait(1'000);
    }
    if (const auto error = card_.error()) fmt::print(stderr, "vm_card: {}\n", card::text_of(*error));
    return card_.state() == registers::State::done && last == 0;
  }

  /// What faults and Abort left of each image.
  [[nodiscard]] std::string fates() const {
    std::vector<std::string> all(ends_.size(), std::string(frames_, 'm'));
    for (std::uint32_t dtp = 0; dtp < ends_.size(); ++dtp) {
      const std::uint64_t sent = of_dtp(dtp, registers::dtp_status::kImagesSent);
      std::fill_n(all[dtp].begin(), std::min(sent, frames_), 'c');
    }
    for (const Fault& fault : faults_) {
      const std::uint64_t image = fault.packet / packets_an_image_;
      if (image >= frames_ || all[fault.dtp][image] == 'm') continue;
      all[fault.dtp][image] = (fault.packet + 1) % packets_an_image_ == 0 ? 'm' : 'p';  // the last is the event
    }
    std::string joined;
    for (std::uint64_t image = 0; image < frames_; ++image) {
      const auto is = [image](char letter) { return [=](const std::string& one) { return one[image] == letter; }; };
      joined.push_back(std::all_of(all.begin(), all.end(), is('c'))   ? 'c'
                       : std::all_of(all.begin(), all.end(), is('m')) ? 'm'
                                                                      : 'p');
    }
    return joined;
  }

  void print(bool ok) const {
    namespace counters = registers::counters;
    fmt::print(
        "{{\"role\": \"source\", \"link\": \"card\", \"images_sent\": {}, \"lines\": {}, \"packets\": {}, "
        "\"payload_bytes\": {}, \"credits\": {}, \"icrc_bad\": {}, \"faults\": {}, \"cycles\": {}, "
        "\"packets_an_image\": {}, \"ok\": {}}}\n",
        card_.read64(counters::kImages), card_.read64(counters::kLines), card_.read64(counters::kPackets),
        card_.read64(counters::kBytes), card_.read64(counters::kCredits), card_.read64(counters::kIcrcBad),
        card_.read64(counters::kFaults), card_.read64(counters::kCycles), packets_an_image_, ok);
  }

 private:
  void prepare(std::uint32_t dtp, const ExchangedEnd& to) {
    const dataset::ModuleShape shape = dataset_->shape();
    const link::fpga::FrameRing ring{
        .address = memory_,
        .stride = (link::fpga::FrameRing::kPixels + shape.frame_bytes() + 63) / 64 * 64,
        .frames = frames_,
        .pitch_bytes = shape.pitch_bytes(),
    };
    memory_ += ring.stride * ring.frames;
    std::vector<std::byte> frame(ring.stride);
    for (std::uint64_t n = 0; n < frames_; ++n) {
      const std::uint64_t stored = n % dataset_->frames();
      link::fpga::record_template(std::span<std::byte, FrameRecord::kBytes>(frame.data(), FrameRecord::kBytes), n,
                                  static_cast<std::uint64_t>(now_ns()), dataset_->flags(stored));
      std::copy_n(dataset_->frame(dtp, stored), shape.frame_bytes(),
                  frame.begin() + static_cast<std::ptrdiff_t>(link::fpga::FrameRing::kPixels));
      card_.to_card(ring.address + n * ring.stride, frame);
    }
    const auto pmtu = static_cast<std::uint32_t>(number(words_, "pmtu"));
    const bool only = words_.at("packetisation") == "only";
    registers::DtpTable table;
    set_transfer(table,
                 {.id = dtp,
                  .region = {0, 0, shape.width, shape.height},
                  .slice = {},
                  .images = frames_,
                  .placement = to.placement,
                  .run = kRun},
                 ring,
                 {.pmtu = pmtu,
                  .packetisation = only ? link::Packetisation::only : link::Packetisation::first_middle_last,
                  .largest_message = only ? pmtu : 1U << 20U});
    const wire::Address here(words_.at("bind"), 0), there(to.endpoint.address, to.endpoint.port);
    const link::fpga::CardPath path{.source_mac = mac_of(words_, "card-mac"),
                                    .destination_mac = mac_of(words_, "peer-mac"),
                                    .source_ip = here.ip(),
                                    .destination_ip = there.ip(),
                                    .ipv6 = here.v6(),
                                    .source_port = static_cast<std::uint16_t>(0xC000 + dtp),
                                    .qpn = to.endpoint.qpn,
                                    .rkey = to.endpoint.rkey,
                                    .first_psn = first_psn(dtp)};
    set_path(table, path);
    // Of this run alone: credits of the one before may still be on their way.
    table.credit_qpn = 2 + static_cast<std::uint32_t>(random_() % 0xFFFFFDU);
    table.credit_key = static_cast<std::uint32_t>(random_());
    table.credit_address = 16ULL * dtp;
    table.dtp_paced = words_.at("flow") == "paced";
    packets_an_image_ = packets_of(table);
    card_.write_table(dtp, table);
    card_.write32(registers::doorbells::kGranted + 4 * dtp, 0);
    card_.write32(registers::doorbells::kFramesAvailable + 4 * dtp, 0);
    ends_.push_back({{.address = words_.at("bind"),
                      .port = 4791,
                      .qpn = table.credit_qpn,
                      .rkey = table.credit_key,
                      .credit_offset = table.credit_address,
                      .psn = first_psn(dtp)},
                     {}});
  }

  void order_faults() {
    for (std::size_t place = 0; place < registers::faults::kCount; ++place) {
      const Fault fault = place < faults_.size() ? faults_[place] : Fault{};
      const std::uint32_t psn = (first_psn(fault.dtp) + static_cast<std::uint32_t>(fault.packet)) & 0xFFFFFFU;
      card_.write32(registers::faults::at(place) + registers::faults::kPacket,
                    registers::faults::kPacketPsn.put(psn) | registers::faults::kPacketDtp.put(fault.dtp));
      card_.write32(registers::faults::at(place) + registers::faults::kWhat,
                    registers::faults::kWhatKind.put(static_cast<std::uint32_t>(fault.kind)) |
                        registers::faults::kWhatBitNumber.put(fault.bit));
    }
  }

  /// The last ones, so that they wrap in every run.
  static std::uint32_t first_psn(std::uint32_t dtp) noexcept { return 0xFFFFF0U + dtp; }

  [[nodiscard]] std::uint64_t of_dtp(std::uint32_t dtp, std::uint32_t word) const {
    return card_.read64(registers::dtp_status::at(dtp) + word);
  }
  /// Of an image, the event included.
  static std::uint64_t packets_of(const registers::DtpTable& table) {
    const auto cut = [&](std::uint32_t bytes) { return (bytes + table.mtu_path_mtu - 1) / table.mtu_path_mtu; };
    const std::uint64_t pieces = (table.inner_count - 1ULL) * cut(table.piece_bytes);
    return (table.outer_count - 1ULL) * (pieces + cut(table.rest_bytes)) + pieces + cut(table.last_bytes) + 1;
  }

  const Words& words_;
  card::Card card_;
  std::uint64_t frames_;
  double timeout_s_;
  std::vector<Fault> faults_;
  std::unique_ptr<dataset::MemoryDataset> dataset_;
  std::uint64_t memory_ = 0;  // bytes of it that are used
  std::vector<ExchangedEnd> ends_;
  std::uint64_t packets_an_image_ = 0;  // of every DTP: their regions have one shape
  std::mt19937 random_{std::random_device{}()};
};

int run(int count, char** given) {
  if (count == 2 && std::string(given[1]) == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  const Words words = parse(count, given);
  const std::vector<std::string> exchange = {words.at("exchange")};
  const auto timeout_s = static_cast<double>(number(words, "timeout-s"));
  const auto ends = take(exchange, ".destination", timeout_s);
  if (ends.size() != number(words, "modules")) {
    throw ConfigError(
        fmt::format("vm_card: the destination has {} DTPs, --modules says {}", ends.size(), words.at("modules")));
  }
  Source source(words, ends);
  give(exchange, ".source", source.ends());
  take(exchange, ".armed", timeout_s);
  const bool ok = source.play();
  if (!words.at("fates").empty()) {
    std::ofstream file(words.at("fates"));
    file << source.fates() << '\n';
    file.close();
    if (!file) throw FileError(fmt::format("vm_card: cannot write {}", words.at("fates")));
  }
  give(exchange, ".done", source.ends());
  source.print(ok);
  return ok ? 0 : 1;
}

}  // namespace

}  // namespace rashpa::vm

int main(int count, char** given) {
  try {
    return rashpa::vm::run(count, given);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
