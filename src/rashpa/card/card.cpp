// SPDX-License-Identifier: Apache-2.0
#include "rashpa/card/card.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::card {

static_assert(std::endian::native == std::endian::little, "registers are little endian");

namespace {

namespace status = registers::status;
namespace identity = registers::identity;
namespace doorbells = registers::doorbells;

constexpr std::uint32_t kMagic = 0x43505352;  // "RSPC" in memory
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kLongestCopy = std::size_t{1} << 30;  // of one system call

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

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int code) {
  throw FileError(fmt::format(
      "card: {}: {}: {}; is this the directory of a card (/dev with the xdma driver, or that of a simulated "
      "one), and may you use it?",
      path.string(), what, errno_text(code)));
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

Card::Node::Node(std::filesystem::path path, int flags)
    : path_(std::move(path)), file_(::open(path_.c_str(), flags | O_CLOEXEC)) {
  if (file_.get() < 0) fail(path_, "cannot be opened", errno);
}

Card::Page::Page(const Node& node) {
  struct stat about {};
  if (fstat(node.get(), &about) != 0) fail(node.path(), "cannot be asked for its size", errno);
  if (S_ISREG(about.st_mode) && std::cmp_less(about.st_size, registers::kPageBytes)) {
    throw FileError(fmt::format("card: {}: a page of registers has {} bytes, this file {}; was its card stopped?",
                                node.path().string(), registers::kPageBytes, about.st_size));
  }
  void* const at = mmap(nullptr, registers::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, node.get(), 0);
  if (at == MAP_FAILED) fail(node.path(), "cannot be mapped", errno);
  words_ = static_cast<volatile std::uint32_t*>(at);
}

Card::Page::~Page() { munmap(const_cast<std::uint32_t*>(words_), registers::kPageBytes); }

Card::Card(const std::filesystem::path& directory, const std::string& device)
    : user_(directory / (device + "_user"), O_RDWR),
      to_(directory / (device + "_h2c_0"), O_WRONLY),
      from_(directory / (device + "_c2h_0"), O_RDONLY),
      events_(directory / (device + "_events_0"), O_RDONLY | O_NONBLOCK),
      page_(user_) {
  const std::uint32_t magic = read32(identity::kMagic);
  const std::uint32_t version = read32(identity::kVersion);
  if (magic != kMagic) {
    throw ResourceError(fmt::format(
        "card: {}: its first word is {:#010x}, that of a card of ours {:#010x}; another design is loaded, or "
        "the card is not in the simulator's hands yet",
        user_.path().string(), magic, kMagic));
  }
  if (version != kVersion) {
    throw ResourceError(
        fmt::format("card: {}: its registers have version {}, this program knows {}; load the card again",
                    user_.path().string(), version, kVersion));
  }
  memory_bytes_ = read64(identity::kMemoryBytes);
}

Card::~Card() = default;

void Card::claim() {
  if (flock(user_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail(user_.path(), "cannot be locked", errno);
  throw StateError(
      fmt::format("card: {}: another program sends by this card; end it, or give another card", user_.path().string()));
}

std::uint32_t Card::read32(std::uint32_t address) const noexcept {
  const std::uint32_t value = page_.word(address);
  std::atomic_thread_fence(std::memory_order_acquire);
  return value;
}

void Card::write32(std::uint32_t address, std::uint32_t value) noexcept {
  std::atomic_thread_fence(std::memory_order_release);
  page_.word(address) = value;
}

std::uint64_t Card::read64(std::uint32_t address) const noexcept {
  std::uint32_t high = read32(address + 4);
  while (true) {
    const std::uint32_t low = read32(address);
    const std::uint32_t again = read32(address + 4);
    if (again == high) return std::uint64_t{high} << 32 | low;
    high = again;
  }
}

void Card::write_table(std::size_t dtp, const registers::DtpTable& table) {
  if (dtp >= registers::dtp_table::kCount) {
    throw ConfigError(fmt::format("card: DTP {} of {} that the card has", dtp, registers::dtp_table::kCount));
  }
  std::uint32_t at = registers::dtp_table::at(dtp);
  for (const std::uint32_t word : registers::words_of(table)) {
    write32(at, word);
    at += sizeof word;
  }
}

void Card::check_room(std::uint64_t address, std::size_t bytes) const {
  if (bytes > memory_bytes_ || address > memory_bytes_ - bytes) {
    throw ConfigError(
        fmt::format("card: {} bytes at {:#x} do not fit into its memory of {} bytes", bytes, address, memory_bytes_));
  }
}

void Card::to_card(std::uint64_t address, std::span<const std::byte> bytes) {
  check_room(address, bytes.size());
  while (!bytes.empty()) {
    const std::size_t most = std::min(bytes.size(), kLongestCopy);
    const ssize_t done = pwrite(to_.get(), bytes.data(), most, static_cast<off_t>(address));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail(to_.path(), "cannot be written to", done < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    address += static_cast<std::uint64_t>(done);
  }
}

void Card::from_card(std::uint64_t address, std::span<std::byte> bytes) {
  check_room(address, bytes.size());
  while (!bytes.empty()) {
    const std::size_t most = std::min(bytes.size(), kLongestCopy);
    const ssize_t done = pread(from_.get(), bytes.data(), most, static_cast<off_t>(address));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(from_.path(), "cannot be read", errno);
    if (done == 0) {
      throw FileError(
          fmt::format("card: {}: ends at {:#x}, inside the card's memory of {} bytes; was its card stopped?",
                      from_.path().string(), address, memory_bytes_));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    address += static_cast<std::uint64_t>(done);
  }
}

bool Card::wait(std::uint32_t wait_us) {
  pollfd event{events_.get(), POLLIN, 0};
  const timespec limit{wait_us / 1'000'000, static_cast<long>(wait_us % 1'000'000) * 1000};
  if (ppoll(&event, 1, &limit, nullptr) <= 0 || (event.revents & POLLIN) == 0) {
    // A FIFO that nobody writes says "hung up" at once: do not spin on it.
    if ((event.revents & (POLLHUP | POLLERR)) != 0) ppoll(nullptr, 0, &limit, nullptr);
    return false;
  }
  std::uint32_t count = 0;
  return read(events_.get(), &count, sizeof count) == sizeof count;
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
          fmt::format("card: {}: {} has not been carried out in {} ms, the card's state is {}; does it run?",
                      user_.path().string(), name, wait_us / 1000, read32(status::kState)));
    }
    wait(kLookUs);
  }
  if (command == Command::abort) return;
  if (const auto refused = error()) {
    throw StateError(fmt::format("card: {}: {} is refused: {}", user_.path().string(), name, text_of(*refused)));
  }
}

}  // namespace rashpa::card
