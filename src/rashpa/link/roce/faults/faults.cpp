// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/faults/faults.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"

namespace rashpa::link::roce {

FaultDice::FaultDice(const FaultConfig& config, std::uint32_t dtp)
    : faults_(config.seed, Use::packet_fault, dtp), choices_(config.seed, Use::fault_choice, dtp), limit_{} {
  const double chances[] = {config.drop, config.duplicate, config.reorder, config.corrupt};
  double sum = 0;
  constexpr double kRange = 9223372036854775808.0;  // 2^63
  for (int i = 0; i < 4; ++i) {
    if (!(chances[i] >= 0 && chances[i] <= 1)) {
      throw ConfigError(fmt::format("roce: fault probability {} is not possible; give one of 0 … 1", chances[i]));
    }
    sum += chances[i];
    limit_[i] = static_cast<std::uint64_t>(sum * kRange);
  }
  if (sum > 1) throw ConfigError(fmt::format("roce: the fault probabilities add up to {}; give at most 1 in all", sum));
}

Fault FaultDice::draw() noexcept {
  constexpr Fault kFaults[] = {Fault::drop, Fault::duplicate, Fault::reorder, Fault::corrupt};
  choice_ = 0;
  const std::uint64_t value = faults_.word(packets_++) >> 1;
  for (int i = 0; i < 4; ++i) {
    if (value < limit_[i]) return kFaults[i];
  }
  return Fault::none;
}

std::uint32_t FaultDice::below(std::uint32_t bound) noexcept {
  constexpr unsigned kPacketShift = 16;  // far more choices than a packet has
  const std::uint64_t word = choices_.word(packets_ << kPacketShift | choice_++);
  return static_cast<std::uint32_t>((word >> 32) * bound >> 32);
}

FateLog::FateLog(std::uint64_t images, std::uint64_t packets_per_image)
    : fates_(images), lines_ok_(images), arrived_((packets_per_image + 63) / 64, 0) {}

// The rules of the UC responder (docs/explanations/software_roce.md): says whether the packet's payload is written.
bool FateLog::accept(std::uint32_t psn, bool first, bool last) noexcept {
  const bool in_sequence = open_ && psn == expected_psn_;
  if (!first && !in_sequence) {
    open_ = false;
    return false;
  }
  open_ = !last;
  expected_psn_ = (psn + 1) % (1U << 24);
  return true;
}

void FateLog::line_arrives(std::uint32_t psn, std::uint64_t ordinal, bool first, bool last) noexcept {
  if (!accept(psn, first, last) || ordinal / 64 >= arrived_.size()) return;
  const std::uint64_t bit = std::uint64_t{1} << (ordinal % 64);
  if ((arrived_[ordinal / 64] & bit) != 0) return;
  arrived_[ordinal / 64] |= bit;
  ++arrived_count_;
}

void FateLog::lines_end(std::uint64_t index, std::uint64_t packets) noexcept {
  if (index < images()) {
    for (; next_index_ <= index; ++next_index_) fates_.set(next_index_, Completeness::missing);
    lines_ok_[index] = arrived_count_ == packets && !spoilt_ ? 1 : 0;
  }
  spoilt_ = false;
  for (std::uint64_t word = 0; word * 64 < packets && word < arrived_.size(); ++word) arrived_[word] = 0;
  arrived_count_ = 0;
}

void FateLog::event_arrives(std::uint32_t psn, std::uint64_t index) noexcept {
  accept(psn, true, true);
  if (index >= images()) return;
  fates_.set(index, lines_ok_[index] != 0 ? Completeness::complete : Completeness::partial);
}

}  // namespace rashpa::link::roce
