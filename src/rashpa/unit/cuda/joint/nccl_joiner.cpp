// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/joint/nccl_joiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/unit/cuda/cuda_unit.hpp"

namespace rashpa::unit::cuda {

namespace {

using memory::cuda::DeviceGroup;
using memory::cuda::DeviceMemory;
using memory::cuda::DeviceScope;

std::size_t bytes_in(const DeviceGroup::Array& array) noexcept {
  constexpr std::size_t kLine = 64;
  return (array.elements * bytes_of(array.type) + kLine - 1) / kLine * kLine;
}

}  // namespace

std::vector<NcclJoiner::Kept> NcclJoiner::kept_of(const Joins& joins, const std::vector<Accumulation>& facts,
                                                  std::size_t devices) {
  std::vector<Kept> all(joins.size());
  for (std::size_t number = 0; number < joins.size(); ++number) {
    Kept& kept = all[number];
    kept.writer = joins[number]->on_cuda();
    if (kept.writer == nullptr) continue;
    for (const kernel::PartArray& part : kept.writer->arrays()) {
      kept.arrays.push_back({.type = part.type,
                             .operation = part.combined == kernel::Combined::added ? DeviceGroup::Operation::add
                                                                                   : DeviceGroup::Operation::largest,
                             .elements = facts[number].elements(),
                             .at = std::vector<std::byte*>(devices)});
    }
  }
  return all;
}

NcclJoiner::NcclJoiner(Joins joins, const std::vector<Accumulation>& facts, const std::vector<int>& devices)
    : group_(devices),
      kept_(kept_of(joins, facts, devices.size())),
      host_(std::move(joins), static_cast<std::uint32_t>(devices.size()), {}),
      copies_(devices.size()) {
  for (Kept& kept : kept_) {
    if (kept.writer != nullptr) try_once(kept);
  }
}

/// Connections between devices are made for the first reduction of a kind and a size.
void NcclJoiner::try_once(Kept& kept) {
  std::size_t bytes = 0;
  for (const DeviceGroup::Array& array : kept.arrays) bytes = std::max(bytes, bytes_in(array));
  std::vector<DeviceMemory> nothing;
  for (std::size_t number = 0; number < group_.size(); ++number) {
    const DeviceScope scope(group_.device(number));
    const DeviceMemory& memory = nothing.emplace_back(bytes);
    for (DeviceGroup::Array& array : kept.arrays) array.at[number] = memory.as<std::byte>();
    memory::cuda::check(cudaDeviceSynchronize(), "clear what sums are tried on");
  }
  bool tried = group_.reduce(kept.arrays, 0);
  for (std::size_t number = 0; number < group_.size(); ++number) tried = tried && group_.wait(number);
  if (!tried) throw ResourceError(fmt::format("cuda: {}; check the devices with nvidia-smi topo", group_.words()));
}

std::uint32_t NcclJoiner::on_device() const noexcept {
  std::uint32_t bits = 0;
  for (std::size_t number = 0; number < kept_.size(); ++number) {
    if (kept_[number].writer != nullptr) bits |= 1U << number;
  }
  return bits;
}

void NcclJoiner::writes_into(std::size_t number, std::span<std::byte> results) {
  if (kept_[number].writer != nullptr) pinnings_.emplace_back(results.data(), results.size());
}

bool NcclJoiner::join(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
                      const kernel::AccumulatedArrays& to) noexcept {
  Kept& kept = kept_[number];
  if (kept.writer == nullptr) return host_.join(number, parts, to);
  const auto has_some = [](const kernel::AccumulatedArrays& one) { return one[0] != nullptr; };
  const auto first = std::find_if(parts.begin(), parts.end(), has_some);
  const auto count = std::count_if(parts.begin(), parts.end(), has_some);
  const auto root = static_cast<std::size_t>(first - parts.begin());
  if (count > 1 && (static_cast<std::size_t>(count) < parts.size() || group_.broken())) {
    return join_on_host(number, parts, to);
  }
  if (count > 1 && !reduce(kept, parts)) return fail(group_.words());
  return write(kept, root, parts[root], to);
}

bool NcclJoiner::reduce(Kept& kept, std::span<const kernel::AccumulatedArrays> parts) noexcept {
  for (std::size_t part = 0; part < kept.arrays.size(); ++part) {
    for (std::size_t number = 0; number < parts.size(); ++number) kept.arrays[part].at[number] = parts[number][part];
  }
  bool done = group_.reduce(kept.arrays, 0);
  // The others first: a device that is lost is found, whichever it is, before results are written.
  for (std::size_t number = parts.size(); number-- > 0;) done = done && group_.wait(number);
  return done;
}

bool NcclJoiner::write(const Kept& kept, std::size_t device, const kernel::AccumulatedArrays& parts,
                       const kernel::AccumulatedArrays& to) noexcept {
  cudaError_t code = cudaSetDevice(group_.device(device));
  if (code == cudaSuccess) code = static_cast<cudaError_t>(kept.writer->write(parts, to, group_.stream(device)));
  if (code != cudaSuccess) return fail(fmt::format("write joined sums: {}", cudaGetErrorString(code)));
  return group_.wait(device) || fail(group_.words());
}

bool NcclJoiner::join_on_host(std::size_t number, std::span<const kernel::AccumulatedArrays> parts,
                              const kernel::AccumulatedArrays& to) noexcept {
  const Kept& kept = kept_[number];
  try {
    std::vector<kernel::AccumulatedArrays> copied(parts.size());
    std::size_t bytes = 0;
    for (const DeviceGroup::Array& array : kept.arrays) bytes += bytes_in(array);
    for (std::size_t device = 0; device < parts.size(); ++device) {
      if (parts[device][0] == nullptr) continue;
      memory::Buffer& copy = copies_[device];
      if (copy.size() < bytes) copy = memory::Buffer(bytes, memory::MemoryKind::huge);
      const DeviceScope scope(group_.device(device));
      std::byte* at = copy.data();
      for (std::size_t part = 0; part < kept.arrays.size(); ++part) {
        const DeviceGroup::Array& array = kept.arrays[part];
        memory::cuda::check(cudaMemcpyAsync(at, parts[device][part], array.elements * bytes_of(array.type),
                                            cudaMemcpyDeviceToHost, group_.stream(device)),
                            "copy sums to the host");
        copied[device][part] = at;
        at += bytes_in(array);
      }
      if (!group_.wait(device)) return fail(group_.words());
    }
    return host_.join(number, copied, to);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

bool NcclJoiner::fail(const std::string& why) noexcept {
  const std::lock_guard lock(lock_);
  if (trouble_.empty()) trouble_ = fmt::format("sums of devices: {}", why);
  return false;
}

std::string NcclJoiner::trouble() const {
  const std::lock_guard lock(lock_);
  return trouble_;
}

std::string NcclJoiner::how() const {
  const std::uint32_t bits = on_device();
  std::string words = fmt::format("sums joined by {}", group_.version());
  const bool all = bits + 1U == 1U << kept_.size();
  if (!all) words += " and, where they lie on it or are more than sums, on the host";
  return words;
}

std::unique_ptr<Joiner> make_joiner(Joins joins, const std::vector<Accumulation>& facts,
                                    const std::vector<std::string>& devices) {
  const auto members = static_cast<std::uint32_t>(devices.size());
  std::vector<int> numbers;
  for (const std::string& device : devices) numbers.push_back(device_number(device));
  const bool any = std::any_of(joins.begin(), joins.end(), [](const auto& one) { return one->on_cuda() != nullptr; });
  if (!any) return std::make_unique<HostJoiner>(std::move(joins), members, "");
  if (std::set(numbers.begin(), numbers.end()).size() < numbers.size()) {
    return std::make_unique<HostJoiner>(std::move(joins), members, "a device is named twice");
  }
  try {
    return std::make_unique<NcclJoiner>(joins, facts, numbers);
  } catch (const ResourceError& error) {
    return std::make_unique<HostJoiner>(std::move(joins), members, error.what());
  }
}

}  // namespace rashpa::unit::cuda
