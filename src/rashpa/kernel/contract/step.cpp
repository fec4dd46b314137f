// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/step.hpp"

#include <fmt/format.h>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel {

Step::~Step() = default;

std::unique_ptr<cuda::DevicePass> Step::on_cuda(const Setup& /*setup*/) const { return nullptr; }

std::unique_ptr<opencl::DevicePass> Step::on_opencl(const Setup& /*setup*/,
                                                    const memory::opencl::Device& /*device*/) const {
  return nullptr;
}

void Step::fit_columns(std::span<const Column> before) const {
  if (const auto* one = able<const ColumnReading>(*this)) one->fit_columns(before);
}

std::unique_ptr<const Reshape> Step::reshape(const Shape& in) const {
  const auto* const one = able<const Reshaping>(*this);
  return one == nullptr ? nullptr : one->reshape(in);
}

bool Step::offers(Tap tap) const {
  const auto* const one = able<const Offering>(*this);
  return one == nullptr ? declaration().offers_tap(tap) : one->offers(tap);
}

std::optional<CountTap> Step::count_tap() const {
  const auto* const one = able<const Counting>(*this);
  return one == nullptr ? std::nullopt : one->count_tap();
}

std::optional<LimitBytes> Step::limits(const Setup& setup) const {
  const auto* const one = able<const Adjustable>(*this);
  if (one == nullptr) return {};
  return one->limits(setup);
}

std::shared_ptr<const Step> Step::with(const NamedValues& values) const {
  const auto* const one = able<const Adjustable>(*this);
  if (one == nullptr) {
    throw ConfigError(fmt::format("kernel {}: its limits are fixed from the start of a run on; start another run",
                                  declaration().name));
  }
  return one->with(values);
}

std::optional<std::int32_t> Step::mark_tap() const {
  const auto* const one = able<const Marking>(*this);
  return one == nullptr ? std::nullopt : one->mark_tap();
}

bool Step::learns_from_darks() const {
  const auto* const one = able<const Learning>(*this);
  return one != nullptr && one->learns_from_darks();
}

// The memory of code from outside is unknown.
Keeps Step::keeps() const {
  if (const auto* one = able<const Learning>(*this)) return one->keeps();
  return declaration().origin.empty() ? Keeps::nothing : Keeps::of_images;
}

std::size_t Step::list_capacity(const Shape& shape) const {
  const auto* const one = able<const Listing>(*this);
  return one == nullptr ? 0 : one->list_capacity(shape);
}

std::uint32_t Step::table_capacity() const {
  const auto* const one = able<const Tabling>(*this);
  return one == nullptr ? 0 : one->table_capacity();
}

std::vector<Axis> Step::axes() const {
  const auto* const one = able<const Profiling>(*this);
  return one == nullptr ? std::vector<Axis>() : one->axes();
}

std::optional<Accumulation> Step::accumulation(const Shape& shape, PixelFormat in) const {
  const auto* const one = able<const Accumulating>(*this);
  return one == nullptr ? std::nullopt : one->accumulation(shape, in);
}

std::optional<Strip> Step::strip(const Shape& whole, const Rows& rows) const {
  const auto* const one = able<const Splitting>(*this);
  return one == nullptr ? std::nullopt : one->strip(whole, rows);
}

bool Step::enqueued_each_time() const noexcept { return able<const EnqueuedEachTime>(*this) != nullptr; }

std::optional<FpgaTables> Step::on_fpga() const {
  const auto* const one = able<const InHardware>(*this);
  return one == nullptr ? std::nullopt : one->on_fpga();
}

}  // namespace rashpa::kernel
