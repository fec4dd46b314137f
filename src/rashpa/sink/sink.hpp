#pragma once
/// The sink contract: where results go.
#include <cstdint>
#include <memory>
#include <string>

#include "rashpa/core/books.hpp"
#include "rashpa/core/pixel_type.hpp"
#include "rashpa/core/stack.hpp"

namespace rashpa::sink {

struct SinkStats {
  std::uint64_t images_written = 0;
  std::uint64_t bytes_in = 0;       ///< uncompressed bytes of written images
  std::uint64_t bytes_written = 0;  ///< bytes that went to storage
};

/// One thread calls put() and close(); stats() from any thread. put() may block on storage; the ring behind it takes
/// the wait.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Takes every image of the stack in order, so that its tables are complete; pixels of accepted images only. An image
  /// that cannot be written becomes Decision::errored (never an exception); the reason is in error().
  virtual void put(Stack& stack) = 0;
  /// Completes the output: tables, links, end time. Throws FileError when that fails. Idempotent.
  virtual void close(const Books& books) = 0;
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
  /// The first error of this sink, empty when there was none. Any thread.
  [[nodiscard]] virtual std::string error() const = 0;
};

}  // namespace rashpa::sink
