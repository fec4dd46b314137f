#include "rashpa/sink/null_sink.hpp"

namespace rashpa::sink {

void NullSink::put(Stack& stack) {
  std::uint64_t accepted = 0;
  for (StackImage& image : stack.view()) {
    if (image.decision != Decision::accepted) continue;
    if (stack.intact(image)) {
      ++accepted;
    } else {
      image.fail(ErrorReason::overwritten);
    }
  }
  written_.fetch_add(accepted, std::memory_order_relaxed);
}

SinkStats NullSink::stats() const noexcept {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  return {.images_written = written, .bytes_in = written * image_bytes_, .bytes_written = 0};
}

}  // namespace rashpa::sink
