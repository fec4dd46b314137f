// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/simple/null_sink.hpp"

namespace rashpa::sink {

Put NullSink::put(const Stack& stack, std::span<ErrorReason> results) {
  std::uint64_t accepted = 0;
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision != Decision::accepted) continue;
    if (stack.intact(images[i])) {
      ++accepted;
    } else {
      results[i] = ErrorReason::overwritten;
    }
  }
  written_.fetch_add(accepted, std::memory_order_relaxed);
  return Put::done;
}

SinkStats NullSink::stats() const noexcept {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  return {.images_written = written, .bytes_written = written * image_bytes_, .bytes_stored = 0};
}

}  // namespace rashpa::sink
