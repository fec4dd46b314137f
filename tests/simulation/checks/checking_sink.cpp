// SPDX-License-Identifier: Apache-2.0
#include "checks/checking_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "rashpa/core/frame/dealt.hpp"

namespace rashpa::simulation {

CheckingSink::CheckingSink(const Scenario& scenario, const SinkHabit& habit, std::uint64_t number,
                           std::shared_ptr<const dataset::Dataset> dataset, std::vector<Part> parts, Findings& found,
                           bool any_order)
    : slice_{scenario.every, scenario.phase},
      width_(scenario.width),
      habit_(habit),
      dice_(scenario.seed + number, "sink"),
      dataset_(std::move(dataset)),
      parts_(std::move(parts)),
      found_(found),
      any_order_(any_order) {}

void CheckingSink::see(std::uint64_t index, std::uint64_t frame, Completeness completeness) {
  if (index != next_) found_.wrong.push_back(fmt::format("a sink has image {} after image {}", index, next_));
  next_ = index + 1;
  if (!any_order_ && frame != slice_.frame(index)) {
    found_.wrong.push_back(
        fmt::format("image {} has frame number {} in a sink, not {}", index, frame, slice_.frame(index)));
  }
  if (completeness == Completeness::open) {
    found_.wrong.push_back(fmt::format("image {} is open in a sink", index));
  }
  if (found_.seen.size() <= index) found_.seen.resize(index + 1, 0);
  ++found_.seen[index];
  found_.frames.resize(found_.seen.size(), kUnknownFrame);
  found_.frames[index] = frame;
  ++found_.images;
}

// Whether a line of the image is as the source had it, or said to be lost.
bool CheckingSink::holds(const StackImage& image, const Part& part, std::uint32_t line) const {
  const auto runs = image.lost_runs();
  if (std::any_of(runs.begin(), runs.end(), [&](const LostRun& run) {
        return run.dtp == part.id && line >= run.first_line && line - run.first_line < run.lines;
      })) {
    return true;
  }
  const std::uint64_t pitch = std::uint64_t{width_} * 2;
  const std::byte* const had =
      dataset_->frame(part.module, image.frame_number % dataset_->frames()) + (part.first + line) * pitch;
  return std::memcmp(image.dense() + (part.y + line) * pitch, had, pitch) == 0;
}

sink::Put CheckingSink::put(const Stack& stack, std::span<ErrorReason> results) {
  const std::int64_t ns = dice_.between(0, habit_.put_ns) + (dice_.chance(habit_.lazy) ? habit_.lazy_ns : 0);
  if (ns > 0) {
    const timespec rest{ns / 1'000'000'000, ns % 1'000'000'000};
    ::nanosleep(&rest, nullptr);
  }
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    const StackImage& image = images[i];
    see(image.index, image.frame_number, image.completeness);
    if (image.decision != Decision::accepted) continue;
    ++found_.accepted;
    std::string wrong;
    for (const Part& part : parts_) {
      for (std::uint32_t line = 0; line < part.lines && wrong.empty(); ++line) {
        if (!holds(image, part, line)) wrong = fmt::format("line {} of DTP {}", line, part.id);
      }
    }
    if (image.completeness == Completeness::complete && image.lost_count != 0) wrong = "complete, and lines are lost:";
    if (!stack.intact(image)) {
      results[i] = ErrorReason::overwritten;
      continue;
    }
    if (!wrong.empty()) {
      found_.wrong.push_back(fmt::format("image {} (frame {}, {}): {} is not as the source had it", image.index,
                                         image.frame_number,
                                         image.completeness == Completeness::complete ? "complete" : "partial", wrong));
    }
    ++found_.kept;
    written_.fetch_add(1, std::memory_order_relaxed);
  }
  return sink::Put::done;
}

void CheckingSink::skip(std::span<const sink::SkippedImage> images) {
  for (const sink::SkippedImage& image : images) see(image.index, image.frame_number, image.completeness);
}

void CheckingSink::close(const Books& books) {
  found_.closed = true;
  found_.books = books;
}

sink::SinkStats CheckingSink::stats() const noexcept {
  const std::uint64_t images = written_.load(std::memory_order_relaxed);
  return {.images_written = images, .bytes_written = images, .bytes_stored = images};
}

}  // namespace rashpa::simulation
