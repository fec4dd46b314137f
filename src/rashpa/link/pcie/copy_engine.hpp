// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An engine for a device that copies beside the processor, in the order of requests. It gathers lines into rectangles,
/// one copy each, and numbers that the device returns count finished copies. The device's part is a CopyDevice
/// (cuda/copies.hpp is a GPU); all other logic is here, and is tested without a device.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rashpa/link/pcie/engine.hpp"

namespace rashpa::link::pcie {

/// Runs of equal length at equal distances, which one two-dimensional copy moves. It starts empty.
struct Rectangle {
  /// The longest stride that CUDA copies accept.
  static constexpr std::uint64_t kLongestStride = (1ULL << 31) - 1;

  const std::byte* source = nullptr;
  std::uint64_t destination = 0;  ///< offset in the receiver's memory
  std::uint32_t width = 0;        ///< bytes of a run
  std::uint32_t rows = 0;
  std::uint64_t source_stride = 0;
  std::uint64_t destination_stride = 0;  ///< both strides are at least the width, once there are two rows

  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{width} * rows; }
  /// Returns true when it is one run without gaps on both sides.
  [[nodiscard]] bool contiguous() const noexcept {
    return rows == 1 || (source_stride == width && destination_stride == width);
  }
  /// Adds `write` as the next run. Returns false, and changes nothing, when it does not continue the rectangle.
  bool take(const BufferDescriptor& write) noexcept;
  /// Adds writes once there are two rows, up to `most_bytes` in total; returns how many. Short lines come by the
  /// thousand, and each costs only this.
  std::size_t take_next(std::span<const BufferDescriptor> writes, std::uint64_t most_bytes) noexcept;
};

/// The state of an order to the device: it may wait for the next one, or not.
enum class Company : std::uint8_t { may_come, none };

/// A device that carries out requests in order, beside its caller. Images may wait for the next ones while a request is
/// in flight. The DTP's thread calls it; no call waits or allocates.
class CopyDevice {
 public:
  /// Waits until no request is in flight.
  virtual ~CopyDevice() = default;
  /// Enqueues a copy. Returns false when the device has failed for good.
  virtual bool copy(const Rectangle& rectangle) noexcept = 0;
  /// Enqueues the end of an image behind all earlier requests: the event's record, then its immediate into `lock`, then
  /// `number` as the value of reached(). Without an event it writes only `number`. It reads the event before it
  /// returns. Returns false when the device has failed for good.
  virtual bool mark(std::uint64_t number, const Event* event, std::atomic<std::uint32_t>* lock) noexcept = 0;
  /// Starts waiting requests if nothing is in flight, or if `company` is none. Returns false when the device has failed
  /// for good.
  virtual bool go_on(Company /*company*/) noexcept { return true; }
  /// Returns the latest number: all requests before it are done, and their effects are visible. Cheap.
  [[nodiscard]] virtual std::uint64_t reached() const noexcept = 0;
  /// Returns false when the device has failed and will return no more numbers. Less cheap than reached().
  virtual bool sound() noexcept = 0;
};

/// An engine that copies by a CopyDevice, such as a GPU. Copies begin when a rectangle is full, its image ends, or a
/// waiting thread asks. Copies in flight are bounded. When the device fails, copies in flight and all later ones are
/// lost.
class CopyEngine final : public Engine {
 public:
  static constexpr std::uint64_t kLargestCopy = 4U << 20;  ///< most bytes that one copy gathers
  static constexpr std::size_t kMostCopies = 256;          ///< most copies, and numbers, in flight
  /// a number after this many copies, so that long images complete piece by piece
  static constexpr std::size_t kCopiesPerNumber = 32;

  explicit CopyEngine(std::unique_ptr<CopyDevice> device) noexcept : device_(std::move(device)) {}

  std::size_t copy(std::span<const BufferDescriptor> writes) noexcept override;
  Progress take_done() noexcept override;
  bool announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept override;
  [[nodiscard]] std::size_t pending() const noexcept override { return pending_; }
  [[nodiscard]] bool makes_crc32c() const noexcept override { return false; }
  [[nodiscard]] std::optional<std::uint32_t> crc32c() const noexcept override { return std::nullopt; }
  void drop_image() noexcept override {}
  [[nodiscard]] bool failed() const noexcept override { return failed_; }

 private:
  /// The work that a returned number completes.
  struct Batch {
    std::size_t copies = 0;  // the number itself among them
    std::size_t writes = 0;
    std::size_t events = 0;
  };
  static constexpr std::size_t kBatches = 128;  // a power of two
  static constexpr std::int64_t kLookNs = 1'000'000;
  static constexpr std::uint32_t kLooksPerClock = 16;  // a look at the clock costs as much as some lines

  bool room(std::size_t copies) noexcept;
  bool flush() noexcept;
  void mark(const Event* event, std::atomic<std::uint32_t>* lock) noexcept;
  void hear() noexcept;
  void look_after() noexcept;
  void fail() noexcept;

  std::unique_ptr<CopyDevice> device_;
  Rectangle open_{};             // gathered, the device does not know of it
  std::size_t open_writes_ = 0;  // of it
  Batch unmarked_{};             // copies that the device has, behind the latest number
  std::array<Batch, kBatches> batches_{};
  std::uint64_t given_ = 0;  // numbers
  std::uint64_t heard_ = 0;
  std::size_t copies_ = 0;   // on their way
  std::size_t pending_ = 0;  // writes and events
  std::int64_t news_ns_ = 0;
  std::uint32_t looks_ = 0;
  bool asked_ = false;  // since anything was given
  bool failed_ = false;
  Progress progress_{};
};

}  // namespace rashpa::link::pcie
