// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps of code from outside the program: a function that looks at one image at a time, and its checked declaration.
/// Plugins and Python functions are made from it.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::outside {

/// Describes where the function puts what it finds in an image. All of it is 0 before.
struct ImageFindings {
  Scalar* scalars = nullptr;  ///< its columns, in the order of the declaration; a value that does not fit: errored
  std::uint32_t verdict = 0;  ///< 0: kept; n: its n-th reason
  Scalar* rows = nullptr;     ///< of its table: room for `row_capacity` rows of all its columns
  std::uint32_t row_capacity = 0;
  std::uint32_t row_count = 0;  ///< how many it has; more than there is room for: the image is errored
  double* profile = nullptr;    ///< of its profile: room for all bins of all arrays, one array after the other
};

/// Code that was not compiled with the program. Made and used by the threads of a unit, one call at a time; a call has
/// no bound in time.
class ImageFunction {
 public:
  virtual ~ImageFunction() = default;
  /// `pixels`: row-major, without gaps. False: it failed, and `why` says why.
  virtual bool look(const std::byte* pixels, ImageFindings& found, std::string& why) noexcept = 0;
};

/// The functions of a unit, one for each thread.
using ImageFunctions = std::vector<std::unique_ptr<ImageFunction>>;
/// Makes the functions of all threads of a unit, Setup::workers. Their shared state belongs to that unit alone. Throws
/// ConfigError when shape or pixels do not suit them, ResourceError.
using MakeImageFunctions = std::function<ImageFunctions(const Setup& setup)>;
/// Collects the results of `make`, one for each thread.
template <class Make>
ImageFunctions for_all_threads(const Setup& setup, Make make) {
  ImageFunctions functions;
  for (unsigned worker = 0; worker < setup.workers; ++worker) functions.push_back(make());
  return functions;
}

/// Throws ConfigError that names the fault: names, types, bounds, counts, ports that such a step cannot have. Kernels
/// of the program are tested; code from outside is checked.
void check_outside(const Declaration& declaration);

/// A step on processor cores, each image by one thread. `table_rows`: room in its table, an image; `axes`: of its
/// profile, with their bins. Throws as check_outside(), and when axes are not as declared.
std::shared_ptr<const Step> image_step(Declaration declaration, std::uint32_t table_rows, MakeImageFunctions make,
                                       std::vector<Axis> axes = {});

}  // namespace rashpa::kernel::outside
