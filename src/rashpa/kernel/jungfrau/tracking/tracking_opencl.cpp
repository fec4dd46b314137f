// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/tracking/tracking_opencl.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa::kernel::jungfrau {
extern const std::string_view tracking_cl;
}

namespace rashpa::kernel::jungfrau::opencl {

namespace {

constexpr std::size_t kStateBytes = 40;  // `struct Tracker` of tracking.cl
constexpr std::uint32_t kLookers = 32;   // groups that look at a part of the image each

}  // namespace

DeviceTracker::DeviceTracker(const Config& config, const Prepared& calibration, const Setup& setup,
                             const memory::opencl::Device& device, const memory::opencl::Program& program)
    : inverse_(1.0F / static_cast<float>(config.tracking.images)),
      square_limit_(static_cast<float>(config.tracking.sigma) * static_cast<float>(config.tracking.sigma)),
      where_empty_(config.tracking.from == Tracking::From::every ? 2
                   : config.tracking.where_empty()               ? 1
                                                                 : 0),
      learned_only_(setup.only_learned ? 1 : 0),
      between_looks_(static_cast<cl_uint>(images_between_looks(config.tracking))),
      pixels_(static_cast<cl_uint>(calibration.pixels())),
      group_(device.group()),
      begin_(program, "begin_tracking"),
      look_(program, "look"),
      state_(device.memory_of(std::vector<std::byte>(kStateBytes), "tracking of jungfrau")),
      bins_(device.memory_of(std::vector<cl_uint>(kDriftBins), "drift of jungfrau")),
      followed_(device.memory(setup.stack, "followed images")),
      darks_(device, setup.benches, setup.stack, "dark images"),
      found_(device, setup.benches, 2 * sizeof(cl_float), "drift of pedestals") {
  const AtStart known(config, calibration);
  variances_ = device.memory_of(known.variance, "variances of jungfrau");
  start_ = device.memory_of(known.pedestal, "pedestals of the calibration");
  inverse_sigma_ = device.memory_of(known.inverse_sigma, "RMS of the calibration");
}

std::string_view DeviceTracker::source() noexcept { return tracking_cl; }

std::string DeviceTracker::macros() {
  return fmt::format("-D BINS={} -D BINS_PER_SIGMA={:.1f}f", kDriftBins, kBinsPerSigma);
}

cl_int DeviceTracker::begin(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                            cl_command_queue queue) const noexcept {
  auto* const darks = darks_.host<std::uint8_t>(bench);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const bool known = stack.images != nullptr && stack.work != nullptr && stack.work[i] != 0;
    darks[i] = known && (stack.images[i].flags & FrameRecord::dark) != 0 ? 1 : 0;
  }
  if (const cl_int code = darks_.send(bench, queue, stack.count); code != CL_SUCCESS) return code;
  return begin_.run(queue, 1, 1, group_, state_.get(), bins_.get(), stack.books, darks_.device(bench), stack.count,
                    where_empty_, learned_only_, between_looks_, followed_.get(), found_.device(bench));
}

cl_int DeviceTracker::look(cl_mem pedestals, cl_command_queue queue) const noexcept {
  return look_.run(queue, kLookers, 1, group_, state_.get(), bins_.get(), pedestals, start_.get(), inverse_sigma_.get(),
                   pixels_);
}

Drift DeviceTracker::drift(std::uint32_t bench) const noexcept {
  const auto* const found = found_.host<cl_float>(bench);
  const auto looked = static_cast<std::size_t>(found[0]);
  return looked == 0 ? Drift{} : drift_of(looked - 1, found[1]);
}

}  // namespace rashpa::kernel::jungfrau::opencl
