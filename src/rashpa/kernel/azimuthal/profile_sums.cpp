// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/profile_sums.hpp"

#include <cmath>
#include <limits>

namespace rashpa::kernel::azimuthal {

std::vector<Quantity> ProfileSums::quantities() {
  using Type = Quantity::Type;
  return {{.name = "I", .type = Type::f64, .unit = "photons", .doc = "Mean over pixels and images, corrected"},
          {.name = "I_errors", .type = Type::f64, .unit = "photons", .doc = "Standard error of the mean"},
          {.name = "sum_signal", .type = Type::f64, .unit = "photons", .doc = "Sum of counts, dark subtracted"},
          {.name = "norm", .type = Type::f64, .doc = "Sum of what pixels are divided by"},
          {.name = "counted", .type = Type::u32, .unit = "images", .doc = "Images in which the bin has a pixel"}};
}

std::vector<Quantity> ProfileSums::parts() {
  using Type = Quantity::Type;
  return {{.name = "signal", .type = Type::f64},
          {.name = "norm", .type = Type::f64},
          {.name = "variance", .type = Type::f64},
          {.name = "counted", .type = Type::u32}};
}

void ProfileSums::add_parts(const AccumulatedArrays& parts) noexcept {
  const auto numbers = [&](std::size_t part) { return reinterpret_cast<const double*>(parts[part]); };
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    Bin& sum = bins_[bin];
    sum.signal += numbers(0)[bin];
    sum.norm += numbers(1)[bin];
    sum.variance += numbers(2)[bin];
    sum.images += reinterpret_cast<const std::uint32_t*>(parts[3])[bin];
  }
}

void ProfileSums::add(const double* profile) noexcept {
  const std::size_t bins = bins_.size();
  for (std::size_t bin = 0; bin < bins; ++bin) {
    if (std::isnan(profile[bin])) continue;
    const double norm = profile[3 * bins + bin], error = profile[bins + bin] * norm;
    Bin& sum = bins_[bin];
    sum.signal += profile[2 * bins + bin];
    sum.norm += norm;
    sum.variance += error * error;  // NaN without a model of errors
    sum.images += 1;
  }
}

void ProfileSums::conclude(const AccumulatedArrays& to, std::size_t first, std::size_t last) noexcept {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto numbers = [&](std::size_t quantity) { return reinterpret_cast<double*>(to[quantity]); };
  for (std::size_t bin = first; bin < last; ++bin) {
    const Bin& sum = bins_[bin];
    if (written_ == Written::parts) {
      numbers(0)[bin] = sum.signal;
      numbers(1)[bin] = sum.norm;
      numbers(2)[bin] = sum.variance;
      reinterpret_cast<std::uint32_t*>(to[3])[bin] = sum.images;
    } else {
      const bool there = sum.images != 0;
      numbers(0)[bin] = there ? sum.signal / sum.norm : kNone;
      numbers(1)[bin] = there ? std::sqrt(sum.variance) / sum.norm : kNone;
      numbers(2)[bin] = sum.signal;
      numbers(3)[bin] = sum.norm;
      reinterpret_cast<std::uint32_t*>(to[4])[bin] = sum.images;
    }
    bins_[bin] = {};
  }
}

}  // namespace rashpa::kernel::azimuthal
