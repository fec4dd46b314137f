// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A sink that compares every image with what the source had, and takes its time as a scenario says.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/dataset/dataset.hpp"
#include "rashpa/sink/sink.hpp"
#include "scenario.hpp"

namespace rashpa::simulation {

/// What all sinks of a run have found; the hand reads it when they are through.
struct Findings {
  std::vector<std::string> wrong;
  std::uint64_t images = 0, accepted = 0, kept = 0;
  std::vector<std::uint8_t> seen;     ///< by image: how often it came
  std::vector<std::uint64_t> frames;  ///< by image: the number of its frame, where it came
  bool closed = false;
  Books books{};
};

/// One DTP's part of the image: `lines` lines from line `first` of its module on, which is at `y` in the image.
struct Part {
  std::uint32_t id = 0, module = 0, first = 0, lines = 0, y = 0;
};

class CheckingSink final : public sink::Sink, public sink::RowKeeping {
 public:
  CheckingSink(const Scenario& scenario, const SinkHabit& habit, std::uint64_t number,
               std::shared_ptr<const dataset::Dataset> dataset, std::vector<Part> parts, Findings& found,
               bool any_order);
  sink::Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void skip(std::span<const sink::SkippedImage> images) override;
  void close(const Books& books) override;
  [[nodiscard]] sink::SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  void see(std::uint64_t index, std::uint64_t frame, Completeness completeness);
  [[nodiscard]] bool holds(const StackImage& image, const Part& part, std::uint32_t line) const;

  Slice slice_;
  std::uint32_t width_;
  SinkHabit habit_;
  Dice dice_;
  std::shared_ptr<const dataset::Dataset> dataset_;
  std::vector<Part> parts_;
  Findings& found_;
  bool any_order_;  // images are any of the slice's
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace rashpa::simulation
