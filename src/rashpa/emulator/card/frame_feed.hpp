// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/core/image/region.hpp"
#include "rashpa/transfer/pace.hpp"

namespace rashpa::emulator {

/// The two actions of a FrameFeed, called in the order of frames. After an exception the feed must not be used again.
class FrameOutlet {
 public:
  virtual ~FrameOutlet() = default;
  /// Writes frame `frame` of a module into card memory over a frame that nobody reads any more. `at_ns` is its time;
  /// none: the present time.
  virtual void put(std::size_t module, std::uint64_t frame, std::optional<std::int64_t> at_ns) = 0;
  /// Allows DTP `dtp` to read the frames before `frames`.
  virtual void make_available(std::size_t dtp, std::uint64_t frames) = 0;
};

struct FeedConfig {
  std::uint64_t frames = 0;  ///< frames of the run
  double rate_hz = 0;        ///< 0: all frames are due at once
  bool skips = false;        ///< a DTP gets its next frame when the one before is sent or skipped
  struct Dtp {
    std::size_t module = 0;
    Slice slice{};
    std::uint64_t images = 0;
  };
  std::vector<Dtp> dtps{};
  std::vector<std::uint64_t> rings{};  ///< by module: number of frames that fit into card memory
};

/// Decides which frames of a card's modules are written to card memory, and when each DTP may read them. Due times, the
/// progress of the DTPs and a pause limit it. It knows neither card nor dataset. One thread.
class FrameFeed {
 public:
  static constexpr std::uint64_t kAtOnce = 64;  ///< most frames that one feed() writes for a module

  explicit FrameFeed(FeedConfig config);

  /// Sets the time at which frame 0 is due.
  void start(std::int64_t start_ns) noexcept { start_ns_ = start_ns; }
  /// Records that the DTP has sent or skipped `images` images.
  void note_done(std::size_t dtp, std::uint64_t images) noexcept { dtps_[dtp].done = images; }
  /// Writes all due frames and makes them available. From frame `pause_from` on, frames behind the foremost one of any
  /// DTP are held, so that no image is sent in part. kNoHold holds none.
  void feed(std::int64_t now, std::uint64_t pause_from, FrameOutlet& out);

  /// Returns the time at which that frame is due, in a run with a rate.
  [[nodiscard]] std::int64_t due_ns(std::uint64_t frame) const noexcept;
  /// Returns how many frames of the run are due by `now`.
  [[nodiscard]] std::uint64_t frames_due(std::int64_t now) const noexcept;

 private:
  struct Dtp {
    FeedConfig::Dtp of{};
    std::uint64_t done = 0;
    std::uint64_t available = 0;
    [[nodiscard]] bool ended() const noexcept { return done >= of.images; }
    [[nodiscard]] std::uint64_t next_frame() const noexcept { return of.slice.frame(done); }
    [[nodiscard]] bool takes(std::uint64_t frame) const noexcept {
      return frame >= of.slice.phase && (frame - of.slice.phase) % of.slice.every == 0;
    }
  };
  struct Module {
    std::uint64_t ring = 0;
    std::uint64_t filled = 0;  // frames below are, or were, in memory
    std::vector<std::size_t> dtps{};
  };
  [[nodiscard]] std::uint64_t held(std::uint64_t pause_from) noexcept;
  void fill(std::size_t module, std::uint64_t due, FrameOutlet& out);

  std::uint64_t frames_;
  double rate_hz_;
  bool skips_;
  std::vector<Dtp> dtps_;
  std::vector<Module> modules_;
  std::int64_t start_ns_ = 0;
  std::uint64_t held_ = transfer::kNoHold;  // frames from here on are not given
};

}  // namespace rashpa::emulator
