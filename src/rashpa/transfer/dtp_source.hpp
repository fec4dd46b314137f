// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/image/orientation.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/numbers/random_words.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/transfer/dealer.hpp"
#include "rashpa/transfer/descriptor_generator.hpp"
#include "rashpa/transfer/pace.hpp"
#include "rashpa/transfer/trigger_gate.hpp"

namespace rashpa::transfer {

/// The frames of a DTP's module. The DTP's thread calls it; const, no allocation.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// Returns the first byte of frame number `frame` of the module, valid for the whole run.
  [[nodiscard]] virtual const std::byte* frame(std::uint64_t frame) const noexcept = 0;
  /// Returns the number of distinct frames; 0: unknown. Frame n has the bytes of frame n mod frames(), which do not
  /// change.
  [[nodiscard]] virtual std::uint64_t frames() const noexcept { return 0; }
  /// Returns the FrameRecord::Flag bits of that frame.
  [[nodiscard]] virtual std::uint32_t flags(std::uint64_t frame) const noexcept = 0;
};

/// The behaviour of a source without a granted slot.
enum class OnFull : std::uint8_t { pause, skip };

/// One data transfer process: one module, one region, one time slice, one destination.
struct Dtp {
  std::uint32_t id = 0;  ///< 0 … kLargestDtpId
  std::uint32_t module = 0;
  Region region{};  ///< in the turned frame of the module
  Slice slice{};
  std::uint64_t images = 0;
  Placement placement{};
  std::uint32_t run = 0;
  Orientation orientation{};
};

/// Faults of whole images, injected before the link, and seeded; the link injects those of packets.
struct ImageFaults {
  std::uint64_t seed = 0;
  double stall = 0;  ///< probability for each image that the DTP pauses
  std::uint32_t stall_us = 0;
  std::optional<std::uint64_t> dead_from{};  ///< first frame number that is no longer sent
};

struct DtpSourceConfig {
  Dtp dtp;
  std::uint64_t pitch_bytes = 0;  ///< distance between lines of the module's frame
  std::uint32_t pixel_bytes = 2;
  double rate_hz = 0;  ///< initial rate of the detector in frames per second; 0: as fast as flow control allows
  const Timetable* times = nullptr;  ///< due times of frames; null: the rate gives them
  OnFull on_full = OnFull::pause;
  ImageFaults faults{};
  int processor = -1;                 ///< processor of the DTP's thread; −1: any
  const TriggerGate* gate = nullptr;  ///< frames that triggers have released; null: all, at the rate from the start on
};

/// The counters of a DTP on the source side. Any thread may read them.
struct DtpSourceStats {
  std::uint64_t images_sent = 0;
  std::uint64_t part_events = 0;     ///< events sent for parts that are not the last of their image
  std::uint64_t images_skipped = 0;  ///< skipped because no credit came and on_full = skip
  std::uint64_t images_dead = 0;     ///< withheld by the fault "dead module"
  std::uint64_t stalls = 0;
  std::int64_t late_ns = 0;  ///< largest delay behind the planned rate
  link::Counts link{};
  /// Returns the images that were due: when the DTP has ended, the destination must know of all of them.
  [[nodiscard]] std::uint64_t images_due() const noexcept { return images_sent + images_skipped + images_dead; }
};

/// Plays one DTP: paces, waits for credits, makes descriptors while the previous batch is in flight, and sends the
/// event. It reports skipped images to the destination, which otherwise would wait for them and grant no more slots. It
/// does the same for sent images when no slot is granted for a second, since all of them may be lost. For dealt images
/// it repeats the report after two seconds, then after four, because a stopped receiver may have got them all. run() is
/// the DTP's thread; any thread may call the rest.
class DtpSource {
 public:
  /// Creates the source. `frames`, `sender` and `dealt` outlive it. For images that are dealt among receivers, `dealt`
  /// gives their frames, and the dealer keeps rate and credits. Throws ConfigError when the region does not match its
  /// placement.
  DtpSource(const DtpSourceConfig& config, const FrameSource& frames, link::Sender& sender,
            Dealer::Port* dealt = nullptr);

  /// Plays all images. Returns when done, or when stop is requested (within a few milliseconds, unless in a system
  /// call). `start_ns` (monotonic) and `start_tai_ns` are the time of frame 0, the same for all DTPs.
  void run(const std::stop_token& stop, std::int64_t start_ns, std::uint64_t start_tai_ns);
  /// Holds frames from number `frame` on that were not begun; kNoHold holds none. For dealt images the dealer holds
  /// frames, and images already dealt are sent.
  void hold(std::uint64_t frame) noexcept { hold_.store(frame); }
  /// Sets the pace from frame `pace.frame` on, which no DTP has begun; not before the frame of the last change.
  void set_pace(const Pace& pace) { paces_.change(pace); }
  /// Returns one more than the latest frame number that was begun. For a moment it may count a frame that is then held.
  /// Begun images are sent or skipped. After hold() it includes all images begun before.
  [[nodiscard]] std::uint64_t begun() const noexcept {
    const std::uint64_t images = begun_.load();
    return images == 0 ? 0 : config_.dtp.slice.frame(images - 1) + 1;
  }
  /// Ends the run after `frames` frames, at least begun(), triggered or not. Call it while the source is paused.
  void end_at(std::uint64_t frames) noexcept {
    ending_.store(true);
    limit_.store(std::min(config_.dtp.images, config_.dtp.slice.images(frames)));
  }
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  [[nodiscard]] DtpSourceStats stats() const;
  /// Returns the fate of any image: open (not sent), complete (passed to the link), missing (withheld: dead module or
  /// skipped).
  [[nodiscard]] Completeness sent(std::uint64_t index) const noexcept {
    if (dealt_ == nullptr) return sent_.get(index);
    return index < images_sent_.load(std::memory_order_acquire) ? Completeness::complete : Completeness::open;
  }
  [[nodiscard]] const Dtp& dtp() const noexcept { return config_.dtp; }

 private:
  enum class Wait : std::uint8_t { go, skip, stopped };
  Wait begin(const std::stop_token& stop, std::uint64_t index);
  Wait wait_until_due(const std::stop_token& stop, std::uint64_t index);
  Wait wait_for_credit(const std::stop_token& stop, std::uint64_t index);
  [[nodiscard]] bool held(std::uint64_t index) const noexcept { return config_.dtp.slice.frame(index) >= hold_.load(); }
  [[nodiscard]] bool allowed(std::uint64_t index) const noexcept;
  bool find_due(std::uint64_t frame);
  void run_dealt(const std::stop_token& stop);
  void stall(const std::stop_token& stop, std::uint64_t index);
  std::uint32_t crc_of(std::uint64_t frame, std::uint32_t part);
  std::optional<std::uint32_t> send_part(const std::stop_token& stop, std::uint64_t frame, std::uint32_t part);
  bool send_record(const std::stop_token& stop, FrameRecord& record, std::uint32_t part, std::uint32_t crc);
  bool send_image(const std::stop_token& stop, std::uint64_t index, std::uint64_t frame);
  void skip_image(std::uint64_t index);
  void tell_sent(std::uint64_t next) noexcept;
  void tell_quiet(std::uint64_t next, std::int64_t now) noexcept;
  void tell_skipped();
  bool post_all(const std::stop_token& stop, const link::BufferDescriptor* writes, std::size_t count);
  void drain(const std::stop_token& stop);
  void poll(std::uint32_t wait_us);
  [[nodiscard]] log::Where where(std::uint64_t index) const noexcept;

  DtpSourceConfig config_;
  const FrameSource& frames_;
  link::Sender& sender_;
  link::ImageAware* image_aware_;  // these three: further abilities of the sender; null: it lacks one
  const link::Answering* answering_;
  const link::Checksumming* checksumming_;
  Dealer::Port* dealt_;
  DescriptorGenerator generator_;
  std::vector<std::optional<std::uint32_t>> crcs_;  // of each part by different frame, where the link makes none
  CompletenessTable sent_;       // of images that are not dealt: those have no number that is known before
  std::uint32_t whole_crc_ = 0;  // of the parts sent so far of the image in hand
  std::int64_t start_ns_ = 0;
  std::uint64_t start_tai_ns_ = 0;
  Paces paces_;
  bool paced_ = false;       // the image in hand is due at some time
  std::int64_t due_ns_ = 0;  // … which is this
  std::uint64_t outstanding_ = 0;
  std::optional<std::uint64_t>
      untold_{};  // images up to it are not to be waited for, and the destination is to be told
  std::uint64_t skip_events_ = 0;
  std::uint64_t latest_frame_ = 0;  // that was sent
  std::uint64_t quiet_next_ = 0, quiet_granted_ = 0;
  std::int64_t quiet_since_ns_ = 0, quiet_ns_ = 0;  // neither of these has changed since then; the longest such time
  RandomWords stalls_of_;                           // by image
  log::Limiter starved_;                            // the state of credits
  log::Limiter skipping_;
  std::atomic<std::uint64_t> hold_{kNoHold};  // a frame
  std::atomic<std::uint64_t> begun_{0};       // images
  std::atomic<std::uint64_t> limit_;          // images
  std::atomic<bool> ending_{false};           // all up to limit_ are sent, without triggers
  std::atomic<bool> done_{false};  // release by the source's thread, acquire by its owner: counters are final
  std::atomic<std::uint64_t> images_sent_{0}, part_events_{0}, images_skipped_{0}, images_dead_{0}, stalls_{0};
  std::atomic<std::int64_t> late_ns_{0};
};

}  // namespace rashpa::transfer
