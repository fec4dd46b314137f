// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/unit/step_watch.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// One step of a checked pipeline, with the way in which it is done.
struct PlannedStep {
  kernel::StepOf step;
  kernel::PixelFormat in{};   ///< its input pixels
  kernel::PixelFormat out{};  ///< the input pixels of the next step
  kernel::Shape in_shape{};   ///< shape of its input
  kernel::Shape out_shape{};  ///< shape of its output; the same if it makes no pixels
  bool makes_pixels = false;
  bool makes_list = false;
  /// set when the pass that made the pixels has counted, so that the step needs no pass of its own
  std::optional<kernel::CountTap> rides{};
  bool marked = false;                        ///< true: that pass has left marks, which the step's own pass reads
  std::optional<std::int32_t> count_at{};     ///< it also counts, for a later step
  std::optional<std::int32_t> mark_at{};      ///< it also leaves marks, for a later step
  std::size_t first_column = 0;               ///< in StackImage::scalars
  std::vector<VetoReason> reasons{};          ///< for its verdicts 1, 2, …
  std::optional<std::size_t> table{};         ///< number in StackImage::tables of the table that it makes
  std::optional<std::size_t> accumulation{};  ///< number in Stack::accumulated of the accumulation that it makes
  std::optional<std::size_t> profile{};       ///< number in StackImage::profiles of the profile that it makes
};

/// A pipeline that was checked against a layout, in the form that all units use.
struct Steps {
  std::vector<PlannedStep> steps;
  std::size_t decided = 0;  ///< steps from this one on veto no image
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;
  /// steps before this one process dark images that are not kept; these are vetoed after them
  std::size_t learned = 0;
  kernel::Keeps keeps = kernel::Keeps::nothing;  ///< state kept by any of the steps, or by windows
  bool marks = false;                            ///< true: a step leaves marks
  std::size_t last_maker = 0;                    ///< step that makes the pixels of the output; steps.size(): none does
  bool chunks_wanted = false;                    ///< true: a unit that can may output chunks in place of pixels
  Output output{};

  /// Returns true when the image is needed only for the state that steps learn from it; it is vetoed after the last of
  /// them.
  [[nodiscard]] bool only_learned(const StackImage& image) const noexcept {
    return learned > 0 && !keep_darks && (image.flags & FrameRecord::dark) != 0;
  }
  /// Returns the set-up of the pass of step `number`.
  [[nodiscard]] kernel::Setup setup(std::size_t number, const Layout& layout, unsigned workers,
                                    std::uint32_t benches) const;
  /// Returns a description of the passes: "jungfrau, csr (by marks)".
  [[nodiscard]] std::string words() const;
  /// Returns the names of the kernels of steps [first, last): "jungfrau, csr".
  [[nodiscard]] std::string kernels(std::size_t first, std::size_t last) const;
  /// Returns the running work of a device that reports no progress within steps [first, last).
  [[nodiscard]] Busy busy(const StepWatch::Doing& doing, std::size_t first, std::size_t last) const;
};

/// Throws ConfigError when `with` cannot replace the limits of step `number`: it is another kernel, or does not fit.
void check_adjusted(const Steps& steps, std::size_t number, const kernel::StepOf& with);

/// Throws ConfigError with the message that the limits of the step cannot change.
[[noreturn]] void throw_fixed(const kernel::Step& step);

/// Returns the limits of `with` for step `number` in the form of device passes. Throws as check_adjusted(), and as
/// throw_fixed() where the step has none.
kernel::LimitBytes adjusted_limits(const Steps& steps, std::size_t number, const kernel::StepOf& with,
                                   const Layout& layout);

/// Checks the pipeline and plans its steps. Throws ConfigError that names the kernel and the remedy.
Steps steps_of(const Pipeline& pipeline, const Layout& layout);

/// Clears an image's results and decides it without its pixels if possible. Returns false when it must be processed.
/// `stopping`: it becomes errored instead.
bool settle_without_work(const Steps& steps, bool stopping, StackImage& image) noexcept;

}  // namespace rashpa::unit
