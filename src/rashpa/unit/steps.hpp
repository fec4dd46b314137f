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

/// One step of a pipeline that has been checked, and how it is done.
struct PlannedStep {
  kernel::StepOf step;
  kernel::PixelFormat in{};   ///< the pixels that it sees
  kernel::PixelFormat out{};  ///< the pixels that those behind it see
  kernel::Shape in_shape{};   ///< of the pixels that it sees
  kernel::Shape out_shape{};  ///< of those that it makes, or leaves
  bool makes_pixels = false;
  bool makes_list = false;
  std::optional<kernel::CountTap> rides{};    ///< the pass that made the pixels has counted: no pass of its own
  bool marked = false;                        ///< that pass has left marks: its own pass reads those
  std::optional<std::int32_t> count_at{};     ///< it counts on its way, for a step behind it
  std::optional<std::int32_t> mark_at{};      ///< it leaves marks, for a step behind it
  std::size_t first_column = 0;               ///< of StackImage::scalars
  std::vector<VetoReason> reasons{};          ///< of its verdicts 1, 2, …
  std::optional<std::size_t> table{};         ///< which of StackImage::tables it makes
  std::optional<std::size_t> accumulation{};  ///< which of Stack::accumulated it makes
  std::optional<std::size_t> profile{};       ///< which of StackImage::profiles it makes
};

/// A pipeline that has been checked against a layout, in the form that units use; the same for all of them.
struct Steps {
  std::vector<PlannedStep> steps;
  std::size_t decided = 0;  ///< steps from this one on veto nothing
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;
  std::size_t learned = 0;  ///< steps before this one see dark images that are not kept; those are vetoed then
  kernel::Keeps keeps = kernel::Keeps::nothing;  ///< by any of the steps, or by windows
  bool marks = false;                            ///< a step leaves marks
  std::size_t last_maker = 0;                    ///< step that makes the pixels of the output; steps.size(): none does
  bool chunks_wanted = false;                    ///< a unit that can may give the output chunks in place of its pixels
  Output output{};

  /// Returns true when steps learn from the image and nothing else is wanted of it: it is vetoed behind the last of
  /// them.
  [[nodiscard]] bool only_learned(const StackImage& image) const noexcept {
    return learned > 0 && !keep_darks && (image.flags & FrameRecord::dark) != 0;
  }
  /// The set-up of the pass of step `number`.
  [[nodiscard]] kernel::Setup setup(std::size_t number, const Layout& layout, unsigned workers,
                                    std::uint32_t benches) const;
  /// The passes in words: "jungfrau, csr (by marks)".
  [[nodiscard]] std::string words() const;
  /// Names of the kernels from step `first` on and before `last`: "jungfrau, csr".
  [[nodiscard]] std::string kernels(std::size_t first, std::size_t last) const;
  /// The step of a device that reports nothing between the steps from `first` on and before `last`.
  [[nodiscard]] Busy busy(const StepWatch::Doing& doing, std::size_t first, std::size_t last) const;
};

/// Throws ConfigError when `with` cannot give its limits to step `number`: another kernel, or one that does not fit.
void check_adjusted(const Steps& steps, std::size_t number, const kernel::StepOf& with);

/// Throws ConfigError that says that the step has limits which do not change.
[[noreturn]] void throw_fixed(const kernel::Step& step);

/// The limits of `with` for step `number` in the form that passes on devices take. Throws as check_adjusted(), and
/// throw_fixed() where it has none.
kernel::LimitBytes adjusted_limits(const Steps& steps, std::size_t number, const kernel::StepOf& with,
                                   const Layout& layout);

/// Throws ConfigError that names the kernel and the remedy.
Steps steps_of(const Pipeline& pipeline, const Layout& layout);

/// Clears an image's results and says what can be said without looking at its pixels. False: it must be processed.
/// `stopping`: it is not, and becomes errored.
bool settle_without_work(const Steps& steps, bool stopping, StackImage& image) noexcept;

}  // namespace rashpa::unit
