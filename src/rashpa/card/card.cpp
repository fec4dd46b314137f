// SPDX-License-Identifier: Apache-2.0
#include "rashpa/card/card.hpp"

#include <fmt/format.h>

#include <chrono>

#include "rashpa/core/error.hpp"

namespace rashpa::card {

namespace {

namespace status = registers::status;
namespace doorbells = registers::doorbells;

constexpr std::uint32_t kSenderMagic = 0x43505352;  // "RSPC" in memory
constexpr std::uint32_t kSenderVersion = 1;

struct CommandWords {
  std::uint32_t doorbell;
  std::uint32_t done;
  const char* name;
};

CommandWords words_of(Command command) noexcept {
  switch (command) {
    case Command::arm:
      return {doorbells::kArm, status::kArmDone, "Arm"};
    case Command::start:
      return {doorbells::kStart, status::kStartDone, "Start"};
    case Command::abort:
      break;
  }
  return {doorbells::kAbort, status::kAbortDone, "Abort"};
}

}  // namespace

std::string text_of(const CardError& error) {
  using registers::ErrorCode;
  const auto of_word = [&](const char* what) {
    return fmt::format("DTP {}: {} (word {} of its table) {}", error.dtp, registers::name_of_word(error.word),
                       error.word, what);
  };
  const auto of_descriptor = [&](const char* what) {
    return fmt::format("DTP {}: descriptor {} since Arm {}", error.dtp, error.line, what);
  };
  switch (error.code) {
    case ErrorCode::none:
      return "no error";
    case ErrorCode::word_zero:
      return of_word("must not be 0");
    case ErrorCode::word_unaligned:
      return of_word("must be a multiple of 64, as all of records and frames");
    case ErrorCode::mtu:
      return of_word("must be a path MTU of 256, 512, 1024, 2048 or 4096 bytes");
    case ErrorCode::no_dtp:
      return "no DTP is enabled";
    case ErrorCode::not_armed:
      return "Start without Arm";
    case ErrorCode::descriptor_empty:
      return of_descriptor("has 0 bytes");
    case ErrorCode::descriptor_outside:
      return of_descriptor("reaches beyond card memory");
    case ErrorCode::descriptor_dtp:
      return of_descriptor("is of a DTP that is not enabled");
    case ErrorCode::descriptor_long:
      return of_descriptor("is longer than 2^31 bytes, or an event that is not 128 bytes");
    case ErrorCode::memory:
      return fmt::format("DTP {}: card memory answered a read with an error", error.dtp);
    case ErrorCode::busy:
      return "Arm while a run is on";
  }
  return fmt::format("error {} of DTP {}, word {}, line {}, which this version does not know",
                     static_cast<std::uint32_t>(error.code), error.dtp, error.word, error.line);
}

Card::Card(const std::filesystem::path& directory, const std::string& device)
    : Nodes(directory, device, {"a sender", kSenderMagic, kSenderVersion}) {}

void Card::write_table(std::size_t dtp, const registers::DtpTable& table) {
  if (dtp >= registers::dtp_table::kCount) {
    throw ConfigError(fmt::format("card: there is no DTP {} among the {} of the card; give a smaller number", dtp,
                                  registers::dtp_table::kCount));
  }
  std::uint32_t at = registers::dtp_table::at(dtp);
  for (const std::uint32_t word : registers::words_of(table)) {
    write32(at, word);
    at += sizeof word;
  }
}

registers::State Card::state() const noexcept { return static_cast<registers::State>(read32(status::kState)); }

std::optional<CardError> Card::error() const noexcept {
  const std::uint32_t word = read32(status::kError);
  const auto code = static_cast<registers::ErrorCode>(status::kErrorCode.get(word));
  if (code == registers::ErrorCode::none) return std::nullopt;
  return CardError{.code = code,
                   .dtp = status::kErrorDtp.get(word),
                   .word = status::kErrorWord.get(word),
                   .line = read32(status::kErrorLine)};
}

std::uint32_t Card::ring(Command command) noexcept {
  const CommandWords words = words_of(command);
  const std::uint32_t count = read32(words.doorbell) + 1;
  write32(words.doorbell, count);
  return count;
}

bool Card::command_done(Command command, std::uint32_t count) const noexcept {
  return read32(words_of(command).done) == count;
}

void Card::carry_out(Command command, std::uint32_t wait_us) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint32_t kLookUs = 1000;  // events may be late
  const auto until = Clock::now() + std::chrono::microseconds(wait_us);
  const char* const name = words_of(command).name;
  const std::uint32_t count = ring(command);
  while (!command_done(command, count)) {
    if (Clock::now() >= until) {
      throw StateError(
          fmt::format("card: {}: {} has not been carried out in {} ms, the card's state is {}; check that it runs",
                      path().string(), name, wait_us / 1000, read32(status::kState)));
    }
    wait(kLookUs);
  }
  if (command == Command::abort) return;
  if (const auto refused = error()) {
    throw StateError(
        fmt::format("card: {}: the card refuses {}: {}; correct the DTP that it names, and configure it again",
                    path().string(), name, text_of(*refused)));
  }
}

}  // namespace rashpa::card
