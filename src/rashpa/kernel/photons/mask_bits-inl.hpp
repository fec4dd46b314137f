// SPDX-License-Identifier: Apache-2.0
/// Masks of vectors as integers. Included by the files that Highway compiles for each instruction set.
#if defined(RASHPA_KERNEL_MASK_BITS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef RASHPA_KERNEL_MASK_BITS_INL_
#undef RASHPA_KERNEL_MASK_BITS_INL_
#else
#define RASHPA_KERNEL_MASK_BITS_INL_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel {
namespace HWY_NAMESPACE {

/// Returns the lanes of a mask, at most 64, one bit each. It writes to separate bytes: with -fsanitize=thread, gcc 12
/// and 13 read wrong values after a write through a pointer to the number.
template <class D, class Mask>
HWY_INLINE std::uint64_t mask_bits(D d, Mask mask) {
  std::uint8_t bytes[8] = {};
  hwy::HWY_NAMESPACE::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel
HWY_AFTER_NAMESPACE();

#endif  // RASHPA_KERNEL_MASK_BITS_INL_
