// SPDX-License-Identifier: Apache-2.0
#include "unit_directory.hpp"

#include <array>
#include <atomic>
#include <utility>

namespace rashpa::sim {

namespace {

namespace registers = card::unit_registers;
namespace doorbells = registers::doorbells;
namespace status = registers::status;

// Cycles between two looks at the doorbells; a look reads 15 words of six cycles.
constexpr std::uint64_t kBusyCycles = 1'000;
constexpr std::uint32_t kIdentityBytes = registers::identity::kMemoryBytes + 8;
constexpr std::uint32_t kCounterBytes = registers::counters::kWaitAddress + 8 - registers::counters::kCycles;
constexpr std::uint32_t kSettingsBytes = registers::settings::kListPages + 4 - registers::settings::kBlocks;

}  // namespace

UnitDirectory::UnitDirectory(std::filesystem::path directory, std::uint64_t memory_bytes)
    : files_(std::move(directory), memory_bytes) {}

/// Words that differ from what the model has, in the order of their addresses.
void UnitDirectory::carry(UnitModel& model, std::uint32_t from, std::uint32_t bytes) {
  for (std::uint32_t address = from; address < from + bytes; address += 4) {
    const std::uint32_t value = files_.load(address);
    if (value == carried_[address / 4] && !first_) continue;
    carried_[address / 4] = value;
    model.write(address, value);  // what the unit refuses has no effect, as on a board
  }
}

void UnitDirectory::publish(UnitModel& model, std::uint32_t from, std::uint32_t bytes) {
  for (std::uint32_t address = from; address < from + bytes; address += 4) {
    std::uint32_t value = 0;
    if (model.read(address, value)) files_.store(address, value);
  }
}

bool UnitDirectory::serve(UnitModel& model) {
  if (first_) {
    publish(model, 0, kIdentityBytes);
    const std::uint64_t bytes = memory().size();
    files_.store(registers::identity::kMemoryBytes, static_cast<std::uint32_t>(bytes));
    files_.store(registers::identity::kMemoryBytes + 4, static_cast<std::uint32_t>(bytes >> 32U));
  }
  // Doorbells are looked at first and rung last: what was written before them is there.
  const std::uint32_t posted = files_.load(doorbells::kStacksPosted);
  const std::uint32_t abort = files_.load(doorbells::kAbort);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool news =
      first_ || posted != carried_[doorbells::kStacksPosted / 4] || abort != carried_[doorbells::kAbort / 4];
  if (!news && !busy_) return false;
  if (news) {
    carry(model, registers::settings::kBlocks, kSettingsBytes);
    carry(model, registers::stacks::at(0), registers::stacks::at(registers::stacks::kCount) - registers::stacks::at(0));
    for (const auto& [address, value] :
         {std::pair{doorbells::kStacksPosted, posted}, std::pair{doorbells::kAbort, abort}}) {
      if (value == carried_[address / 4]) continue;
      carried_[address / 4] = value;
      model.write(address, value);
    }
  }
  first_ = false;
  model.step(kBusyCycles);
  // Counts of what is done are read first and shown last.
  std::uint32_t aborted = 0, done = 0, state = 0;
  model.read(status::kAbortDone, aborted);
  model.read(status::kStacksDone, done);
  publish(model, registers::counters::kCycles, kCounterBytes);
  // Reading takes cycles, in which the unit may fail: its error is shown with that state, not before and not behind.
  std::array<std::uint32_t, (status::kAbortDone - status::kError) / 4> error{};
  const auto read_error = [&] {
    for (std::uint32_t i = 0; i < error.size(); ++i) model.read(status::kError + 4 * i, error[i]);
  };
  read_error();
  model.read(status::kState, state);
  const bool failed = state == static_cast<std::uint32_t>(registers::State::failed);
  if (failed) read_error();
  // Last: what has happened until here is shown, or there is an interrupt to come back for.
  const bool interrupt = model.take_interrupt();
  // A unit that has failed does nothing until Abort.
  busy_ = news || interrupt || (state != static_cast<std::uint32_t>(registers::State::idle) && !failed);
  for (std::uint32_t i = 0; i < error.size(); ++i) files_.store(status::kError + 4 * i, error[i]);
  std::atomic_thread_fence(std::memory_order_release);
  files_.store(status::kState, state);
  files_.store(status::kAbortDone, aborted);
  files_.store(status::kStacksDone, done);
  if (interrupt) files_.wake();
  return busy_;
}

}  // namespace rashpa::sim
