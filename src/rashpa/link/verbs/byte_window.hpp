#pragma once
#include <algorithm>
#include <cstdint>

namespace rashpa::link::verbs {

/// Payload in flight towards a receiver that acknowledges bytes: a user-space one, whose socket buffer is finite. Bytes
/// of which nothing was heard for long are taken as lost, so that the window opens again.
class ByteWindow {
 public:
  /// `bytes` 0: always open.
  ByteWindow(std::uint64_t bytes, std::uint32_t timeout_us, std::int64_t now)
      : bytes_(bytes), timeout_ns_(std::int64_t{timeout_us} * 1000), last_news_ns_(now) {}

  /// True when `more` bytes may be sent, with `known` bytes acknowledged. One message is always allowed when nothing
  /// flies.
  [[nodiscard]] bool open(std::uint64_t more, std::uint64_t known) const noexcept {
    if (bytes_ == 0) return true;
    const std::uint64_t gone = known + written_off_;
    const std::uint64_t flying = sent_ > gone ? sent_ - gone : 0;
    return flying == 0 || flying + more <= bytes_;
  }
  void sent(std::uint64_t bytes) noexcept { sent_ += bytes; }
  /// Looks at the acknowledged bytes; true when the window was reopened without news.
  bool look(std::uint64_t known, std::int64_t now) noexcept {
    if (bytes_ == 0) return false;
    if (known != known_) {
      known_ = known;
      last_news_ns_ = now;
      // What was written off and came after all is not counted twice.
      written_off_ = known >= sent_ ? 0 : std::min(written_off_, sent_ - known);
      return false;
    }
    if (sent_ <= known + written_off_ || now - last_news_ns_ < timeout_ns_) return false;
    written_off_ = sent_ - known;
    last_news_ns_ = now;
    return true;
  }

 private:
  std::uint64_t bytes_;
  std::int64_t timeout_ns_;
  std::int64_t last_news_ns_;
  std::uint64_t sent_ = 0;
  std::uint64_t known_ = 0;
  std::uint64_t written_off_ = 0;
};

}  // namespace rashpa::link::verbs
