// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which images of the run the messages of one sender have: series, channels, frames, and the places of pixels.
/// Without sockets.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/told.hpp"
#include "rashpa/link/stream2/messages/message.hpp"
#include "rashpa/link/stream2/port_counts.hpp"
#include "rashpa/link/stream2/stream_counters.hpp"

namespace rashpa::link::stream2 {

/// One DTP: the images of one channel. Any thread writes Told, only the link's thread the rest.
struct StreamDtp : Told {
  /// Creates the DTP. `late` is by how many images one may come out of order.
  StreamDtp(const ReceiverDtp& dtp, std::uint32_t list_index, std::uint32_t late, std::span<std::byte> region,
            StreamCounters& counters);

  /// Returns the index below which no more images will come, once those being unpacked are there.
  [[nodiscard]] std::uint64_t passed() const noexcept { return seen > late ? seen - late : 0; }

  ReceiverDtp dtp;
  std::uint32_t late;
  std::byte* pixels;  // byte 0 of the block in which offsets count
  Assembly assembly;
  std::vector<std::uint64_t> taken;  // by slot: 1 + the image that is there, or is being unpacked
  std::uint64_t seen = 0;            // images below the highest that has come
  std::uint64_t far = 0;             // the latest image far ahead …
  std::uint32_t far_images = 0;      // … and how many agree
  bool dead = false;                 // of a port that had sent nothing when its first image was given up
};

/// The pixels to unpack for image `index` of a DTP.
struct Part {
  StreamDtp* dtp = nullptr;
  std::uint64_t index = 0;
  Packed packed;
  bool good = false;  // set by the thread that unpacks
};

/// The parts of one message.
struct Parts {
  static constexpr std::size_t kMost = 2 * kMostChannels;
  std::array<Part, kMost> parts;
  std::size_t count = 0;
  std::uint64_t timestamp_ns = 0;
  std::uint32_t flags = 0;
  FrameRecord::Words words{};
  [[nodiscard]] std::span<Part> all() noexcept { return std::span(parts).first(count); }
};

/// Handles one sender's messages. Only the link's thread uses it.
class Intake {
 public:
  enum class Verdict : std::uint8_t {
    done,    ///< the message needs no more work
    held,    ///< not now: a slot is not free, or the series has not begun
    unpack,  ///< its parts must be unpacked
  };

  /// Creates the intake. `dtps` are those of this sender; `alone`: the sender has one DTP and one channel, as an
  /// emulator's does. `ports`: for a sender with one connection to each port, whose messages are of one module each.
  /// Throws ConfigError.
  Intake(std::vector<StreamDtp*> dtps, bool alone, StreamCounters& counters,
         std::unique_ptr<PortCounts> ports = nullptr);

  /// Takes a message of connection `connection`.
  Verdict offer(const Message& message, std::size_t connection, std::int64_t now, Parts& parts) noexcept;
  /// Returns true when the end of the series has come. With ports it becomes false again when an image shows that the
  /// end of a port was that of an earlier acquisition.
  [[nodiscard]] bool ended() const noexcept { return begun_ && (ports_ == nullptr ? ended_ : ports_->ended()); }
  /// Returns true when some port has sent no image since an end that came before the run's first image.
  [[nodiscard]] bool ended_before() const noexcept { return ports_ != nullptr && ports_->ended_before(); }

 private:
  [[nodiscard]] bool ours(const Message& message) noexcept;
  void begin(const Message& message) noexcept;
  Verdict end(const Message& message, std::size_t connection) noexcept;
  Verdict image(const Message& message, std::size_t connection, std::int64_t now, Parts& parts) noexcept;
  [[nodiscard]] Verdict take(const Message& message, std::uint64_t frame, Parts& parts) noexcept;
  void take_for(StreamDtp& dtp, std::uint64_t index, const Message& message, Parts& parts) noexcept;
  [[nodiscard]] const Packed* pixels_of(const Message& message, std::uint32_t module) const noexcept;
  [[nodiscard]] bool plausible(StreamDtp& dtp, std::uint64_t index) const noexcept;
  [[nodiscard]] bool fits(const StreamDtp& dtp, const Packed& packed) const noexcept;

  std::vector<StreamDtp*> dtps_;
  bool alone_;
  StreamCounters* counters_;
  std::unique_ptr<PortCounts> ports_;
  bool begun_ = false, ended_ = false;
  std::int64_t waiting_since_ns_ = 0;  // for a start, since the first image
  std::uint64_t series_ = 0;
  std::uint64_t series_began_ns_ = 0;  // TAI; 0: not said
  std::array<char, 64> unique_id_{};
  std::size_t unique_id_size_ = 0;
  std::array<std::array<char, 64>, kMostChannels> channels_{};  // by module
  std::array<std::size_t, kMostChannels> channel_sizes_{};
  std::size_t channels_count_ = 0;
};

}  // namespace rashpa::link::stream2
