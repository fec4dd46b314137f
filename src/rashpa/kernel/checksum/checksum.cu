// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "rashpa/kernel/checksum/checksum_cuda.hpp"
#include "rashpa/kernel/checksum/crc_tables.hpp"
#include "rashpa/kernel/device/divisor.cuh"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::kernel::checksum::cuda {

namespace {

constexpr unsigned kThreads = 1024;  // one block a multiprocessor, which its tables fill
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kSettleThreads = 128;
constexpr std::uint32_t kMostSegment = 32768;  // bytes of a job's lines, one behind the other
constexpr std::uint32_t kMostJobs = 32;        // one for each lane that looks for its segment's
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << (kDigits * kDigitBits);
constexpr unsigned kAhead = 4;       // rows on their way at once
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
  std::uint32_t segment = 0;        // bytes; the last one may have fewer
  std::uint32_t inverted = 0;       // the sum of both inversions, at the beginning and the end
  std::uint32_t factor = 0;         // shifts by all its bytes
  std::uint32_t expected = 0;
  std::uint32_t part = 0;
  bool joins = false;
  bool known = false;
};

/// The work on an image.
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

/// The tables in shared memory, a copy for each lane, on a bank of its own: value v of bytes 2i and 2i + 1 of a CRC
/// lies at 65536 · i + 256 · v and 128 behind that, and those of four bits lie behind all of these.
constexpr unsigned kBytesAt = 65536;
constexpr unsigned kWordAt = 2 * kBytesAt;
constexpr unsigned kSharedBytes = kWordAt + 8 * 16 * 128;

extern __shared__ uint4 shared_tables[];

__device__ __forceinline__ void fill(const CrcTables& tables) {
  const std::uint32_t* const row = &tables.row[0][0][0];
  for (unsigned at = threadIdx.x; at < kWordAt / 16; at += kThreads) {
    const std::uint32_t value = row[at / 8];
    shared_tables[at] = {value, value, value, value};
  }
  const std::uint32_t* const word = &tables.word[0][0];
  for (unsigned at = threadIdx.x; at < (kSharedBytes - kWordAt) / 16; at += kThreads) {
    const std::uint32_t value = word[at / 8];
    shared_tables[kWordAt / 16 + at] = {value, value, value, value};
  }
}

__device__ __forceinline__ std::uint32_t table_at(unsigned offset) {
  return *reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const std::byte*>(shared_tables) + offset);
}

/// A CRC, a row later, and the word that comes then. `bank`: four times the lane.
__device__ __forceinline__ std::uint32_t next_row(std::uint32_t crc, std::uint32_t word, unsigned bank) {
  const std::uint32_t first = table_at(__byte_perm(crc, bank, 0x5504));
  const std::uint32_t second = table_at(__byte_perm(crc, bank, 0x5514) + 128);
  const std::uint32_t third = table_at(__byte_perm(crc, bank, 0x5524) + kBytesAt);
  const std::uint32_t fourth = table_at(__byte_perm(crc, bank, 0x5534) + kBytesAt + 128);
  return (first ^ second ^ third) ^ fourth ^ word;
}

/// A CRC, four bytes later.
__device__ __forceinline__ std::uint32_t next_word(std::uint32_t crc, unsigned bank) {
  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) sum ^= table_at(((crc >> (4 * i) & 15U) << 7U | bank) + kWordAt + i * 2048);
  return sum;
}

/// Sixteen bytes of a job's lines from `at` on, one line behind the other; those before `begin` are 0.
__device__ __noinline__ uint4 by_bytes(const std::byte* image, const Job& job, std::int64_t at, std::int64_t begin) {
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

/// Zeros in front change nothing: rows end where the segment does. load(at) is for those that lie wholly in it; bytes
/// before `begin` of the first one are 0.
template <unsigned Ahead, typename Load>
__device__ __forceinline__ std::uint32_t crc_of_rows(std::int64_t begin, std::int64_t end, std::uint32_t factor,
                                                     Load load) {
  const unsigned lane = threadIdx.x % 32, bank = lane * 4;
  auto rows = static_cast<std::uint32_t>((end - begin + kRowBytes - 1) / kRowBytes);
  std::int64_t at = end - std::int64_t{rows} * kRowBytes + lane * 16;
  uint4 sum{};
  const auto add = [&](const uint4& bytes) {
    sum.x = next_row(sum.x, bytes.x, bank);
    sum.y = next_row(sum.y, bytes.y, bank);
    sum.z = next_row(sum.z, bytes.z, bank);
    sum.w = next_row(sum.w, bytes.w, bank);
  };
  if ((end - begin) % kRowBytes != 0) {
    if (at + 16 > begin) add(load(at));
    at += kRowBytes;
    --rows;
  }
#pragma unroll 1
  for (; rows >= Ahead; rows -= Ahead, at += Ahead * kRowBytes) {
    uint4 ahead[Ahead];
#pragma unroll
    for (unsigned i = 0; i < Ahead; ++i) ahead[i] = load(at + i * kRowBytes);
    asm volatile("" ::: "memory");  // all are on their way before the first is used
#pragma unroll
    for (unsigned i = 0; i < Ahead; ++i) add(ahead[i]);
  }
#pragma unroll 1
  for (; rows != 0; --rows, at += kRowBytes) add(load(at));
  std::uint32_t crc = next_word(sum.x, bank) ^ sum.y;
  crc = next_word(crc, bank) ^ sum.z;
  crc = next_word(crc, bank) ^ sum.w;
  return __reduce_xor_sync(~0U, product(factor, crc));
}

__device__ __forceinline__ std::uint32_t crc_of_segment(const std::byte* image, const Job& job, std::int64_t begin,
                                                        std::int64_t end, std::uint32_t factor) {
  const std::byte* const from = image + job.first;
  if (job.whole && job.one) {
    return crc_of_rows<kAhead>(begin, end, factor,
                               [from](std::int64_t at) { return __ldcs(reinterpret_cast<const uint4*>(from + at)); });
  }
  if (job.whole) {
    return crc_of_rows<kAhead>(
        begin, end, factor, [from, pitch = job.pitch, vectors_of_line = job.vectors_of_line](std::int64_t at) {
          std::uint32_t within = 0;
          const std::uint32_t line = vectors_of_line(static_cast<std::uint32_t>(at / 16), within);
          return __ldcs(reinterpret_cast<const uint4*>(from + line * pitch + within * 16));
        });
  }
  return crc_of_rows<1>(begin, end, factor, [&](std::int64_t at) { return by_bytes(image, job, at, begin); });
}

__device__ __forceinline__ std::uint32_t shifted(std::uint32_t crc, std::uint64_t bytes, const CrcTables& tables) {
#pragma unroll
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    const auto at = static_cast<std::uint32_t>(bytes >> (digit * kDigitBits)) % kDigit;
    if (at != 0) crc = product(tables.shift[digit][at], crc);
  }
  return crc;
}

/// A warp's result for a segment; a thread shifts it to its place.
struct Piece {
  std::uint32_t crc = 0;
  std::uint32_t* to = nullptr;  // null: none
  std::uint64_t bytes = 0;      // that follow
  __device__ __forceinline__ void join(const CrcTables& tables) const {
    if (to != nullptr) atomicXor(to, shifted(crc, bytes, tables));
  }
};

/// All warps take the segments of all images in turn; found[image][job] becomes the sum of those of the job.
__global__ void __launch_bounds__(kThreads, 1)
    add_segments(const std::byte* images, std::size_t stride, const std::uint8_t* work, std::uint32_t count,
                 const Plan* plans, const CrcTables* tables, std::uint32_t* found) {
  __shared__ Piece last[kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint32_t most = 0;
  for (std::uint32_t i = lane; i < count; i += 32) most = max(most, work[i] != 0 ? plans[i].segments : 0);
  most = __reduce_max_sync(~0U, most);
  if (most == 0) return;
  fill(*tables);
  __syncthreads();
  // A lane keeps what its warp has found in one turn of 32, so that they are shifted side by side.
  Piece mine;
  unsigned kept = 0;
  const std::uint64_t all = std::uint64_t{count} * most;
  for (std::uint64_t turn = blockIdx.x * kWarps + warp; turn < all; turn += gridDim.x * kWarps) {
    const auto number = static_cast<std::uint32_t>(turn / most);
    const auto segment = static_cast<std::uint32_t>(turn - std::uint64_t{number} * most);
    const Plan& plan = plans[number];
    if (work[number] == 0 || segment >= plan.segments) continue;
    const bool before = lane < plan.jobs && plan.job[lane].first_segment <= segment;
    const unsigned at = __popc(__ballot_sync(~0U, before)) - 1;
    const Job& job = plan.job[at];
    const std::uint64_t from = std::uint64_t{segment - job.first_segment} * job.segment;
    const std::uint64_t to = min(from + job.segment, job.bytes);
    std::uint32_t factor = tables->lane[lane];
    asm volatile("" : "+r"(factor));  // derived values are not kept in 32 registers
    const std::uint32_t crc = crc_of_segment(images + number * stride, job, static_cast<std::int64_t>(from),
                                             static_cast<std::int64_t>(to), factor);
    if (lane == kept) mine = {crc, &found[number * kMostJobs + at], job.bytes - to};
    if (++kept < 32) continue;
    mine.join(*tables);
    mine.to = nullptr;
    kept = 0;
  }
  // Often there was one turn: the block's are shifted side by side then.
  if (lane == 0) last[warp] = mine;
  if (lane > 0) mine.join(*tables);
  __syncthreads();
  if (warp == 0) last[lane].join(*tables);
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

class Pass final : public kernel::cuda::DevicePass, public kernel::cuda::Preparing {
 public:
  Pass(const Config& config, const Setup& setup)
      : config_(config),
        bytes_(setup.shape.pixels() * pixel_bytes(setup.in.type)),
        blocks_(blocks_of_device()),
        stack_(setup.stack),
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
      job.inverted = shift.inverted;
      job.factor = shift.factor;
      job.joins = joins;
      job.known = sum != nullptr;
      job.expected = sum != nullptr ? sum->crc32c : 0;
      job.part = part;
      plan.job[plan.jobs++] = job;
    });
    if (plan.by_host == 0) return cut(plan);
    plan.jobs = 0;
    // Of images that the host does not see: receivers refuse a larger number of parts.
    plan.result = image.raw == nullptr ? Result{} : verify({image.raw, bytes_}, image.sums);
  }
  int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t bench,
              cudaStream_t stream) const noexcept override {
    auto* const plans = copies_[bench].as<Plan>();
    auto* const found = found_[bench].as<std::uint32_t>();
    cudaError_t code = cudaMemcpyAsync(plans, plans_.as<Plan>() + stack.place, stack.count * sizeof(Plan),
                                       cudaMemcpyHostToDevice, stream);
    if (code != cudaSuccess) return code;
    add_segments<<<blocks_, kThreads, kSharedBytes, stream>>>(stack.in, stack.in_stride, stack.work, stack.count, plans,
                                                              tables_.as<CrcTables>(), found);
    code = cudaGetLastError();
    if (code != cudaSuccess) return code;
    settle<<<(stack.count + kSettleThreads - 1) / kSettleThreads, kSettleThreads, 0, stream>>>(
        stack, plans, found, config_.on_mismatch == OnMismatch::veto, first_wrong_.as<std::uint32_t>());
    return cudaGetLastError();
  }
  [[nodiscard]] std::string failure() const override {
    const std::atomic<std::uint32_t> first(
        // relaxed: the host reads behind the stream
        std::atomic_ref(*first_wrong_.as<std::uint32_t>()).load(std::memory_order_relaxed));
    return failure_of(first);
  }

 private:
  /// Constants that carry a CRC-32C over `bytes` further bytes: see Crc32cShift.
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
  static std::uint32_t blocks_of_device() {
    int device = 0, processors = 0;
    memory::cuda::check(cudaGetDevice(&device), "the device");
    memory::cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                        "multiprocessors of the device");
    memory::cuda::check(cudaFuncSetAttribute(add_segments, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
                        "shared memory for checksum");
    return static_cast<std::uint32_t>(processors);
  }
  /// Cuts jobs into segments, so that each warp has as many as the others when a stack is full.
  void cut(Plan& plan) const noexcept {
    std::uint64_t bytes = 0;
    for (std::uint32_t j = 0; j < plan.jobs; ++j) bytes += plan.job[j].bytes;
    const std::uint64_t warps = std::uint64_t{blocks_} * kWarps;
    const std::uint64_t turns = bytes * stack_ / (warps * kMostSegment) + 1;
    const std::uint64_t segments = std::max<std::uint64_t>(1, warps * turns / stack_);
    for (std::uint32_t j = 0; j < plan.jobs; ++j) {
      Job& job = plan.job[j];
      const std::uint64_t of_job = std::max<std::uint64_t>(1, segments * job.bytes / bytes);
      job.segment = static_cast<std::uint32_t>(((job.bytes - 1) / of_job / kRowBytes + 1) * kRowBytes);
      job.first_segment = plan.segments;
      plan.segments += static_cast<std::uint32_t>((job.bytes - 1) / job.segment + 1);
    }
  }

  Config config_;
  std::size_t bytes_;
  std::uint32_t blocks_;
  std::uint64_t stack_;
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
