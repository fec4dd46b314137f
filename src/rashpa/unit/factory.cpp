// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/factory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "rashpa/core/components.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/unit/cpu/cpu_unit.hpp"
#include "rashpa/unit/dealt/dealt_unit.hpp"
#include "rashpa/unit/dealt/joined_windows.hpp"
#include "rashpa/unit/dealt/sharing.hpp"
#include "rashpa/unit/fpga/fpga_unit.hpp"
#include "rashpa/unit/opencl/opencl_unit.hpp"
#include "rashpa/unit/proved_unit.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/unit/cuda/cuda_unit.hpp"
#include "rashpa/unit/cuda/joint/nccl_joiner.hpp"
#endif

namespace rashpa::unit {

namespace {

constexpr std::array kKinds{std::pair{"cpu", Kind::cpu}, std::pair{"cuda", Kind::cuda},
                            std::pair{"opencl", Kind::opencl}, std::pair{"fpga", Kind::fpga}};
constexpr std::array kShares{std::pair{"stacks", Share::stacks}, std::pair{"rows", Share::rows}};
constexpr std::array kTriggers{std::pair{"auto", Trigger::automatic},        std::pair{"launch", Trigger::launch},
                               std::pair{"graph", Trigger::graph},           std::pair{"stream", Trigger::stream},
                               std::pair{"persistent", Trigger::persistent}, std::pair{"word", Trigger::word}};

template <typename Table>
auto value_of(const Table& table, std::string_view name, const char* what) {
  std::string known;
  for (const auto& [text, value] : table) {
    if (name == text) return value;
    known += known.empty() ? text : fmt::format(", {}", text);
  }
  throw ConfigError(fmt::format("unit: no {} '{}'; choose one of {}", what, name, known));
}

template <typename Table, typename Value>
std::string_view text_of(const Table& table, Value value) noexcept {
  for (const auto& [text, known] : table) {
    if (known == value) return text;
  }
  return "unknown";
}

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.first);
  return names;
}

std::unique_ptr<Joiner> make_joiner(const Choice& choice, const std::vector<std::string>& devices,
                                    const Sharing& sharing) {
#ifdef RASHPA_HAVE_CUDA
  if (choice.kind == Kind::cuda) {
    return cuda::make_joiner(sharing.joins, sharing.output.results.accumulations, devices);
  }
#endif
  static_cast<void>(choice);
  return std::make_unique<HostJoiner>(sharing.joins, static_cast<std::uint32_t>(devices.size()), "");
}

/// Each device gets a thread of its own, on a processor of its own.
std::unique_ptr<Unit> make_dealt(const Choice& choice, const std::vector<std::string>& devices,
                                 const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell) {
  if (choice.trigger == Trigger::stream || choice.trigger == Trigger::persistent || choice.trigger == Trigger::word) {
    throw ConfigError(fmt::format(
        "unit: trigger {} takes stacks in turn, and {} devices take what they can; use graph, or one device",
        name_of(choice.trigger), devices.size()));
  }
  Sharing sharing = sharing_of(pipeline, layout);
  const bool captured = std::none_of(pipeline.kernels.begin(), pipeline.kernels.end(),
                                     [](const kernel::StepOf& step) { return step->enqueued_each_time(); });
  const Trigger trigger = captured ? Trigger::graph : Trigger::launch;
  const auto members = static_cast<std::uint32_t>(devices.size());
  std::unique_ptr<JoinedWindows> windows;
  Choice each = choice;
  if (!sharing.joins.empty()) {
    auto joiner = make_joiner(choice, devices, sharing);
    each.windows_on_device = joiner->on_device();
    windows = std::make_unique<JoinedWindows>(sharing.output.results, layout, members, std::move(joiner));
  }
  const auto make = [&](std::uint32_t number, Doorbell& bell) {
    Choice one = each;
    one.device = devices[number];
    if (choice.kind == Kind::cuda && one.trigger == Trigger::automatic) one.trigger = trigger;
    if (one.cores.first_processor >= 0) one.cores.first_processor += static_cast<int>(number);
    return make_unit(one, sharing.part, layout, bell);
  };
  return std::make_unique<DealtUnit>(members, layout.stacks, done_bell, make, std::move(windows));
}

}  // namespace

Kind kind_of(std::string_view name) { return value_of(kKinds, name, "kind"); }
std::string_view name_of(Kind kind) noexcept { return text_of(kKinds, kind); }
std::vector<std::string> kind_names() { return names_of(kKinds); }
std::string_view name_of(Share share) noexcept { return text_of(kShares, share); }
std::vector<std::string> share_names() { return names_of(kShares); }
Trigger trigger_of(std::string_view name) { return value_of(kTriggers, name, "trigger"); }
std::string_view name_of(Trigger trigger) noexcept { return text_of(kTriggers, trigger); }
std::vector<std::string> trigger_names() { return names_of(kTriggers); }

std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell) {
  if (ProvedUnit::needed(pipeline, layout)) return std::make_unique<ProvedUnit>(choice, pipeline, layout, done_bell);
  const std::vector<std::string> devices = devices_in(choice.device);
  if (layout.images_in == ImagesIn::device && (choice.kind != Kind::cuda || devices.size() > 1)) {
    throw ConfigError(fmt::format(
        "unit: images in memory of a device are for unit cuda on that device alone, not for unit {} on {}; take the "
        "buffer in host memory, or unit cuda on one device",
        name_of(choice.kind), choice.kind == Kind::cpu ? "processors" : fmt::format("device {}", choice.device)));
  }
  if (choice.share == Share::rows && (choice.kind != Kind::cuda || devices.size() < 2)) {
    throw ConfigError(
        "unit: images are split into rows among several devices of unit cuda; name them, or share stacks");
  }
  if (choice.kind == Kind::cpu) {
    if (choice.trigger != Trigger::automatic) {
      throw ConfigError(
          fmt::format("unit: trigger {} is for accelerators; leave it out with unit cpu", name_of(choice.trigger)));
    }
    return std::make_unique<CpuUnit>(pipeline, layout, choice.cores, done_bell);
  }
  if (choice.kind == Kind::fpga) return fpga::make_unit(choice, pipeline, layout, done_bell);
  if (choice.share == Share::stacks && devices.size() > 1) {
    return make_dealt(choice, devices, pipeline, layout, done_bell);
  }
  if (choice.kind == Kind::opencl) return opencl::make_unit(choice, pipeline, layout, done_bell);
#ifdef RASHPA_HAVE_CUDA
  if (choice.share == Share::rows) return cuda::make_split(choice, devices, pipeline, layout, done_bell);
  return cuda::make_unit(choice, pipeline, layout, done_bell);
#else
  throw_left_out("unit", "cuda", "use unit cpu");
#endif
}

namespace {

bool is_wanted(std::span<const std::string> names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

Available cpu_available() {
  return {.name = "cpu", .usable = true, .what = fmt::format("{} processors", std::thread::hardware_concurrency())};
}

Available cuda_available() {
#ifdef RASHPA_HAVE_CUDA
  return cuda::available();
#else
  return {.name = "cuda", .usable = false, .what = left_out("cuda")};
#endif
}

Available fpga_available() {
  const bool cards = has_component("card");
  return {
      .name = "fpga", .usable = cards, .what = cards ? "a card that is named, real or simulated" : left_out("card")};
}

}  // namespace

std::vector<Available> available_units(std::span<const std::string> names) {
  constexpr std::array<std::pair<std::string_view, Available (*)()>, 4> kUnits{
      {{"cpu", cpu_available}, {"cuda", cuda_available}, {"opencl", opencl::available}, {"fpga", fpga_available}}};
  std::vector<Available> units;
  for (const auto& [name, available] : kUnits) {
    if (is_wanted(names, name)) units.push_back(available());
  }
  return units;
}

std::vector<UnitDevice> available_devices(std::span<const std::string> names) {
  std::vector<UnitDevice> devices;
#ifdef RASHPA_HAVE_CUDA
  if (is_wanted(names, "cuda")) devices = cuda::devices();
#endif
  if (is_wanted(names, "opencl")) {
    for (UnitDevice& device : opencl::devices()) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace rashpa::unit
