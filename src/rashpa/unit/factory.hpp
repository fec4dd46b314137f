// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The list of units, and their making. Accelerators are optional at build time and at run time.
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

/// Returns the kind with that name. Throws ConfigError with a list of all kinds when there is none.
Kind kind_of(std::string_view name);
std::string_view name_of(Kind kind) noexcept;
/// Returns the names of kinds, in the order of the enumeration's values, like the other lists of names below. Units of
/// all kinds are Adjusting, as the contract's tests verify (contract/limits.cpp).
std::vector<std::string> kind_names();

/// The way in which work on an accelerator is started (docs/explanations/gpu.md).
enum class Trigger : std::uint8_t {
  automatic,   ///< the fastest trigger that fits
  launch,      ///< the host launches each step
  graph,       ///< the host launches one graph for each stack
  stream,      ///< graphs are enqueued ahead, and wait for a word that the host writes
  persistent,  ///< a resident kernel polls the word and runs the pipeline itself
  word,        ///< graphs are enqueued ahead, and begin when the last words of all DTPs are there
};

/// Returns the trigger with that name. Throws ConfigError with a list of all triggers when there is none.
Trigger trigger_of(std::string_view name);
std::string_view name_of(Trigger trigger) noexcept;
std::vector<std::string> trigger_names();

/// The way of raw images to an OpenCL device.
enum class Transfer : std::uint8_t {
  automatic,  ///< in place where the device supports it
  in_place,   ///< the device reads the RASHPA buffer itself
  copied,     ///< copied into device memory
};

/// The division of work between several devices.
enum class Share : std::uint8_t {
  stacks,  ///< whole stacks, dealt by load
  rows,    ///< a strip of each image
};

std::string_view name_of(Share share) noexcept;
std::vector<std::string> share_names();

struct Choice {
  Kind kind = Kind::cpu;
  Cores cores{};             ///< for cpu: its threads; otherwise the processor of the thread that takes results
  std::string device = "0";  ///< number, or several: "0,1"; opencl: or a part of its name; fpga: the card's directory
  Share share = Share::stacks;              ///< for several devices
  Trigger trigger = Trigger::automatic;     ///< for cuda
  Transfer transfer = Transfer::automatic;  ///< for opencl
  /// The accumulations, as bits, whose windows unit cuda keeps in device memory for the joiner of several devices: bit
  /// a is accumulation a.
  std::uint32_t windows_on_device = 0;
};

/// Makes the unit with all its memory. Throws ConfigError when the pipeline does not fit the layout (order, input type,
/// calibration shape) or the unit, ResourceError when memory or device is not available.
std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell);

/// A kind of unit on this machine.
struct Available {
  std::string name;  ///< name as for kind_of()
  bool usable = false;
  std::string what;  ///< the device, or the reason why the unit cannot be used
};
/// Returns the units with these names, all if `names` is empty. Looking for one loads its driver: pocl's brings a
/// compiler of 100 MB.
std::vector<Available> available_units(std::span<const std::string> names = {});

/// A device for units other than cpu.
struct UnitDevice {
  std::string unit;                 ///< name as for kind_of()
  std::uint32_t number = 0;         ///< number as in Choice::device
  std::string name;                 ///< for opencl with its platform
  std::size_t memory_bytes = 0;     ///< total memory
  std::size_t free_bytes = 0;       ///< free memory now; 0: the driver does not report it
  bool unified = false;             ///< true: it is host memory
  std::string bus{};                ///< PCI address, 0000:41:00.0; empty: unknown
  std::size_t bar1_bytes = 0;       ///< window through which other devices on the bus reach its memory; 0: unknown
  std::size_t bar1_free_bytes = 0;  ///< free part of it now
  std::string remote_writes{};      ///< its attributes for writes of an RNIC, as text; empty: unknown
  std::string remote_refusal{};     ///< why an RNIC cannot write images into its memory; empty: it can, or unknown
};
/// Returns the devices of the units with these names, of all if `names` is empty. It makes nothing on them and uses
/// none of their memory.
std::vector<UnitDevice> available_devices(std::span<const std::string> names = {});

}  // namespace rashpa::unit
