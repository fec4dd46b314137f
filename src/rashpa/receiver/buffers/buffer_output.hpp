// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The description of a buffer's pipeline for its sinks, the same with a receiver and without one. Set-up only.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/receiver/config.hpp"

namespace rashpa::receiver {

/// Returns the mask of special values; null when the detector declares none.
std::shared_ptr<sink::SpecialMask> special_mask_of(const BufferConfig& buffer);

/// Returns the description. `made` is the output of the buffer's unit.
Output output_of(const BufferConfig& buffer, const unit::Output& made, std::uint32_t run,
                 std::shared_ptr<const sink::SpecialMask> mask);

/// Returns what the sinks need of accepted images: no pixels beside a list; none beside chunks where a sink stores
/// chunks and none reads pixels.
unit::Delivery delivery_of(const std::vector<SinkConfig>& sinks);

/// Returns the board on which the sinks of a buffer with `slots` slots share chunks; null when none makes chunks for
/// others.
std::shared_ptr<sink::ChunkBoard> chunk_board_of(const std::vector<SinkConfig>& sinks, const Output& output,
                                                 std::uint32_t slots);
/// Returns the description for one sink. A sink that may drop makes no chunks for others, since they would wait for
/// chunks that never come.
Output output_for(const SinkConfig& sink, const Output& output, std::shared_ptr<sink::ChunkBoard> chunks);

/// Returns the error text of images whose list is full.
std::string full_list_text(const Output& output);

}  // namespace rashpa::receiver
