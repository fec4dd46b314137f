#pragma once
#include <optional>

#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// A pipeline that has been checked against a layout, in the form that units use; the same for all of them.
struct Steps {
  const kernel::jungfrau::Config* conversion = nullptr;  ///< of the pipeline that was given: valid as long as that
  bool converts = false;                                 ///< stays when the pipeline is gone
  std::optional<kernel::bragg_count::Config> veto;
  std::optional<kernel::csr::Config> compaction;
  kernel::jungfrau::Taps taps{};  ///< what the conversion counts and marks for the steps behind it
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;
  PixelType output = PixelType::u16;
};

/// Throws ConfigError that names the kernel and what would be right.
Steps steps_of(const Pipeline& pipeline, const Layout& layout);

/// Clears an image's results and says what can be said without looking at its pixels. False: it must be processed.
/// `stopping`: it is not, and becomes errored.
bool settle_without_work(const Steps& steps, bool stopping, StackImage& image) noexcept;

}  // namespace rashpa::unit
