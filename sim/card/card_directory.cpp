// SPDX-License-Identifier: Apache-2.0
#include "card_directory.hpp"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::sim {

namespace {

namespace fs = std::filesystem;
namespace registers = card::registers;

constexpr std::uint32_t kStatusEnd = registers::status::kDtpsWaiting + 4;
constexpr std::uint32_t kCounterBytes = registers::counters::kFaults + 8 - registers::counters::kImages;
constexpr std::uint32_t kIdentityBytes = registers::identity::kMemoryBytes + 8;
// Cycles between two looks at the doorbells. A look reads the status by AXI-Lite, 10 words and 5 a DTP of 6 cycles
// each: a twentieth of the time with one DTP, a fifth with all; and a grant waits no longer than that, a hundredth of a
// second.
constexpr std::uint64_t kBusyCycles = 2'000;
// The same where software waits for each descriptor, and looks cost less than waiting.
constexpr std::uint64_t kPushedCycles = 200;
// Between two readings of all counters, 172 words: a fiftieth of the time.
constexpr std::uint64_t kCounterCycles = 50'000;

}  // namespace

CardDirectory::CardDirectory(fs::path directory, std::uint64_t memory_bytes)
    : files_(std::move(directory), memory_bytes) {}

/// Words that differ from what the model has, in the order of their addresses.
void CardDirectory::carry(CardModel& model, std::uint32_t from, std::uint32_t bytes) {
  for (std::uint32_t address = from; address < from + bytes; address += 4) {
    const std::uint32_t value = load(address);
    if (value == carried_[address / 4] && !first_) continue;
    carried_[address / 4] = value;
    model.write(address, value);  // what the card refuses it says in its status
  }
}

void CardDirectory::publish(CardModel& model, std::uint32_t from, std::uint32_t bytes) {
  for (std::uint32_t address = from; address < from + bytes; address += 4) {
    std::uint32_t value = 0;
    if (model.read(address, value)) store(address, value);
  }
}

/// Of what is in the page: where packets go and come from.
registers::DtpTable CardDirectory::table(std::size_t dtp) const {
  namespace words = registers::dtp_table;
  const std::uint32_t at = words::at(dtp);
  registers::DtpTable table;
  for (std::uint32_t i = 0; i < 4; ++i) {
    table.ip_source[i] = load(at + words::kIpSource + 4 * i);
    table.ip_destination[i] = load(at + words::kIpDestination + 4 * i);
  }
  table.ports_source_port = words::kPortsSourcePort.get(load(at + words::kPorts));
  table.ports_destination_port = words::kPortsDestinationPort.get(load(at + words::kPorts));
  table.mtu_ipv6 = words::kMtuIpv6.get(load(at + words::kMtu)) != 0;
  table.dtp_enabled = words::kDtpEnabled.get(load(at + words::kDtp)) != 0;
  return table;
}

std::vector<registers::DtpTable> CardDirectory::enabled() const {
  std::vector<registers::DtpTable> tables;
  for (std::size_t dtp = 0; dtp < registers::dtp_table::kCount; ++dtp) {
    if (const auto words = table(dtp); words.dtp_enabled) tables.push_back(words);
  }
  return tables;
}

/// Card memory is what the directory has of it.
void CardDirectory::publish_identity(CardModel& model) {
  namespace identity = registers::identity;
  publish(model, 0, kIdentityBytes);
  const std::uint64_t most = load(identity::kMemoryBytes) | std::uint64_t{load(identity::kMemoryBytes + 4)} << 32U;
  if (memory().size() > most) {
    throw ConfigError(
        fmt::format("card: memory of {} bytes; this card has addresses for {} bytes", memory().size(), most));
  }
  store(identity::kMemoryBytes, static_cast<std::uint32_t>(memory().size()));
  store(identity::kMemoryBytes + 4, static_cast<std::uint32_t>(memory().size() >> 32U));
}

/// What software waits for in the middle of a run: how far each DTP is.
void CardDirectory::publish_images(CardModel& model) {
  namespace status = registers::dtp_status;
  for (std::size_t dtp = 0; dtp < status::kCount; ++dtp) {
    if (!table(dtp).dtp_enabled) continue;
    publish(model, status::at(dtp) + status::kImagesSent, status::kPackets);
    publish(model, status::at(dtp) + status::kGranted, 4);
  }
}

bool CardDirectory::serve(CardModel& model, const Armed& armed) {
  namespace doorbells = registers::doorbells;
  if (first_) publish_identity(model);
  // Doorbells are looked at first and rung last: what was written before them is there.
  std::array<std::uint32_t, (registers::kPageBytes - doorbells::kGranted) / 4> rung{};
  bool news = first_;  // its memories hold anything
  for (std::size_t i = 0; i < rung.size(); ++i) {
    const std::uint32_t address = doorbells::kGranted + 4 * static_cast<std::uint32_t>(i);
    rung[i] = load(address);
    news |= rung[i] != carried_[address / 4];
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!news && !busy_ && model.idle()) return false;
  if (news) {
    const std::size_t arm = (doorbells::kArm - doorbells::kGranted) / 4;
    if (armed && rung[arm] != carried_[doorbells::kArm / 4]) armed(enabled());
    carry(model, registers::settings::kMode, 4);
    carry(model, registers::faults::at(0), registers::faults::at(registers::faults::kCount) - registers::faults::at(0));
    carry(model, registers::descriptors::at(0),
          registers::descriptors::at(registers::descriptors::kCount) - registers::descriptors::at(0));
    carry(model, registers::dtp_table::at(0),
          registers::dtp_table::at(registers::dtp_table::kCount) - registers::dtp_table::at(0));
    for (std::size_t i = 0; i < rung.size(); ++i) {
      const std::uint32_t address = doorbells::kGranted + 4 * static_cast<std::uint32_t>(i);
      if (rung[i] == carried_[address / 4]) continue;
      carried_[address / 4] = rung[i];
      model.write(address, rung[i]);
    }
  }
  first_ = false;
  const bool pushed = registers::settings::kModePushed.get(load(registers::settings::kMode)) != 0;
  model.step(pushed ? kPushedCycles : kBusyCycles);
  // Reading takes cycles: what is shown last is read first, so that nothing is shown ahead of what it is about.
  std::array<std::uint32_t, (kStatusEnd - registers::status::kArmDone) / 4> done{};
  for (std::uint32_t i = 0; i < done.size(); ++i) model.read(registers::status::kArmDone + 4 * i, done[i]);
  const std::uint32_t before = load(registers::status::kState);
  std::uint32_t state = before;
  model.read(registers::status::kState, state);
  const bool interrupt = model.take_interrupt();
  busy_ = news || interrupt || state != before || state == static_cast<std::uint32_t>(registers::State::running) ||
          state == static_cast<std::uint32_t>(registers::State::checking) ||
          state == static_cast<std::uint32_t>(registers::State::aborting);
  // Counts first: who sees a run ended sees all of it.
  if (interrupt || !busy_ || model.cycles() - published_ > kCounterCycles) {
    publish(model, registers::counters::kImages, kCounterBytes);
    for (std::size_t dtp = 0; dtp < registers::dtp_status::kCount; ++dtp) {
      publish(model, registers::dtp_status::at(dtp), 4 * registers::dtp_status::kWords);
    }
    published_ = model.cycles();
  } else {
    publish_images(model);
  }
  std::atomic_thread_fence(std::memory_order_release);
  // What the state is about stands before it; counts of commands behind it.
  publish(model, registers::status::kError, registers::status::kArmDone - registers::status::kError);
  store(registers::status::kState, state);
  for (std::uint32_t i = 0; i < done.size(); ++i) store(registers::status::kArmDone + 4 * i, done[i]);
  if (interrupt) files_.wake();
  return busy_;
}

}  // namespace rashpa::sim
