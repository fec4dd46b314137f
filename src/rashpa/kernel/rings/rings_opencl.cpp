// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/rings/rings_opencl.hpp"

#include <fmt/format.h>

#include <string_view>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel {
extern const std::string_view rings_cl;
}

namespace rashpa::kernel::opencl {

namespace {

using memory::opencl::api;
using memory::opencl::Device;

constexpr std::uint32_t kWordsOfCore = 64;  // that one work item has on a processor core

const Device& checked(const Device& device, const std::string& kernel) {
  need_doubles(device, kernel);
  return device;
}

memory::opencl::Program program_of(const Device& device, const std::string& kernel, PixelFormat format, bool clip,
                                   std::uint32_t words) {
  const bool real = format.type == PixelType::f32;
  const std::string macros = fmt::format("{} -D REAL={:d} -D CLIP={:d} -D WORDS={}",
                                         real ? "" : photon_macros(format, photon_range(format)), real, clip, words);
  if (real) return build(device, kernel, {rings_cl}, macros);
  return build(device, kernel, {photon_source(), rings_cl}, macros);
}

/// Pixels ring by ring, in each ascending; those in none are left out.
std::vector<cl_uint> order_of(const Rings& rings) {
  std::vector<cl_uint> next(rings.first().begin(), rings.first().begin() + rings.count());
  std::vector<cl_uint> order(rings.first()[rings.count()]);
  for (std::size_t pixel = 0; pixel < rings.ring_of().size(); ++pixel) {
    const std::uint16_t ring = rings.ring_of()[pixel];
    if (ring != Rings::kNone) order[next[ring]++] = static_cast<cl_uint>(pixel);
  }
  return order;
}

}  // namespace

MarkedRings::MarkedRings(const std::string& kernel, const Rings& rings, const RingMethod& method, const Setup& setup,
                         const Device& device)
    : method_(method),
      pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
      words_(tiles_of(pixels_, 64) + 1),
      rings_(rings.count()),
      pixel_bytes_(static_cast<std::uint32_t>(pixel_bytes(setup.in.type))),
      group_(checked(device, kernel).group()),
      words_of_item_(group_ == 1 ? kWordsOfCore : 1),
      program_(program_of(device, kernel, setup.in, std::holds_alternative<SigmaClip>(method), words_of_item_)),
      limit_(program_, "limit_rings"),
      raise_(program_, "raise"),
      mark_(program_, "mark_above"),
      order_(device.memory_of(order_of(rings), "pixels by ring")),
      firsts_(device.memory_with(rings.first().data(), (rings_ + std::size_t{1}) * sizeof(cl_uint), "rings")),
      ring_of_(device.memory_with(rings.ring_of().data(), pixels_ * sizeof(cl_ushort), "rings of pixels")),
      limits_(device, setup.benches, std::size_t{setup.stack} * rings_ * sizeof(RingLimit), "limits of rings"),
      marks_(device, setup.benches, std::size_t{setup.stack} * words_ * sizeof(cl_ulong), "marks of pixels") {
  if (const auto* clip = std::get_if<SigmaClip>(&method_)) reaches_ = device.memory_of(clip->reaches, "reaches");
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
    above_.push_back(device.memory(std::size_t{setup.stack} * rings_ * sizeof(float), "limits of pixels"));
    images_.emplace_back(device, std::size_t{setup.stack} * pixels_ * pixel_bytes_, "images of " + kernel);
  }
}

cl_int MarkedRings::enqueue(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept {
  const cl_uint stride = stack.in_stride / pixel_bytes_;
  cl_int code = CL_SUCCESS;
  cl_double factor = 0;
  cl_double noise = 0;
  if (const auto* clip = std::get_if<SigmaClip>(&method_)) {
    factor = clip->factor;
    noise = clip->noise;
    code = limit_.run(queue, rings_, stack.count, group_, stack.in, stride, stack.books, order_.get(), firsts_.get(),
                      limits_.device(bench), reaches_.get(), clip->cycles, cl_uint{clip->azimuthal},
                      cl_uint{clip->hybrid});
  } else {
    const auto& rounds = *std::get_if<SnrRounds>(&method_);
    code = limit_.run(queue, rings_, stack.count, group_, stack.in, stride, stack.books, order_.get(), firsts_.get(),
                      limits_.device(bench), rounds.min_snr, rounds.threshold);
  }
  const std::uint32_t groups = tiles_of(rings_, group_);
  if (code == CL_SUCCESS) {
    code = raise_.run(queue, groups, stack.count, group_, stack.books, limits_.device(bench), rings_,
                      above_[bench].get(), factor, noise);
  }
  if (code != CL_SUCCESS) return code;
  return mark_.run(queue, tiles_of(words_, group_ * words_of_item_), stack.count, group_, stack.in, stride, pixels_,
                   stack.books, ring_of_.get(), above_[bench].get(), rings_, marks_.device(bench), words_);
}

cl_int MarkedRings::fetch(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept {
  cl_int code = limits_.fetch(bench, queue);
  if (code == CL_SUCCESS) code = marks_.fetch(bench, queue);
  const std::size_t bytes = std::size_t{pixels_} * pixel_bytes_;
  for (std::uint32_t i = 0; i < stack.count && !stack.delivered && code == CL_SUCCESS; ++i) {
    if (stack.work != nullptr && stack.work[i] == 0) continue;
    code = api().read_buffer(queue, stack.in, CL_FALSE, std::size_t{i} * stack.in_stride, bytes,
                             images_[bench].as<std::byte>() + i * bytes, 0, nullptr, nullptr);
  }
  return code;
}

MarkedRings::Seen MarkedRings::seen(const HostItem& item) const noexcept {
  const std::size_t bytes = std::size_t{pixels_} * pixel_bytes_;
  return {item.delivered ? item.of->raw : images_[item.bench].as<std::byte>() + item.image * bytes,
          {marks_.host<std::uint64_t>(item.bench) + std::size_t{item.image} * words_, words_},
          {limits_.host<RingLimit>(item.bench) + std::size_t{item.image} * rings_, rings_}};
}

}  // namespace rashpa::kernel::opencl
