// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The join of accumulations from several units for one window. Each unit runs a version of the step whose quantities
/// are parts: sums before any division. A unit of units asks for the join once, at set-up.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/contract/step.hpp"

struct CUstream_st;

namespace rashpa::kernel {

/// The way in which two elements of a part are combined.
enum class Combined : std::uint8_t { added, largest };

/// One of the parts that the step's version for members makes in place of quantities.
struct PartArray {
  Quantity::Type type = Quantity::Type::f64;
  Combined combined = Combined::added;
};

namespace cuda {

/// The last step of a join on a device, after its parts were combined there, each array by its PartArray::combined.
class PartsWriter {
 public:
  virtual ~PartsWriter() = default;
  [[nodiscard]] virtual const std::vector<PartArray>& arrays() const noexcept = 0;
  /// Enqueues the writing of the step's own quantities into a stream of the device that holds the parts. `to` has host
  /// addresses that are valid on the device, too. Returns the first error, a cudaError_t; nothing waits.
  virtual int write(const AccumulatedArrays& parts, const AccumulatedArrays& to,
                    CUstream_st* stream) const noexcept = 0;
};

}  // namespace cuda

/// Joins the parts of one step for images of one shape. It owns its memory; one thread at a time, and no allocation
/// once it is made.
class Join {
 public:
  virtual ~Join() = default;
  /// Returns the step that members run in place of the original. It does the same for each image, but accumulates parts
  /// in place of quantities, in the same windows.
  [[nodiscard]] virtual StepOf part() const = 0;
  /// Joins parts in host memory and writes the step's own quantities. `parts` has an entry for each member with parts,
  /// in the order of members, in which reals are added.
  virtual void join(std::span<const AccumulatedArrays> parts, const AccumulatedArrays& to) noexcept = 0;
  /// Returns the writer of parts that stay on CUDA devices; null when they must come to the host.
  [[nodiscard]] virtual std::unique_ptr<const cuda::PartsWriter> on_cuda() const { return nullptr; }
};

/// A step that accumulates and that several units can share.
class Joinable {
 public:
  virtual ~Joinable() = default;
  /// Makes the join for images of that shape and pixel format, which the step accepts.
  [[nodiscard]] virtual std::unique_ptr<Join> join(const Shape& shape, PixelFormat in) const = 0;
};

}  // namespace rashpa::kernel
