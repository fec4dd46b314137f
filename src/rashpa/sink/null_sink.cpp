#include "rashpa/sink/null_sink.hpp"

namespace rashpa::sink {

void NullSink::put(Stack& stack) {
  std::uint64_t accepted = 0;
  for (const StackImage& image : stack.view()) accepted += image.decision == Decision::accepted ? 1U : 0U;
  written_.fetch_add(accepted, std::memory_order_relaxed);
}

SinkStats NullSink::stats() const noexcept {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  return {.images_written = written, .bytes_in = written * image_bytes_, .bytes_written = 0};
}

}  // namespace rashpa::sink
