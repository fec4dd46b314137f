// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How what several units have added up of one window becomes one: each runs a version of the step whose quantities are
/// parts, sums before anything is divided. Asked for once, at set-up, by a unit of units.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/contract/step.hpp"

struct CUstream_st;

namespace rashpa::kernel {

/// Describes how two elements of a part become one.
enum class Combined : std::uint8_t { added, largest };

/// One of the parts that the step's version for members has in place of quantities.
struct PartArray {
  Quantity::Type type = Quantity::Type::f64;
  Combined combined = Combined::added;
};

namespace cuda {

/// The end of a join on a device, when its parts have been combined there, each array by its PartArray::combined.
class PartsWriter {
 public:
  virtual ~PartsWriter() = default;
  [[nodiscard]] virtual const std::vector<PartArray>& arrays() const noexcept = 0;
  /// Puts the writing of the step's own quantities into the stream, which is of the device where the parts are.
  /// `to`: addresses of the host that are the device's, too. Returns the first error, a cudaError_t; nothing waits.
  virtual int write(const AccumulatedArrays& parts, const AccumulatedArrays& to,
                    CUstream_st* stream) const noexcept = 0;
};

}  // namespace cuda

/// Joins the parts of one step for images of one shape. Owns what it needs; one thread at a time, nothing allocates
/// once it is made.
class Join {
 public:
  virtual ~Join() = default;
  /// The step that members run in place of the original: the same of every image, but its accumulation has parts for
  /// quantities, in the same windows.
  [[nodiscard]] virtual StepOf part() const = 0;
  /// Parts in memory of the host, an entry for each member that has some, in the order of members: reals are added in
  /// that order. Writes the step's own quantities.
  virtual void join(std::span<const AccumulatedArrays> parts, const AccumulatedArrays& to) noexcept = 0;
  /// The writer of parts that stay on CUDA devices; null when they must come to the host.
  [[nodiscard]] virtual std::unique_ptr<const cuda::PartsWriter> on_cuda() const { return nullptr; }
};

/// A step that accumulates, and that several units can do together, is one of these, too.
class Joinable {
 public:
  virtual ~Joinable() = default;
  /// Makes the join for images of that shape and those pixels, which fit.
  [[nodiscard]] virtual std::unique_ptr<Join> join(const Shape& shape, PixelFormat in) const = 0;
};

}  // namespace rashpa::kernel
