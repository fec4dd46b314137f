// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-adds (CMakeLists.txt): the kernel computes the same as unit cpu, in its order.
#include <string>
#include <vector>

#include "rashpa/kernel/csr/csr_cuda.hpp"
#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/sigma_clip/device_method.hpp"
#include "rashpa/kernel/sigma_clip/level.cuh"
#include "rashpa/kernel/sparsify/sparsify_cuda.hpp"

namespace rashpa::kernel::sparsify::cuda {

namespace {

using kernel::cuda::MarkedRings;
using memory::cuda::DeviceMemory;
using memory::cuda::PinnedMemory;

constexpr unsigned kThreads = 128;
constexpr unsigned kColumns = 3;  // of the table

/// The constants of all images.
struct Known {
  const float* places;
  double cutoff, noise;
  kernel::cuda::PixelValue value;
};

/// A thread a word of marks: those of pixels that do not stick out are taken away, and the others counted.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    refine(const T* images, std::size_t stride, const std::uint8_t* work, const Known known,
           const MarkedRings::Seen rings, std::uint32_t* counts) {
  const std::uint32_t image = blockIdx.y;
  kernel::cuda::wait_for_the_one_before();
  if (work[image] == 0) return;
  const sigma_clip::cuda::Seen<T> seen{images + image * stride,
                                       rings.ring_of,
                                       known.places,
                                       rings.limits + std::size_t{image} * rings.rings,
                                       rings.rings,
                                       known.noise,
                                       known.value};
  const std::uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  std::uint32_t* const marks = rings.marks + std::size_t{image} * rings.words;
  const std::uint32_t bits = word < rings.words ? marks[word] : 0;
  std::uint32_t kept = 0;
  for (std::uint32_t left = bits; left != 0; left &= left - 1) {
    const int bit = __ffs(static_cast<int>(left)) - 1;
    sigma_clip::Level level;
    const double excess{seen.excess(word * 32 + static_cast<std::uint32_t>(bit), level)};
    const double limit = known.cutoff * double{level.deviation};
    if (excess > (known.noise < limit ? limit : known.noise)) kept |= 1U << bit;
  }
  if (kept != bits) marks[word] = kept;
  const std::uint32_t of_warp = __reduce_add_sync(~0U, static_cast<unsigned>(__popc(kept)));
  if (threadIdx.x % 32 == 0 && of_warp != 0) atomicAdd(&counts[image], of_warp);
}

/// A block an image: its number, its rows. `table`: of place 0.
__global__ void settle(const kernel::cuda::DeviceStack stack, const MarkedRings::Seen rings,
                       const std::uint32_t* counts, std::uint32_t capacity, const double* middles, Scalar* table,
                       std::uint32_t* too_many) {
  const std::uint32_t image = blockIdx.x;
  const bool working = stack.work[image] != 0;
  __syncthreads();  // before it is changed
  if (!working) return;
  const RingLimit* const limits = rings.limits + std::size_t{image} * rings.rings;
  Scalar* const rows = table + (std::size_t{stack.place} + image) * rings.rings * kColumns;
  for (std::uint32_t bin = threadIdx.x; bin < rings.rings; bin += blockDim.x) {
    rows[bin * kColumns] = Scalar::of_real(middles[bin]);
    rows[bin * kColumns + 1] = Scalar::of_real(limits[bin].first);
    rows[bin * kColumns + 2] = Scalar::of_real(limits[bin].second);
  }
  if (threadIdx.x != 0) return;
  const std::uint32_t count = counts[image];
  stack.scalars[image * stack.scalars_stride] = Scalar::of_count(count);
  stack.findings[image].entries = count;
  if (count <= capacity) return;
  stack.findings[image].entries = 0;
  stack.findings[image].failed = static_cast<std::uint8_t>(stack.step + 1);
  stack.work[image] = 0;
  *too_many = count;
}

std::vector<double> middles_of(const sigma_clip::Radii& radii) {
  std::vector<double> middles;
  for (std::uint32_t bin = 0; bin < radii.rings().count(); ++bin) middles.push_back(radii.middle(bin));
  return middles;
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const sigma_clip::Radii& radii, const Setup& setup)
      : setup_(setup),
        pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
        pixel_bytes_(pixel_bytes(setup.in.type)),
        capacity_(capacity_of(config, setup.shape.pixels())),
        stride_((capacity_ + 63) / 64 * 64),
        bins_(radii.rings().count()),
        rings_(radii.rings(), sigma_clip::device_method(config, radii), setup),
        places_(sigma_clip::cuda::places_of(radii)),
        middles_(kernel::cuda::copy_to_device(middles_of(radii), "middles of bins")),
        index_(setup.places * stride_ * sizeof(std::uint32_t)),
        value_(setup.places * stride_ * pixel_bytes_),
        table_(std::size_t{setup.places} * bins_ * kColumns * sizeof(Scalar)),
        too_many_(sizeof(std::uint32_t)),
        known_{places_.as<float>(), config.cutoff, config.noise, kernel::cuda::PixelValue::of(setup.in)} {
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      counts_.emplace_back(2 * setup.stack * sizeof(std::uint32_t));
      scratch_.emplace_back(csr::cuda::scratch_bytes(pixels_, setup.stack));
    }
  }

  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    auto* const counts = counts_[bench].as<std::uint32_t>();
    cudaError_t code = cudaMemsetAsync(counts, 0, stack.count * sizeof(std::uint32_t), stream);
    if (code == cudaSuccess) code = rings_.enqueue(stack, bench, stream);
    if (code != cudaSuccess) return code;
    const MarkedRings::Seen seen = rings_.seen(bench);
    code = kernel::cuda::with_image_type(setup_.in.type, [&]<typename T>(T) {
      return kernel::cuda::launch_early(early_, refine<T>, dim3((seen.words + kThreads - 1) / kThreads, stack.count),
                                        kThreads, 0, stream, reinterpret_cast<const T*>(stack.in),
                                        stack.in_stride / sizeof(T), stack.work, known_, seen, counts);
    });
    if (code != cudaSuccess) return code;
    csr::cuda::Batch batch{};
    batch.images = stack.in;
    // values are copied as they are
    batch.format = setup_.in.type == PixelType::f32 ? delivered(PixelType::u32) : setup_.in;
    batch.image_stride = stack.in_stride / pixel_bytes_;
    batch.pixels = pixels_;
    batch.marks = reinterpret_cast<const std::uint64_t*>(seen.marks);
    batch.marks_stride = seen.words / 2;
    batch.index = index_.as<std::uint32_t>() + stack.place * stride_;
    batch.value = value_.as<std::byte>() + stack.place * stride_ * pixel_bytes_;
    batch.list_stride = stride_;
    batch.capacity = capacity_;
    batch.entries = counts + setup_.stack;
    batch.work = stack.work;
    batch.count = stack.count;
    code = csr::cuda::compact_marked(batch, scratch_[bench].as<void>(), stream);
    if (code != cudaSuccess) return code;
    settle<<<stack.count, kThreads, 0, stream>>>(stack, seen, counts, static_cast<std::uint32_t>(capacity_),
                                                 middles_.as<double>(), table_.as<Scalar>(),
                                                 too_many_.as<std::uint32_t>());
    return cudaGetLastError();
  }
  [[nodiscard]] kernel::cuda::HostList list(std::uint32_t place) const noexcept override {
    return {index_.as<std::uint32_t>() + place * stride_, value_.as<std::byte>() + place * stride_ * pixel_bytes_};
  }
  [[nodiscard]] TableView table(std::uint32_t place) const noexcept override {
    return {table_.as<Scalar>() + std::size_t{place} * bins_ * kColumns, bins_};
  }
  [[nodiscard]] std::string failure() const override {
    const std::uint32_t found = *static_cast<const volatile std::uint32_t*>(too_many_.as<std::uint32_t>());
    if (found == 0) return {};
    return "kernel sparsify: " + std::to_string(found) + " pixels of an image are above the background, and its list " +
           "holds " + std::to_string(capacity_) + "; set a larger capacity";
  }

 private:
  Setup setup_;
  std::uint32_t pixels_;
  std::size_t pixel_bytes_, capacity_, stride_;  // stride: entries from one list to the next
  std::uint32_t bins_;
  MarkedRings rings_;
  DeviceMemory places_, middles_;
  PinnedMemory index_, value_, table_, too_many_;
  Known known_;
  bool early_ = kernel::cuda::begins_early(setup_.stack);
  std::vector<DeviceMemory> counts_;   // by bench: pixels that stick out, then entries
  std::vector<DeviceMemory> scratch_;  // by bench
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const sigma_clip::Radii& radii,
                                                    const Setup& setup) {
  return std::make_unique<Pass>(config, radii, setup);
}

}  // namespace rashpa::kernel::sparsify::cuda
