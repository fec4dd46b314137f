// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "rashpa/kernel/checksum/checksum_cuda.hpp"
#include "rashpa/kernel/checksum/crc_tables.hpp"
#include "rashpa/kernel/divisor.cuh"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::checksum::cuda {

namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kBlocks = 3;                     // of a multiprocessor, that its registers hold
constexpr std::uint32_t kSegment = 4 * kTileBytes;  // of the bytes of a job, one line behind the other
constexpr std::uint32_t kMostJobs = 32;             // one for each lane that looks for its segment's
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << (kDigits * kDigitBits);
constexpr std::size_t kShifts = 64;  // lengths that are known

/// Some lines of an image of which the CRC32C is wanted.
struct Job {
  std::uint64_t first = 0;
  std::uint64_t pitch = 0;
  std::uint64_t line_bytes = 0;
  std::uint64_t bytes = 0;          // of all lines
  Divisor vectors_of_line;          // of 16 bytes; whole
  bool whole = false;               // lines begin and end at multiples of 16
  bool one = false;                 // lines lie without gaps
  std::uint32_t first_segment = 0;  // among those of the image
  std::uint32_t inverted = 0;       // what is inverted at the beginning and the end comes to this
  std::uint32_t factor = 0;         // shifts by all its bytes
  std::uint32_t expected = 0;
  std::uint32_t part = 0;
  bool joins = false;
  bool known = false;
};

/// What is to be done with an image.
struct Plan {
  std::uint32_t jobs = 0;
  std::uint32_t segments = 0;
  std::uint32_t by_host = 0;  // 1: `result` is there already
  Result result{};
  Job job[kMostJobs];
};

__device__ std::uint32_t product(std::uint32_t left, std::uint32_t right) {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;
  std::uint32_t sum = 0;
#pragma unroll
  for (int bit = 31; bit >= 0; --bit) {
    sum ^= right & (0U - (left >> bit & 1U));
    right = right >> 1U ^ (kPolynomial & (0U - (right & 1U)));
  }
  return sum;
}

/// Sums of the bits that are set in both, 16 rows by 8 columns.
struct Sums {
  std::uint32_t low0 = 0, low1 = 0, high0 = 0, high1 = 0;

  __device__ __forceinline__ void add(std::uint32_t low_first, std::uint32_t high_first, std::uint32_t low_second,
                                      std::uint32_t high_second, std::uint32_t first, std::uint32_t second) {
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(low0), "+r"(low1), "+r"(high0), "+r"(high1)
        : "r"(low_first), "r"(high_first), "r"(low_second), "r"(high_second), "r"(first), "r"(second));
  }
};

/// Sixteen bytes of a job's lines from `at` on, one line behind the other; those before `begin` are 0.
__device__ __forceinline__ uint4 load(const std::byte* image, const Job& job, std::int64_t at, std::int64_t begin) {
  if (at + 16 <= begin) return {};
  if (job.whole) {
    std::uint64_t from = job.first + static_cast<std::uint64_t>(at);
    if (!job.one) {
      std::uint32_t within = 0;
      const std::uint32_t line = job.vectors_of_line(static_cast<std::uint32_t>(at / 16), within);
      from = job.first + line * job.pitch + within * 16;
    }
    return __ldcs(reinterpret_cast<const uint4*>(image + from));
  }
  std::uint32_t words[4] = {};
  for (int byte = 0; byte < 16; ++byte) {
    if (at + byte < begin) continue;
    const auto offset = static_cast<std::uint64_t>(at + byte);
    const std::uint64_t line = job.one ? 0 : offset / job.line_bytes;
    const std::uint64_t from = job.first + line * job.pitch + (offset - line * job.line_bytes);
    words[byte / 4] |= static_cast<std::uint32_t>(image[from]) << (byte % 4 * 8);
  }
  return {words[0], words[1], words[2], words[3]};
}

/// The right side of all products, in registers.
class Factors {
 public:
  __device__ explicit Factors(const CrcTables& tables) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned quarter = 0; quarter < kQuarters; ++quarter) {
#pragma unroll
      for (unsigned step = 0; step < kSteps; ++step) {
        bytes_[step][quarter][0] = tables.bytes[step][quarter][0][lane];
        bytes_[step][quarter][1] = tables.bytes[step][quarter][1][lane];
      }
      before_[quarter] = tables.before[quarter][lane];
    }
  }
  /// The CRCs of a tile's rows behind those of the tile before: `low` of row lane / 4, `high` of the row eight below.
  __device__ __forceinline__ void add(const uint4 (&low_bytes)[4], const uint4 (&high_bytes)[4], std::uint32_t& low,
                                      std::uint32_t& high) const {
    const unsigned lane = threadIdx.x % 4;
    std::uint32_t made_low = 0, made_high = 0;
#pragma unroll
    for (unsigned quarter = 0; quarter < kQuarters; ++quarter) {
      Sums sums;
      sums.add(lane == 0 ? low : 0, lane == 0 ? high : 0, 0, 0, before_[quarter], 0);
#pragma unroll
      for (unsigned pair = 0; pair < kSteps / 2; ++pair) {
        const auto& even = bytes_[2 * pair][quarter];
        const auto& odd = bytes_[2 * pair + 1][quarter];
        sums.add(low_bytes[pair].x, high_bytes[pair].x, low_bytes[pair].y, high_bytes[pair].y, even[0], even[1]);
        sums.add(low_bytes[pair].z, high_bytes[pair].z, low_bytes[pair].w, high_bytes[pair].w, odd[0], odd[1]);
      }
      const unsigned at = quarter * 8 + lane * 2;
      made_low |= ((sums.low0 & 1U) | (sums.low1 & 1U) << 1U) << at;
      made_high |= ((sums.high0 & 1U) | (sums.high1 & 1U) << 1U) << at;
    }
#pragma unroll
    for (unsigned distance = 1; distance < 4; distance *= 2) {
      made_low |= __shfl_xor_sync(~0U, made_low, distance);
      made_high |= __shfl_xor_sync(~0U, made_high, distance);
    }
    low = made_low;
    high = made_high;
  }

 private:
  std::uint32_t bytes_[kSteps][kQuarters][2];
  std::uint32_t before_[kQuarters];
};

/// Zeros in front change nothing: tiles end where the segment does.
__device__ __forceinline__ std::uint32_t crc_of_segment(const std::byte* image, const Job& job, std::int64_t begin,
                                                        std::int64_t end, const Factors& factors,
                                                        const CrcTables& tables) {
  const unsigned lane = threadIdx.x % 32;
  const auto tiles = static_cast<std::uint32_t>((end - begin + kTileBytes - 1) / kTileBytes);
  std::int64_t at = end - std::int64_t{tiles} * kTileBytes + lane / 4 * kRowBytes + lane % 4 * 16;
  std::uint32_t low = 0, high = 0;
  for (std::uint32_t tile = 0; tile < tiles; ++tile, at += kTileBytes) {
    uint4 low_bytes[4], high_bytes[4];
#pragma unroll
    for (unsigned pair = 0; pair < 4; ++pair) {
      low_bytes[pair] = load(image, job, at + pair * 64, begin);
      high_bytes[pair] = load(image, job, at + kRows / 2 * kRowBytes + pair * 64, begin);
    }
    factors.add(low_bytes, high_bytes, low, high);
  }
  // Of four lanes that have the same two rows, each takes one.
  const unsigned row = lane / 4 + (lane % 2) * (kRows / 2);
  const std::uint32_t mine = lane % 4 < 2 ? product(tables.row[row], lane % 2 == 0 ? low : high) : 0;
  return __reduce_xor_sync(~0U, mine);
}

__device__ __forceinline__ std::uint32_t shifted(std::uint32_t crc, std::uint64_t bytes, const CrcTables& tables) {
#pragma unroll
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    const auto at = static_cast<std::uint32_t>(bytes >> (digit * kDigitBits)) % kDigit;
    if (at != 0) crc = product(tables.shift[digit][at], crc);
  }
  return crc;
}

/// All warps take the segments of all images in turn; found[image][job] becomes the sum of those of the job.
__global__ void __launch_bounds__(kThreads, kBlocks)
    add_segments(const std::byte* images, std::size_t stride, const std::uint8_t* work, std::uint32_t count,
                 const Plan* plans, const CrcTables* tables, std::uint32_t* found) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t most = 0;
  for (std::uint32_t i = lane; i < count; i += 32) most = max(most, work[i] != 0 ? plans[i].segments : 0);
  most = __reduce_max_sync(~0U, most);
  const Factors factors(*tables);
  const std::uint64_t all = std::uint64_t{count} * most;
  for (std::uint64_t turn = blockIdx.x * kWarps + threadIdx.x / 32; turn < all; turn += gridDim.x * kWarps) {
    const auto number = static_cast<std::uint32_t>(turn / most);
    const auto segment = static_cast<std::uint32_t>(turn - std::uint64_t{number} * most);
    const Plan& plan = plans[number];
    if (work[number] == 0 || segment >= plan.segments) continue;
    const bool before = lane < plan.jobs && plan.job[lane].first_segment <= segment;
    const unsigned at = __popc(__ballot_sync(~0U, before)) - 1;
    const Job job = plan.job[at];
    const std::uint64_t from = std::uint64_t{segment - job.first_segment} * kSegment;
    const std::uint64_t to = min(from + kSegment, job.bytes);
    const std::uint32_t crc = crc_of_segment(images + number * stride, job, static_cast<std::int64_t>(from),
                                             static_cast<std::int64_t>(to), factors, *tables);
    const std::uint32_t sum = shifted(crc, job.bytes - to, *tables);
    if (lane == 0) atomicXor(&found[number * kMostJobs + at], sum);
  }
}

/// Leaves `found` cleared for the next stack.
__device__ Result result_of(const Plan& plan, std::uint32_t* found) {
  if (plan.by_host != 0) return plan.result;
  Result result;
  bool joined = false;
  for (std::uint32_t j = 0; j < plan.jobs; ++j) {
    const Job& job = plan.job[j];
    const std::uint32_t crc = found[j] ^ job.inverted;
    found[j] = 0;
    if (job.joins) result.crc32c = joined ? product(job.factor, result.crc32c) ^ crc : crc;
    joined = joined || job.joins;
    if (!job.known) continue;
    if (crc == job.expected) {
      result.verified += 1;
    } else if (result.wrong++ == 0) {
      result.first = job.part;
    }
  }
  return result;
}

/// `first_wrong`: the first part that was, for everybody; host memory.
__global__ void settle(const kernel::cuda::DeviceStack stack, const Plan* plans, std::uint32_t* found, bool veto,
                       std::uint32_t* first_wrong) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= stack.count || stack.work[i] == 0) return;
  const Result result = result_of(plans[i], found + i * kMostJobs);
  stack.scalars[i * stack.scalars_stride] = Scalar::of_count(result.crc32c);
  stack.scalars[i * stack.scalars_stride + 1] = Scalar::of_count(result.verified);
  if (result.wrong == 0) return;
  stack.work[i] = 0;
  if (veto) {
    stack.findings[i].verdict = 1;
    stack.findings[i].step = stack.step;
    return;
  }
  stack.findings[i].failed = static_cast<std::uint8_t>(stack.step + 1);
  if (*static_cast<volatile std::uint32_t*>(first_wrong) == kNoneWrong) {
    *static_cast<volatile std::uint32_t*>(first_wrong) = result.first;
  }
}

class Pass final : public kernel::cuda::DevicePass {
 public:
  Pass(const Config& config, const Setup& setup)
      : config_(config),
        bytes_(setup.shape.pixels() * pixel_bytes(setup.in.type)),
        blocks_(blocks_of_device()),
        plans_(setup.places * sizeof(Plan)),
        first_wrong_(sizeof(std::uint32_t)),
        tables_(sizeof(CrcTables)) {
    *first_wrong_.as<std::uint32_t>() = kNoneWrong;
    const auto tables = std::make_unique<CrcTables>();
    make(*tables);
    memory::cuda::check(cudaMemcpy(tables_.as<void>(), tables.get(), sizeof(CrcTables), cudaMemcpyHostToDevice),
                        "tables of checksum");
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      copies_.emplace_back(setup.stack * sizeof(Plan));
      found_.emplace_back(setup.stack * kMostJobs * sizeof(std::uint32_t));
    }
  }
  void prepare(std::uint32_t place, const StackImage& image) noexcept override {
    Plan& plan = plans_.as<Plan>()[place];
    plan.jobs = 0;
    plan.segments = 0;
    plan.by_host = 0;
    each_part(bytes_, image.sums, [&](const Lines& lines, bool joins, const PayloadSum* sum, std::uint32_t part) {
      if (plan.jobs == kMostJobs || lines.bytes() >= kMostBytes) {
        plan.by_host = 1;
        return;
      }
      const Shift& shift = shift_of(lines.bytes());
      Job job;
      job.first = lines.first;
      job.pitch = lines.pitch;
      job.line_bytes = lines.line_bytes;
      job.bytes = lines.bytes();
      job.one = lines.contiguous();
      job.whole = job.first % 16 == 0 && job.bytes % 16 == 0 && (job.one || (job.pitch | job.line_bytes) % 16 == 0);
      job.vectors_of_line = Divisor(static_cast<std::uint32_t>(job.line_bytes / 16));
      job.first_segment = plan.segments;
      job.inverted = shift.inverted;
      job.factor = shift.factor;
      job.joins = joins;
      job.known = sum != nullptr;
      job.expected = sum != nullptr ? sum->crc32c : 0;
      job.part = part;
      plan.job[plan.jobs++] = job;
      plan.segments += static_cast<std::uint32_t>((job.bytes + kSegment - 1) / kSegment);
    });
    if (plan.by_host == 0) return;
    plan.jobs = 0;
    plan.segments = 0;
    plan.result = verify({image.raw, bytes_}, image.sums);
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    auto* const plans = copies_[bench].as<Plan>();
    auto* const found = found_[bench].as<std::uint32_t>();
    cudaError_t code = cudaMemcpyAsync(plans, plans_.as<Plan>() + stack.place, stack.count * sizeof(Plan),
                                       cudaMemcpyHostToDevice, stream);
    if (code != cudaSuccess) return code;
    add_segments<<<blocks_, kThreads, 0, stream>>>(stack.in, stack.in_stride, stack.work, stack.count, plans,
                                                   tables_.as<CrcTables>(), found);
    code = cudaGetLastError();
    if (code != cudaSuccess) return code;
    settle<<<(stack.count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        stack, plans, found, config_.on_mismatch == OnMismatch::veto, first_wrong_.as<std::uint32_t>());
    return cudaGetLastError();
  }
  [[nodiscard]] std::string failure() const override {
    const std::atomic<std::uint32_t> first(
        std::atomic_ref(*first_wrong_.as<std::uint32_t>()).load(std::memory_order_relaxed));
    return failure_of(first);
  }

 private:
  /// Of lines of that many bytes.
  struct Shift {
    std::uint64_t bytes = 0;
    std::uint32_t factor = 0;
    std::uint32_t inverted = 0;
  };
  const Shift& shift_of(std::uint64_t bytes) noexcept {
    for (std::size_t at = 0; at < shifts_known_; ++at) {
      if (shifts_[at].bytes == bytes) return shifts_[at];
    }
    if (shifts_known_ == kShifts) shifts_known_ = 0;
    const Crc32cShift shift(bytes);
    shifts_[shifts_known_] = {bytes, shift.factor(), ~shift(~0U)};
    return shifts_[shifts_known_++];
  }
  /// Those that the device holds at once: each warp begins with loading its factors.
  static std::uint32_t blocks_of_device() {
    int device = 0, processors = 0;
    memory::cuda::check(cudaGetDevice(&device), "the device");
    memory::cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                        "multiprocessors of the device");
    return kBlocks * static_cast<std::uint32_t>(processors);
  }

  Config config_;
  std::size_t bytes_;
  std::uint32_t blocks_;
  memory::cuda::PinnedMemory plans_;  // by place
  memory::cuda::PinnedMemory first_wrong_;
  memory::cuda::DeviceMemory tables_;
  std::vector<memory::cuda::DeviceMemory> copies_;  // of plans, by bench
  std::vector<memory::cuda::DeviceMemory> found_;   // by bench, [image][job]
  std::array<Shift, kShifts> shifts_{};
  std::size_t shifts_known_ = 0;
};

}  // namespace

std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup) {
  return std::make_unique<Pass>(config, setup);
}

}  // namespace rashpa::kernel::checksum::cuda
