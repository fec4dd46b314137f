// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/tracking/tracking_opencl.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/jungfrau/cells.hpp"

namespace rashpa::kernel::jungfrau {
extern const std::string_view tracking_cl;
}

namespace rashpa::kernel::jungfrau::opencl {

namespace {

constexpr std::size_t kStateBytes = 40;  // `struct Tracker` of tracking.cl
constexpr std::uint32_t kLookers = 32;   // groups that look at a part of the image each

}  // namespace

DeviceTracker::DeviceTracker(const Config& config, std::span<const Prepared> sets, const Setup& setup,
                             const memory::opencl::Device& device, const memory::opencl::Program& program)
    : by_cell_(!config.cells.empty()),
      inverse_(1.0F / static_cast<float>(config.tracking.images)),
      square_limit_(static_cast<float>(config.tracking.sigma) * static_cast<float>(config.tracking.sigma)),
      where_empty_(config.tracking.from == Tracking::From::every ? 2
                   : config.tracking.where_empty()               ? 1
                                                                 : 0),
      learned_only_(setup.only_learned ? 1 : 0),
      between_looks_(static_cast<cl_uint>(images_between_looks(config.tracking))),
      pixels_(static_cast<cl_uint>(sets.front().pixels())),
      group_(device.group()),
      begin_(program, "begin_tracking"),
      look_(program, "look"),
      padded_(static_cast<cl_uint>((sets.front().pixels() + kGroup - 1) / kGroup * kGroup)),
      followed_(device.memory(setup.stack, "followed images")),
      darks_(device, setup.benches, setup.stack, "dark images"),
      found_(device, setup.benches, 2 * sets.size() * sizeof(cl_float), "drift of pedestals") {
  std::vector<float> variances;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const AtStart known(config_of_set(config, set), sets[set]);
    variances.insert(variances.end(), known.variance.begin(), known.variance.end());
    sets_.push_back({.state = device.memory_of(std::vector<std::byte>(kStateBytes), "tracking of jungfrau"),
                     .bins = device.memory_of(std::vector<cl_uint>(kDriftBins), "drift of jungfrau"),
                     .start = device.memory_of(known.pedestal, "pedestals of the calibration"),
                     .inverse_sigma = device.memory_of(known.inverse_sigma, "RMS of the calibration")});
  }
  variances_ = device.memory_of(variances, "variances of jungfrau");
}

std::string_view DeviceTracker::source() noexcept { return tracking_cl; }

std::string DeviceTracker::macros() {
  return fmt::format("-D BINS={} -D BINS_PER_SIGMA={:.1f}f", kDriftBins, kBinsPerSigma);
}

cl_int DeviceTracker::begin(const kernel::opencl::DeviceStack& stack, std::uint32_t bench, cl_mem set_of,
                            cl_command_queue queue) const noexcept {
  auto* const darks = darks_.host<std::uint8_t>(bench);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const bool known = stack.images != nullptr && stack.work != nullptr && stack.work[i] != 0;
    darks[i] = known && (stack.images[i].flags & FrameRecord::dark) != 0 ? 1 : 0;
  }
  cl_int code = darks_.send(bench, queue, stack.count);
  for (cl_uint set = 0; set < sets_.size() && code == CL_SUCCESS; ++set) {
    const auto run = [&](const auto&... more) {
      return begin_.run(queue, 1, 1, group_, sets_[set].state.get(), sets_[set].bins.get(), stack.books,
                        darks_.device(bench), stack.count, where_empty_, learned_only_, between_looks_, followed_.get(),
                        found_.device(bench), set, more...);
    };
    code = by_cell_ ? run(set_of) : run();
  }
  return code;
}

cl_int DeviceTracker::look(cl_mem pedestals, cl_command_queue queue) const noexcept {
  cl_int code = CL_SUCCESS;
  for (std::size_t set = 0; set < sets_.size() && code == CL_SUCCESS; ++set) {
    const cl_ulong at = cl_ulong{3} * padded_ * set;
    code = look_.run(queue, kLookers, 1, group_, sets_[set].state.get(), sets_[set].bins.get(), pedestals, at,
                     sets_[set].start.get(), sets_[set].inverse_sigma.get(), pixels_);
  }
  return code;
}

Drift DeviceTracker::drift(std::uint32_t bench, std::size_t set) const noexcept {
  const auto* const found = found_.host<cl_float>(bench) + 2 * set;
  const auto looked = static_cast<std::size_t>(found[0]);
  return looked == 0 ? Drift{} : drift_of(looked - 1, found[1]);
}

}  // namespace rashpa::kernel::jungfrau::opencl
