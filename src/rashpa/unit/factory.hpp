// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which units this program has, and how one is made. Accelerators are optional when it is built and when it runs.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

enum class Kind : std::uint8_t { cpu, cuda, opencl, fpga };

/// Throws ConfigError that lists the kinds when `name` is none of them.
Kind kind_of(std::string_view name);
std::string_view name_of(Kind kind) noexcept;
/// The names of kinds, in the order of the enumeration's values, as in the lists below. Units of all kinds are
/// Adjusting: the contract's tests (contract/limits.cpp) see to that.
std::vector<std::string> kind_names();

/// Describes how work on an accelerator is started (docs/explanations/gpu.md).
enum class Trigger : std::uint8_t {
  automatic,   ///< the fastest that fits
  launch,      ///< the host launches every step
  graph,       ///< the host launches one graph a stack
  stream,      ///< graphs are enqueued ahead and held by a wait for a word that the host writes
  persistent,  ///< a resident kernel polls the word and runs the pipeline itself
};

/// Throws ConfigError that lists the triggers when `name` is none of them.
Trigger trigger_of(std::string_view name);
std::string_view name_of(Trigger trigger) noexcept;
std::vector<std::string> trigger_names();

/// Describes how raw images get to a device of OpenCL.
enum class Transfer : std::uint8_t {
  automatic,  ///< in place where the device can
  in_place,   ///< the device works on the RASHPA buffer itself
  copied,     ///< into memory of the device
};

/// The share of each of several devices.
enum class Share : std::uint8_t {
  stacks,  ///< whole stacks, dealt by load
  rows,    ///< a strip of every image
};

std::string_view name_of(Share share) noexcept;
std::vector<std::string> share_names();

struct Choice {
  Kind kind = Kind::cpu;
  Cores cores{};  ///< cpu: its threads; else the processor of the thread that takes results
  std::string device =
      "0";  ///< its number, or several: "0,1"; opencl: or a part of its name; fpga: the card's directory
  Share share = Share::stacks;              ///< of several devices
  Trigger trigger = Trigger::automatic;     ///< cuda
  Transfer transfer = Transfer::automatic;  ///< opencl
  /// cuda: bit a: windows of accumulation a stay in memory of the device, for the joiner of those of several.
  std::uint32_t windows_on_device = 0;
};

/// Makes the unit with all its memory. Throws ConfigError when the pipeline does not fit the layout (order, input type,
/// calibration shape) or the unit, ResourceError when memory or device are not there.
std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell);

/// A unit of this machine.
struct Available {
  std::string name;  ///< as kind_of() takes it
  bool usable = false;
  std::string what;  ///< which device, or why it cannot be used
};
/// The units of these names, all without names. Looking for one loads its driver: pocl's brings a compiler of 100 MB.
std::vector<Available> available_units(std::span<const std::string> names = {});

/// A device that a unit other than cpu can be made on.
struct UnitDevice {
  std::string unit;              ///< as kind_of() takes it
  std::uint32_t number = 0;      ///< as Choice::device
  std::string name;              ///< opencl: with its platform
  std::size_t memory_bytes = 0;  ///< in all
  std::size_t free_bytes = 0;    ///< now; 0: the driver does not say
  bool unified = false;          ///< it is memory of the host
  std::string bus{};             ///< its PCI address, 0000:41:00.0; empty: not known
};
/// The devices of the units of these names, of all without names. Makes nothing on them: the call takes none of their
/// memory.
std::vector<UnitDevice> available_devices(std::span<const std::string> names = {});

}  // namespace rashpa::unit
