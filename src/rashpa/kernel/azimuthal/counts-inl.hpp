// SPDX-License-Identifier: Apache-2.0
/// Vector code that finds the counts among a block's pixels. Included by the files that Highway compiles for each
/// instruction set.
#if defined(RASHPA_AZIMUTHAL_COUNTS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef RASHPA_AZIMUTHAL_COUNTS_INL_
#undef RASHPA_AZIMUTHAL_COUNTS_INL_
#else
#define RASHPA_AZIMUTHAL_COUNTS_INL_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/photons/mask_bits-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::azimuthal {
namespace HWY_NAMESPACE {

using kernel::HWY_NAMESPACE::mask_bits;

/// Returns a word with a bit for each pixel of a block that is a count, `least` to `most`.
template <typename T>
std::uint64_t counts_of(const T* HWY_RESTRICT pixels, T least, T most) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<T, Prepared::kBlock> d;
  const auto low = hn::Set(d, least), high = hn::Set(d, most);
  std::uint64_t counts = 0;
  for (std::size_t i = 0; i < Prepared::kBlock; i += hn::Lanes(d)) {
    const auto values = hn::LoadU(d, pixels + i);
    counts |= mask_bits(d, hn::Eq(hn::Min(hn::Max(values, low), high), values)) << i;
  }
  return counts;
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::azimuthal
HWY_AFTER_NAMESPACE();

#endif  // RASHPA_AZIMUTHAL_COUNTS_INL_
