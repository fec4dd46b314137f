// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/joint/joint.hpp"

#include <utility>

namespace rashpa::unit::cuda {

namespace {

/// Returns where the boxes of each meeting begin, and where all of them end.
std::vector<std::size_t> firsts_of(const std::vector<std::size_t>& bytes, std::size_t boxes) {
  std::vector<std::size_t> firsts{0};
  for (const std::size_t one : bytes) firsts.push_back(firsts.back() + boxes * one);
  return firsts;
}

std::vector<std::size_t> bytes_of(const std::vector<Meeting>& meetings, std::uint32_t stack) {
  std::vector<std::size_t> bytes;
  bytes.reserve(meetings.size());
  for (const Meeting& meeting : meetings) bytes.push_back(box_bytes(stack * (meeting.end - meeting.first)));
  return bytes;
}

}  // namespace

Joint::Joint(const Layout& whole, const Output& output, std::vector<Meeting> meetings, std::uint32_t members)
    : pinning_(whole.images, std::size_t{whole.stacks} * whole.stack * whole.image_stride),
      meetings_(std::move(meetings)),
      members_(members),
      box_bytes_(bytes_of(meetings_, whole.stack)),
      first_boxes_(firsts_of(box_bytes_, std::size_t{whole.stacks} * members)),
      image_bytes_(padded({output.width, output.height}) * pixel_bytes(output.pixel)),
      over_(sizeof(Word)),
      boxes_(first_boxes_.back()),
      images_(output.pixels && !output.delivered ? std::size_t{whole.stacks} * whole.stack * image_bytes_ : 0) {}

std::byte* Joint::boxes(std::size_t meeting, std::uint32_t slot) const noexcept {
  return boxes_.as<std::byte>() + first_boxes_[meeting] + std::size_t{slot} * members_ * box_bytes_[meeting];
}

void Joint::end() noexcept {
  auto none = static_cast<std::uint32_t>(Over::no);  // acq_rel: host and devices agree on the first reason
  std::atomic_ref(*over_word())
      .compare_exchange_strong(none, static_cast<std::uint32_t>(Over::ended), std::memory_order_acq_rel);
}

}  // namespace rashpa::unit::cuda
