// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/opencl_pass.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {
extern const std::string_view work_group_cl;
extern const std::string_view photons_cl;
extern const std::string_view settle_counts_cl;
}  // namespace rashpa::kernel

namespace rashpa::kernel::opencl {

using memory::opencl::Device;
using memory::opencl::Program;

Fetched::Fetched(const Device& device, std::uint32_t benches, std::size_t bytes, std::string_view what)
    : bytes_(bytes) {
  for (std::uint32_t bench = 0; bench < benches; ++bench) {
    pairs_.push_back({device.memory(bytes, what), memory::opencl::HostMemory(device, bytes, what)});
  }
}

cl_int Fetched::fetch(std::uint32_t bench, cl_command_queue queue) const noexcept {
  if (bytes_ == 0) return CL_SUCCESS;
  return memory::opencl::api().read_buffer(queue, device(bench), CL_FALSE, 0, bytes_, host<void>(bench), 0, nullptr,
                                           nullptr);
}

cl_int Fetched::send(std::uint32_t bench, cl_command_queue queue, std::size_t bytes) const noexcept {
  if (bytes == 0) return CL_SUCCESS;
  return memory::opencl::api().write_buffer(queue, device(bench), CL_FALSE, 0, bytes, host<void>(bench), 0, nullptr,
                                            nullptr);
}

void need_doubles(const Device& device, std::string_view kernel) {
  if (device.info().doubles) return;
  throw ConfigError(fmt::format(
      "unit: kernel {} computes with double precision, which {} does not have; take another device, or unit cpu",
      kernel, device.info().name));
}

Program build(const Device& device, const std::string& name, std::vector<std::string_view> source,
              const std::string& macros) {
  source.insert(source.begin(), work_group_cl);
  return {device, "kernel " + name, source,
          fmt::format("-cl-std=CL1.2 -D GROUP={} -D COLUMNS={} {}", device.group(), kMostColumns, macros)};
}

std::string photon_macros(PixelFormat format, PhotonRange range) {
  const bool none = range.least > range.most;
  const char* pixel = "ushort";
  switch (format.type) {
    case PixelType::u8:
      pixel = "uchar";
      break;
    case PixelType::u16:
      break;
    case PixelType::u32:
      pixel = "uint";
      break;
    case PixelType::i16:
      pixel = "short";
      break;
    default:
      pixel = "int";
      break;
  }
  const bool wide_is_unsigned = format.type == PixelType::u32;
  const char* suffix = wide_is_unsigned ? "U" : "";
  // The least int has no literal.
  const std::string least =
      !wide_is_unsigned && range.least == INT32_MIN ? "INT_MIN" : fmt::format("({}{})", range.least, suffix);
  return fmt::format("-D PIXEL={} -D WIDE={} -D LEAST={} -D MOST={}", pixel, wide_is_unsigned ? "uint" : "int",
                     none ? "1" : least, none ? "0" : fmt::format("({}{})", range.most, suffix));
}

std::string_view photon_source() noexcept { return photons_cl; }

SettleCounts::SettleCounts(const Device& device, const CountTap& tap)
    : tap_(tap),
      group_(device.group()),
      program_(build(device, "settle_counts", {settle_counts_cl}, "")),
      of_tiles_(program_, "settle_tiles"),
      of_books_(program_, "settle_books") {}

void SettleCounts::adopt(const LimitBytes& limits) noexcept { tap_ = limits_in<CountTap>(limits); }

cl_int SettleCounts::enqueue(const DeviceStack& stack, cl_mem tile_counts, std::uint32_t tiles,
                             cl_command_queue queue) const noexcept {
  if (tile_counts == nullptr) {
    return of_books_.run(queue, stack.count, 1, 1, stack.books, stack.step, stack.first_column, tap_.least, tap_.most);
  }
  return of_tiles_.run(queue, stack.count, 1, group_, stack.books, tile_counts, tiles, stack.step, stack.first_column,
                       tap_.least, tap_.most);
}

}  // namespace rashpa::kernel::opencl
