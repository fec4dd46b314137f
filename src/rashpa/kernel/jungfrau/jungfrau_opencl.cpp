// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/jungfrau_opencl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/kernel/jungfrau/cells.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking_opencl.hpp"

namespace rashpa::kernel::jungfrau {
extern const std::string_view jungfrau_cl;
}

namespace rashpa::kernel::jungfrau::opencl {

namespace {

using memory::opencl::Device;
using memory::opencl::Memory;

constexpr std::uint32_t kTile = 2048;   // its calibration stays in a first-level cache over the stack
constexpr std::uint32_t kTogether = 8;  // pixels
constexpr std::size_t kCountsBytes = 4 * sizeof(cl_uint);

/// Pedestals and factors, pixel by pixel.
struct Tables {
  std::vector<float> pedestals;
  std::vector<float> factors;
};

/// The tables of all sets, one behind the other.
Tables tables_of(std::span<const Prepared> sets) {
  const std::size_t groups = (sets.front().pixels() + kGroup - 1) / kGroup;
  const std::size_t floats = sets.size() * 3 * groups * kGroup;
  Tables tables{std::vector<float>(floats), std::vector<float>(floats)};
  for (std::size_t plane = 0; plane < 3 * sets.size(); ++plane) {
    for (std::size_t group = 0; group < groups; ++group) {
      const float* const table = sets[plane / 3].table(static_cast<unsigned>(plane % 3), group);
      const std::size_t at = (plane * groups + group) * kGroup;
      for (std::size_t k = 0; k < kGroup; ++k) {
        const std::size_t entry = k % 2 * (kGroup / 2) + k / 2;
        tables.pedestals[at + k] = table[entry];
        tables.factors[at + k] = table[kGroup + entry];
      }
    }
  }
  return tables;
}

/// `struct Origin` of jungfrau.cl.
struct DeviceOrigin {
  cl_uint pixel = 0;
  cl_uint parts = 0;
};

std::vector<DeviceOrigin> device_origins(const Assembly* assembly) {
  std::vector<DeviceOrigin> origins;
  if (assembly == nullptr) return origins;
  for (const Origin& one : origins_of(*assembly)) {
    origins.push_back({one.pixel, static_cast<cl_uint>(one.across) | static_cast<cl_uint>(one.down) << 2U});
  }
  return origins;
}

std::vector<std::string_view> sources(bool tracks) {
  return tracks ? std::vector{DeviceTracker::source(), jungfrau_cl} : std::vector{jungfrau_cl};
}

class Pass final : public kernel::opencl::DevicePass {
 public:
  Pass(const Config& config, const Assembly* assembly, const Taps& taps, const Setup& setup, const Device& device)
      : Pass(config, prepared_sets(config), assembly, taps, setup, device) {}
  Pass(const Config& config, const std::vector<Prepared>& sets, const Assembly* assembly, const Taps& taps,
       const Setup& setup, const Device& device)
      : Pass(config, sets, sets.front(), assembly, taps, setup, device) {}
  Pass(const Config& config, std::span<const Prepared> sets, const Prepared& prepared, const Assembly* assembly,
       const Taps& taps, const Setup& setup, const Device& device)
      : cells_(config),
        taps_(taps),
        pixels_(static_cast<std::uint32_t>(prepared.pixels())),
        padded_(static_cast<std::uint32_t>((prepared.pixels() + kGroup - 1) / kGroup * kGroup)),
        tiles_(kernel::opencl::tiles_of(pixels_, kTile)),
        out_bytes_(prepared.output() == Output::kev ? sizeof(float) : sizeof(std::int16_t)),
        group_(device.group()),
        program_(kernel::opencl::build(
            device, "jungfrau", sources(config.tracking.from != Tracking::From::off),
            fmt::format(
                "-D TILE={} -D GAIN_0_LARGEST={} -D KEV={:d} -D COUNT={:d} -D MARK={:d} -D ASSEMBLE={:d} -D TRACK={:d} "
                "-D AT_ONCE={:d} -D CELLS={:d} -D NO_SET={} {}",
                kTile, kAduMask, prepared.output() == Output::kev, taps.count, taps.mark, assembly != nullptr,
                config.tracking.from != Tracking::From::off, config.tracking.at_once(), cells_.named(), Cells::kNoSet,
                DeviceTracker::macros()))),
        convert_(program_, "convert_tiles"),
        settle_(program_, "settle"),
        alarm_(config.tracking.alarm) {
    const Tables tables = tables_of(sets);
    pedestals_ = device.memory_of(tables.pedestals, "pedestals of jungfrau");
    factors_ = device.memory_of(tables.factors, "factors of jungfrau");
    if (assembly != nullptr) {
      assemble_.emplace(program_, "assemble");
      origins_ = device.memory_of(device_origins(assembly), "places of pixels");
      made_pixels_ = static_cast<cl_uint>(assembly->shape().pixels());
    }
    if (config.tracking.from != Tracking::From::off) tracker_.emplace(config, sets, setup, device, program_);
    if (cells_.named()) {
      refuse_.emplace(program_, "refuse_cells");
      sets_ = kernel::opencl::Fetched(device, setup.benches, setup.stack, "sets of storage cells");
    }
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      const std::size_t converted = assembly == nullptr ? 0 : std::size_t{setup.stack} * padded_ * out_bytes_;
      converted_.push_back(device.memory(converted, "converted images"));
      counts_.push_back(device.memory(std::size_t{setup.stack} * tiles_ * kCountsBytes, "counts of jungfrau"));
    }
  }
  /// The host computes the drift, which is a real number, and its alarm.
  [[nodiscard]] Where where() const noexcept override { return tracker_ ? Where::both : Where::device; }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    cl_int code = cells_.named() ? choose_sets(stack, bench, queue) : CL_SUCCESS;
    if (code == CL_SUCCESS && tracker_) {
      code = tracker_->begin(stack, bench, cells_.named() ? sets_.device(bench) : nullptr, queue);
    }
    if (code == CL_SUCCESS) code = convert(stack, bench, queue);
    if (code == CL_SUCCESS && tracker_) code = tracker_->look(pedestals_.get(), queue);
    return code;
  }
  cl_int fetch(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t bench,
               cl_command_queue queue) const noexcept override {
    return tracker_ ? tracker_->fetch(bench, queue) : CL_SUCCESS;
  }
  void settle(const kernel::opencl::HostItem& item, Finding& finding) noexcept override {
    if (!tracker_) return;
    const std::size_t set = cells_.named() ? sets_.host<std::uint8_t>(item.bench)[item.image] : 0;
    const Drift drift = set == Cells::kNoSet ? Drift{} : tracker_->drift(item.bench, set);
    alarm_.see(drift);
    finding.scalars[2] = Scalar::of_real(drift.median);
    finding.scalars[3] = Scalar::of_real(drift.worst);
  }
  [[nodiscard]] std::string failure() const override { return cells_.failure(); }
  [[nodiscard]] std::string notice() const override { return alarm_.notice(); }

 private:
  /// Sends the set of each image; those without one fail, ahead of the conversion.
  cl_int choose_sets(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                     cl_command_queue queue) const noexcept {
    auto* const sets = sets_.host<std::uint8_t>(bench);
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      const std::uint8_t cell = stack.images == nullptr ? std::uint8_t{0} : cell_of(stack.images[i].flags);
      sets[i] = cells_.set_of(cell);
      if (sets[i] == Cells::kNoSet && stack.work != nullptr && stack.work[i] != 0) cells_.refuse(cell);
    }
    if (const cl_int code = sets_.send(bench, queue, stack.count); code != CL_SUCCESS) return code;
    return refuse_->run(queue, 1, 1, group_, stack.books, sets_.device(bench), stack.count, stack.step,
                        stack.first_column);
  }
  cl_int convert(const kernel::opencl::DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept {
    const cl_mem counts = counts_[bench].get();
    const cl_uint raw_stride = stack.in_stride / sizeof(std::uint16_t);
    const cl_uint made_stride = stack.out_stride / out_bytes_;
    const cl_mem out = assemble_ ? converted_[bench].get() : stack.out;
    const cl_uint out_stride = assemble_ ? padded_ : made_stride;
    // Where nothing is marked, some memory all the same: the function has the argument.
    const cl_mem marks = taps_.mark ? stack.marks : counts;
    const cl_uint marks_stride = stack.marks_stride * sizeof(std::uint64_t);
    const auto run = [&](const auto&... more) {
      return convert_.run(queue, tiles_, 1, group_, stack.in, raw_stride, out, out_stride, pedestals_.get(),
                          factors_.get(), padded_, pixels_, stack.books, stack.count, counts, marks, marks_stride,
                          threshold(taps_.bright_threshold), threshold(taps_.mark_threshold), more...);
    };
    const auto follow = [&](const auto&... more) {
      if (!tracker_) return run(more...);
      return run(tracker_->variances(), tracker_->followed(), tracker_->inverse(), tracker_->square_limit(), more...);
    };
    const cl_int code = cells_.named() ? follow(sets_.device(bench)) : follow();
    if (code != CL_SUCCESS) return code;
    if (assemble_) {
      const cl_int assembled =
          assemble_->run(queue, kernel::opencl::tiles_of(made_pixels_, kTile), stack.count, group_, out, out_stride,
                         stack.out, made_stride, origins_.get(), made_pixels_, stack.books);
      if (assembled != CL_SUCCESS) return assembled;
    }
    const cl_uint behind = (kTogether - pixels_ % kTogether) % kTogether;
    return settle_.run(queue, stack.count, 1, group_, stack.books, counts, tiles_, behind, stack.first_column);
  }

  // Masked photons are the least int16, and at or above nothing.
  static cl_int threshold(std::int16_t photons) noexcept {
    return std::max<cl_int>(photons, std::numeric_limits<std::int16_t>::min() + 1);
  }
  Cells cells_;
  Taps taps_;
  cl_uint pixels_;
  cl_uint padded_;  // entries of a gain
  cl_uint tiles_;
  std::uint32_t out_bytes_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel convert_, settle_;
  std::optional<memory::opencl::Kernel> assemble_, refuse_;
  std::optional<DeviceTracker> tracker_;
  DriftAlarm alarm_;
  cl_uint made_pixels_ = 0;
  Memory origins_;
  Memory pedestals_, factors_;
  std::vector<Memory> converted_;  // by bench, where images are assembled
  std::vector<Memory> counts_;     // by bench, [image][tile]
  kernel::opencl::Fetched sets_;   // with cells: a byte an image, on its way to the device
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Assembly* assembly, const Taps& taps,
                                                      const Setup& setup, const Device& device) {
  return std::make_unique<Pass>(config, assembly, taps, setup, device);
}

}  // namespace rashpa::kernel::jungfrau::opencl
