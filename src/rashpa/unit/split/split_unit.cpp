// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/split/split_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rashpa::unit {

namespace {

/// The unit's result for an image of which nothing is known yet.
void clear(StackImage& image) noexcept {
  image.decision = Decision::none;
  image.reason = VetoReason::none;
  image.error = ErrorReason::none;
  image.measured = false;
  image.scalars = {};
  image.pixels = nullptr;
  image.chunk = {};
  image.sparse = {};
  image.tables = {};
  image.profiles = {};
  image.failed_in = 0;
  if (image.refused) image.fail(ErrorReason::overwritten);
}

void become_errored(StackImage& image, std::uint8_t failed_in) noexcept {
  image.decision = Decision::errored;
  image.reason = VetoReason::none;
  image.pixels = nullptr;
  image.sparse = {};
  image.failed_in = failed_in;
}

/// Memory that holds `bytes` bytes for each entry of all lists.
memory::Buffer of_lists(const Output& output, const Layout& layout, std::size_t bytes) {
  const std::size_t all = output.list_capacity * layout.stack * layout.stacks * bytes;
  return all == 0 ? memory::Buffer() : memory::Buffer(all, memory::MemoryKind::huge);
}

}  // namespace

SplitUnit::SplitUnit(const Pipeline& pipeline, const Layout& whole, const std::vector<kernel::Rows>& strips,
                     Doorbell& done_bell, const Make& make)
    : output_(steps_of(pipeline, whole).output),
      stack_(whole.stack),
      indices_(of_lists(output_, whole, sizeof(std::uint32_t))),
      values_(of_lists(output_, whole, pixel_bytes(output_.pixel))),
      order_(whole.stacks) {
  for (std::size_t number = 0; number < pipeline.kernels.size(); ++number) {
    if (pipeline.kernels[number]->declaration().made(kernel::Port::Kind::list) == nullptr) continue;
    list_step_ = static_cast<std::uint8_t>(number + 1);
  }
  for (std::uint32_t number = 0; number < strips.size(); ++number) {
    const std::uint32_t pixels = strips[number].first * whole.width;
    Member member{
        .rows = strips[number], .first_byte = std::size_t{pixels} * pixel_bytes(whole.input), .first_index = pixels};
    member.stacks.resize(whole.stacks);
    for (Stack& stack : member.stacks) stack.images.resize(whole.stack);
    member.unit = make(number, done_bell);
    members_.push_back(std::move(member));
  }
}

SplitUnit::~SplitUnit() { stop(); }

void SplitUnit::submit(Stack* stack) noexcept {
  changes_.begin(stack->number);
  const bool stopped = stopped_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < stack->count; ++i) {
    StackImage& image = stack->images[i];
    clear(image);
    const bool arrived = image.completeness == Completeness::complete || image.completeness == Completeness::partial;
    // A stack that is submitted behind the end does not come back.
    if (stopped && arrived) image.decision = Decision::errored;
  }
  // First the member that is waited for: a ring that comes at once finds it.
  order_.push_must(stack);
  for (Member& member : members_) {
    Stack& strip = member.stacks[stack->slot];
    strip.slot = stack->slot;
    strip.number = stack->number;
    strip.count = stack->count;
    for (std::uint32_t i = 0; i < stack->count; ++i) {
      const StackImage& image = stack->images[i];
      StackImage& seen = strip.images[i];
      seen.index = image.index;
      seen.frame_number = image.frame_number;
      seen.timestamp_ns = image.timestamp_ns;
      seen.flags = image.flags;
      seen.completeness = image.completeness;
      seen.refused = image.refused;
      seen.raw = image.raw == nullptr ? nullptr : image.raw + member.first_byte;
    }
    member.unit->submit(&strip);
  }
}

/// Each member cuts the step, and has the bounds of whole images.
ReadyLimits SplitUnit::ready(std::size_t step, const kernel::StepOf& with) {
  std::vector<ReadyLimits> all;
  for (const Member& member : members_) all.push_back(unit::ready(*member.unit, step, with));
  return changes_.ready(std::move(all));
}

Stack* SplitUnit::take() noexcept {
  if (next_ == nullptr && !order_.try_pop(next_)) return nullptr;
  bool all = true;
  for (Member& member : members_) {
    if (!member.has_come) member.has_come = member.unit->take() != nullptr;
    all = all && member.has_come;
  }
  if (!all) return nullptr;
  for (Member& member : members_) member.has_come = false;
  join(*next_);
  Stack* const stack = next_;
  next_ = nullptr;
  return stack;
}

void SplitUnit::join(Stack& stack) noexcept {
  for (std::uint32_t i = 0; i < stack.count; ++i) join(stack.images[i], stack.slot, i);
  stack.accumulated = {};
  stack.decided_ns = 0;
  for (const Member& member : members_) {
    stack.decided_ns = std::max(stack.decided_ns, member.stacks[stack.slot].decided_ns);
  }
}

void SplitUnit::join(StackImage& image, std::uint32_t slot, std::uint32_t number) noexcept {
  const StackImage& first = members_.front().stacks[slot].images[number];
  image.decision = first.decision;
  image.reason = first.reason;
  image.measured = first.measured;
  image.scalars = first.scalars;
  image.pixels = first.pixels;
  bool errored = false;
  std::uint8_t failed_in = 0;
  for (const Member& member : members_) {
    const StackImage& strip = member.stacks[slot].images[number];
    // They decide by the same numbers; a member that decides otherwise has met a fault.
    errored = errored || strip.decision == Decision::errored || strip.decision != first.decision ||
              strip.reason != first.reason;
    failed_in = std::max(failed_in, strip.failed_in);
  }
  if (errored) {
    become_errored(image, failed_in);
  } else if (image.decision == Decision::accepted && output_.list_capacity != 0 && !join_lists(image, slot, number)) {
    become_errored(image, list_step_);
  }
}

/// Returns false when the entries of all strips are more than the image's list has room for.
bool SplitUnit::join_lists(StackImage& image, std::uint32_t slot, std::uint32_t number) noexcept {
  const std::size_t place = (std::size_t{slot} * stack_ + number) * output_.list_capacity;
  const std::size_t value_bytes = pixel_bytes(output_.pixel);
  auto* const index = reinterpret_cast<std::uint32_t*>(indices_.data()) + place;
  std::byte* const value = values_.data() + place * value_bytes;
  std::size_t entries = 0;
  for (const Member& member : members_) {
    const SparseView& list = member.stacks[slot].images[number].sparse;
    if (entries + list.count > output_.list_capacity) return false;
    for (std::uint32_t i = 0; i < list.count; ++i) index[entries + i] = list.index[i] + member.first_index;
    if (list.count != 0) std::memcpy(value + entries * value_bytes, list.value, list.count * value_bytes);
    entries += list.count;
  }
  image.sparse = {index, value, static_cast<std::uint32_t>(entries)};
  return true;
}

void SplitUnit::stop() noexcept {
  stopped_.store(true, std::memory_order_release);
  for (const Member& member : members_) {
    if (member.unit != nullptr) member.unit->stop();
  }
}

std::optional<Busy> SplitUnit::busy() const {
  std::optional<Busy> longest;
  for (const Member& member : members_) longest = longer(std::move(longest), member.unit->busy());
  return longest;
}

std::string SplitUnit::how() const {
  std::string words = fmt::format("each image on {} devices", members_.size());
  for (const Member& member : members_) {
    words += fmt::format("{} rows {} … {}, {}", &member == &members_.front() ? ":" : ";", member.rows.first,
                         member.rows.first + member.rows.count - 1, member.unit->how());
  }
  return words;
}

std::size_t SplitUnit::device_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Member& member : members_) bytes += device_bytes_of(*member.unit);
  return bytes;
}

std::string SplitUnit::error() const {
  for (const Member& member : members_) {
    if (std::string why = member.unit->error(); !why.empty()) return why + "; it has a part of every image";
  }
  return {};
}

std::string SplitUnit::failure(std::uint8_t failed_in) const {
  for (const Member& member : members_) {
    if (std::string why = member.unit->failure(failed_in); !why.empty()) return why;
  }
  return {};
}

std::string SplitUnit::notice() const {
  std::string said;
  for (const Member& member : members_) {
    const std::string one = notice_of(*member.unit);
    if (!one.empty()) said += fmt::format("{}{}", said.empty() ? "" : "; ", one);
  }
  return said;
}

}  // namespace rashpa::unit
