// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps by code from outside the program: a function that processes one image at a time, with a checked declaration.
/// Plugins and Python functions become steps in this way.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::outside {

/// The destinations of a function's findings in an image. All are 0 before the call.
struct ImageFindings {
  /// columns in the order of the declaration; a value that does not fit makes the image errored
  Scalar* scalars = nullptr;
  std::uint32_t verdict = 0;  ///< 0: kept; n: its n-th reason
  Scalar* rows = nullptr;     ///< rows of its table, with room for `row_capacity` rows of all its columns
  std::uint32_t row_capacity = 0;
  std::uint32_t row_count = 0;  ///< number of rows; more than there is room for makes the image errored
  double* profile = nullptr;    ///< its profile, with room for all bins of all arrays, one array after another
};

/// A function that was not compiled with the program. The threads of a unit make and call it, one call at a time; a
/// call may take any time.
class ImageFunction {
 public:
  virtual ~ImageFunction() = default;
  /// Processes an image. `pixels` are row-major, without gaps. Returns false when it failed, with the reason in `why`.
  virtual bool look(const std::byte* pixels, ImageFindings& found, std::string& why) noexcept = 0;
};

/// The functions of a unit, one for each thread.
using ImageFunctions = std::vector<std::unique_ptr<ImageFunction>>;
/// Makes the functions of all threads of a unit, Setup::workers. They share state only within that unit. Throws
/// ConfigError when shape or pixels do not suit them, and ResourceError.
using MakeImageFunctions = std::function<ImageFunctions(const Setup& setup)>;
/// Collects the results of `make`, one for each thread.
template <class Make>
ImageFunctions for_all_threads(const Setup& setup, Make make) {
  ImageFunctions functions;
  for (unsigned worker = 0; worker < setup.workers; ++worker) functions.push_back(make());
  return functions;
}

/// Throws ConfigError that names an error in names, types, bounds, counts or ports that such a step cannot have. Tests
/// check the program's own kernels, so only outside code needs this.
void check_outside(const Declaration& declaration);

/// Makes a step on processor cores, in which one thread processes an image. `table_rows` is the most table rows of an
/// image, `axes` are those of its profile with their bins. Throws as check_outside(), and when `axes` differ from the
/// declaration.
std::shared_ptr<const Step> image_step(Declaration declaration, std::uint32_t table_rows, MakeImageFunctions make,
                                       std::vector<Axis> axes = {});

}  // namespace rashpa::kernel::outside
