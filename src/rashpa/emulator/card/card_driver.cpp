// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/card_driver.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"

namespace rashpa::emulator {

namespace {

namespace registers = card::registers;

constexpr std::uint32_t kCommandUs = 1'000'000;            // a card's answer to a command
constexpr std::uint32_t kSimulatedCommandUs = 30'000'000;  // a simulated one's, on a machine with much else to do

/// Returns the whole of a count, of which the card shows the lower 32 bits.
std::uint64_t advanced(std::uint64_t known, std::uint32_t shown) noexcept {
  return known + static_cast<std::uint32_t>(shown - static_cast<std::uint32_t>(known));
}

}  // namespace

CardDriver::CardDriver(std::filesystem::path directory)
    : directory_(std::move(directory)), card_(directory_), simulated_(card_.read32(registers::identity::kClock) == 0) {
  card_.claim();
  abort_unless_idle();
}

void CardDriver::abort_unless_idle() {
  if (card_.state() != registers::State::idle) carry_out(card::Command::abort);
}

void CardDriver::abort_if_running() {
  if (card_.state() == registers::State::running) carry_out(card::Command::abort);
}

void CardDriver::clear() {
  dtps_.clear();
  card_.write32(registers::settings::kMode, 0);
  for (std::size_t place = 0; place < registers::dtp_table::kCount; ++place) {
    card_.write32(registers::doorbells::kGranted + static_cast<std::uint32_t>(4 * place), 0);
    make_available(place, 0);
    card_.write_table(place, {});
  }
}

void CardDriver::add_dtp(std::uint32_t id, const registers::DtpTable& table) {
  card_.write_table(dtps_.size(), table);
  dtps_.push_back({id, table});
}

/// Carries out `command` as Card::carry_out() does; errors name the card's DTPs by their ids, not by their places in
/// its table.
void CardDriver::carry_out(card::Command command) {
  try {
    card_.carry_out(command, simulated_ ? kSimulatedCommandUs : kCommandUs);
  } catch (const StateError&) {
    if (const std::string why = error(); !why.empty() && command != card::Command::abort) {
      throw StateError("emulator: " + why + "; correct the DTP that it names, and configure the card again");
    }
    throw;
  }
}

std::string CardDriver::error() const {
  auto error = card_.error();
  if (!error) return {};
  const std::uint32_t place = error->dtp;
  const bool ours = place < dtps_.size();
  if (ours) error->dtp = dtps_[place].id;
  std::string text = fmt::format("the card in {} says: {}", directory_.string(), text_of(*error));
  if (ours && error->code == registers::ErrorCode::memory) {
    // It does not name the line. Reads are ahead of packets: it is a line behind that one.
    namespace status = registers::dtp_status;
    const std::uint32_t at = status::at(place);
    text += fmt::format("; the last sent is {}",
                        link::fpga::last_sent(dtps_[place].table, card_.read64(at + status::kImagesSent),
                                              card_.read64(at + status::kPackets)));
  }
  return text;
}

std::optional<std::string> CardDriver::ended() const {
  const registers::State state = card_.state();
  if (state == registers::State::done) return std::string();
  if (state == registers::State::running || state == registers::State::aborting) return std::nullopt;
  if (std::string why = error(); !why.empty()) return why;
  return fmt::format("the card in {} has ended its run in state {}: it was reset, or its driver is another one's",
                     directory_.string(), static_cast<std::uint32_t>(state));
}

CardDriver::Progress CardDriver::progress(std::size_t place, const Progress& known) const {
  namespace status = registers::dtp_status;
  return {.sent = advanced(known.sent, card_.read32(status::at(place) + status::kImagesSent)),
          .skipped = advanced(known.skipped, card_.read32(status::at(place) + status::kImagesSkipped))};
}

std::uint64_t CardDriver::packets(std::size_t place) const {
  return card_.read64(registers::dtp_status::at(place) + registers::dtp_status::kPackets);
}

std::uint64_t CardDriver::bytes(std::size_t place) const {
  return card_.read64(registers::dtp_status::at(place) + registers::dtp_status::kBytes);
}

std::uint32_t CardDriver::waiting() const { return card_.read32(registers::status::kDtpsWaiting); }

link::Counts CardDriver::counts() const {
  namespace counters = registers::counters;
  std::error_code code;
  if (!std::filesystem::exists(directory_ / "xdma0_user", code)) {
    throw FileError(fmt::format("the card in {} is gone; start it again", directory_.string()));
  }
  link::Counts counts;
  counts.add("clock_khz", std::uint64_t{card_.read32(registers::identity::kClock)} * 1000 / 1024);
  counts.add("cycles", card_.read64(counters::kCycles));
  counts.add("wait_credit", card_.read64(counters::kWaitCredit));
  counts.add("wait_memory", card_.read64(counters::kWaitMemory));
  counts.add("wait_wire", card_.read64(counters::kWaitWire));
  counts.add("images", card_.read64(counters::kImages));
  counts.add("lines", card_.read64(counters::kLines));
  counts.add("packets", card_.read64(counters::kPackets));
  counts.add("bytes", card_.read64(counters::kBytes));
  counts.add("credits", card_.read64(counters::kCredits));
  counts.add("cnps", card_.read64(counters::kCnps));
  counts.add("frames_ignored", card_.read64(counters::kFramesIgnored));
  counts.add("icrc_bad", card_.read64(counters::kIcrcBad));
  counts.add("frames_missed", card_.read64(counters::kFramesMissed));
  counts.add("faults", card_.read64(counters::kFaults));
  return counts;
}

void CardDriver::make_available(std::size_t place, std::uint64_t frames) {
  card_.write32(registers::doorbells::kFramesAvailable + static_cast<std::uint32_t>(4 * place),
                static_cast<std::uint32_t>(frames));
}

std::string CardDriver::description() const {
  const std::uint64_t khz = std::uint64_t{card_.read32(registers::identity::kClock)} * 1000 / 1024;
  return fmt::format("a {} with {} bytes of memory in {}",
                     simulated_ ? "simulated card" : fmt::format("card of {:.1f} MHz", static_cast<double>(khz) * 1e-3),
                     card_.memory_bytes(), directory_.string());
}

}  // namespace rashpa::emulator
