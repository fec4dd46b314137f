// SPDX-License-Identifier: Apache-2.0
#include "card_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "rashpa/core/error.hpp"
#include "rashpa/core/file_descriptor.hpp"

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

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw FileError(fmt::format("card: {}: {}: {}", path.string(), what, errno_text(errno)));
}

std::byte* mapped(const fs::path& path, std::uint64_t bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0) fail(path, "cannot be opened");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) fail(path, "has no room");
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) fail(path, "cannot be mapped");
  return static_cast<std::byte*>(at);
}

void link_as(const fs::path& target, const fs::path& name) {
  std::error_code error;
  fs::remove(name, error);
  fs::create_hard_link(target, name, error);
  if (error) throw FileError(fmt::format("card: {}: cannot be linked: {}", name.string(), error.message()));
}

}  // namespace

CardDirectory::CardDirectory(fs::path directory, std::uint64_t memory_bytes) : directory_(std::move(directory)) {
  if (memory_bytes == 0 || memory_bytes % 4096 != 0) {
    throw ConfigError(fmt::format("card: memory of {} bytes; it must be a multiple of 4096", memory_bytes));
  }
  std::error_code error;
  fs::create_directories(directory_, error);
  lock_ = open((directory_ / "card.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) fail(directory_ / "card.lock", "cannot be opened");
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    throw StateError(fmt::format("card: {} belongs to a simulated card that is running; give another directory",
                                 directory_.string()));
  }
  const fs::path memory = directory_ / "xdma0_h2c_0";
  memory_ = {mapped(memory, memory_bytes), memory_bytes};
  link_as(memory, directory_ / "xdma0_c2h_0");
  link_as(memory, directory_ / "xdma0_bypass");
  const fs::path events = directory_ / "xdma0_events_0";
  fs::remove(events, error);
  if (mkfifo(events.c_str(), 0600) != 0) fail(events, "cannot be made");
  events_ = open(events.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (events_ < 0) fail(events, "cannot be opened");
  page_ = reinterpret_cast<volatile std::uint32_t*>(mapped(directory_ / "xdma0_user", registers::kPageBytes));
}

CardDirectory::~CardDirectory() {
  std::error_code error;
  for (const char* name : {"xdma0_user", "xdma0_h2c_0", "xdma0_c2h_0", "xdma0_bypass", "xdma0_events_0", "card.lock"}) {
    fs::remove(directory_ / name, error);
  }
  munmap(const_cast<std::uint32_t*>(page_), registers::kPageBytes);
  munmap(memory_.data(), memory_.size());
  close(events_);
  close(lock_);
}

std::uint32_t CardDirectory::load(std::uint32_t address) const noexcept { return page_[address / 4]; }
void CardDirectory::store(std::uint32_t address, std::uint32_t value) noexcept { page_[address / 4] = value; }

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
  if (memory_.size() > most) {
    throw ConfigError(
        fmt::format("card: memory of {} bytes; this card has addresses for {} bytes", memory_.size(), most));
  }
  store(identity::kMemoryBytes, static_cast<std::uint32_t>(memory_.size()));
  store(identity::kMemoryBytes + 4, static_cast<std::uint32_t>(memory_.size() >> 32U));
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
  if (interrupt) {
    const std::uint32_t one = 1;
    if (::write(events_, &one, sizeof one) < 0) errno = 0;  // full: who sleeps there is woken by the one before
  }
  return busy_;
}

}  // namespace rashpa::sim
