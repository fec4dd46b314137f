// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The flag of a frame record that is of a part, and not of the last one of its image: `lines` and `payload_bytes` are
/// those up to its end, and the CRC32C is of its own lines. The first word of `user` of an image's record is the CRC32C
/// of its last part, where the image has several (schema/frame_record.md).
inline constexpr std::uint32_t kPartFlag = 1U << 4;

}  // namespace rashpa
