// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/csr/csr_pass.hpp"

namespace rashpa::kernel::csr::cuda {

Pass::Pass(const Config& config, const Setup& setup)
    : threshold_(config.threshold),
      setup_(setup),
      pixel_bytes_(pixel_bytes(setup.in.type)),
      capacity_(capacity_of(config, setup.shape.pixels())),
      stride_((capacity_ + 63) / 64 * 64),
      index_(setup.places * stride_ * sizeof(std::uint32_t)),
      value_(setup.places * stride_ * pixel_bytes_) {
  const auto pixels = static_cast<std::uint32_t>(setup.shape.pixels());
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
    scratch_.emplace_back(scratch_bytes(pixels, setup.stack));
  }
}

int Pass::enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  Batch batch{};
  batch.images = stack.in;
  batch.format = setup_.in;
  batch.image_stride = stack.in_stride / pixel_bytes_;
  batch.pixels = static_cast<std::uint32_t>(setup_.shape.pixels());
  batch.marks = stack.marks;
  batch.marks_stride = stack.marks_stride;
  batch.index = index_.as<std::uint32_t>() + stack.place * stride_;
  batch.value = value_.as<std::byte>() + stack.place * stride_ * pixel_bytes_;
  batch.list_stride = stride_;
  batch.capacity = capacity_;
  batch.entries = &stack.findings->entries;
  batch.entries_stride = sizeof(kernel::cuda::DeviceFinding) / sizeof(std::uint32_t);
  batch.work = stack.work;
  batch.count = stack.count;
  void* const scratch = scratch_[bench].as<void>();
  return setup_.marked ? compact_marked(batch, scratch, stream) : compact(batch, threshold_, scratch, stream);
}

kernel::cuda::HostList Pass::list(std::uint32_t place) const noexcept {
  return {index_.as<std::uint32_t>() + place * stride_, value_.as<std::byte>() + place * stride_ * pixel_bytes_};
}

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup);
}

}  // namespace rashpa::kernel::csr::cuda
