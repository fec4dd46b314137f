#pragma once
/// The sink contract: where results go.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/books.hpp"
#include "rashpa/core/pixel_type.hpp"
#include "rashpa/core/stack.hpp"

namespace rashpa::sink {

struct SinkStats {
  std::uint64_t images_written = 0;  ///< accepted images that are where they should be and can be read, see the sink
  std::uint64_t bytes_in = 0;        ///< uncompressed bytes of written images
  std::uint64_t bytes_written = 0;   ///< bytes that went to storage
};

/// An image that put() has taken and that is not stored after all.
struct LostImage {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::string reason;
};

/// One thread calls put(), settle() and close(), in this order; stats() and error() from any thread. put() may block on
/// storage; the ring behind it takes the wait.
class Sink {
 public:
  virtual ~Sink() = default;
  /// The run begins: outputs take their names, and the places of older ones. Throws FileError. Idempotent; the first
  /// put() does it where nobody has.
  virtual void begin() {}
  /// Takes every image of the stack in order, so that its tables are complete; pixels of accepted images only. An image
  /// that cannot be written becomes Decision::errored (never an exception); the reason is in error(). So does one that
  /// was overwritten while it was read: Stack::intact() is asked after the last read.
  virtual void put(Stack& stack) = 0;
  /// After the last put(): brings to the disk what was stored, looks whether it is there, and says what is not, in
  /// order of images. It does not count as written any more.
  virtual std::vector<LostImage> settle() { return {}; }
  /// Completes the output: tables, links, end time. Throws FileError when that fails. Idempotent.
  virtual void close(const Books& books) = 0;
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
  /// The first error of this sink, empty when there was none. Any thread.
  [[nodiscard]] virtual std::string error() const = 0;
};

}  // namespace rashpa::sink
