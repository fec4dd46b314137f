// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a buffer's sinks are told of its pipeline; the same with a receiver and without one. Set-up only.
#include <cstdint>
#include <memory>
#include <string>

#include "rashpa/receiver/config.hpp"

namespace rashpa::receiver {

/// Null: the detector declares no special values.
std::shared_ptr<sink::SpecialMask> special_mask_of(const BufferConfig& buffer);

/// `made`: what comes out of the buffer's unit.
Output output_of(const BufferConfig& buffer, const unit::Output& made, std::uint32_t run,
                 std::shared_ptr<const sink::SpecialMask> mask);

/// Why an image is errored whose list has no more room.
std::string full_list_text(const Output& output);

}  // namespace rashpa::receiver
