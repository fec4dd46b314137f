// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/checksum/checksum_opencl.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

namespace rashpa::kernel::checksum {
extern const std::string_view checksum_cl;
}

namespace rashpa::kernel::checksum::opencl {

namespace {

using memory::opencl::Device;

constexpr std::uint32_t kBlock = 256;        // bytes of a work item, where bytes lie without gaps
constexpr std::uint32_t kCoreBytes = 65536;  // of a group of one work item
constexpr std::size_t kKinds = 32;           // lengths of lines that differ
constexpr std::size_t kLinesOfJobs = 8;      // room for jobs: one for this number of lines of an image, and …
constexpr std::size_t kBytesOfJobs = 16384;  // … one for this number of bytes

/// `struct Job` of checksum.cl.
struct Job {
  cl_ulong first = 0;
  cl_ulong pitch = 0;
  cl_uint line_bytes = 0;
  cl_uint lines = 0;
  cl_uint share = 0;
  cl_uint skipped = 0;
  cl_uint factors = 0;
  cl_uint unused = 0;
};
static_assert(sizeof(Job) == 40);

/// Returns the tables that take a CRC-32C over four bytes at once.
std::vector<cl_uint> tables() {
  constexpr cl_uint kPolynomial = 0x82F63B78;
  std::vector<cl_uint> all(1024);
  for (cl_uint byte = 0; byte < 256; ++byte) {
    cl_uint crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ (kPolynomial & (0U - (crc & 1U)));
    all[byte] = crc;
  }
  for (std::size_t at = 256; at < all.size(); ++at) all[at] = all[all[at - 256] & 255U] ^ all[at - 256] >> 8U;
  return all;
}

/// Lines of one length, which jobs have: the number of lines of a work item, and the shifts that join the results of
/// work items.
struct Kind {
  std::uint32_t line_bytes = 0;
  std::uint32_t share = 0;
  Crc32cShift whole{0};  // by a whole job
};

class Pass final : public kernel::opencl::DevicePass {
 public:
  Pass(const Config& config, const Setup& setup, const Device& device)
      : config_(config),
        stack_(setup.stack),
        bytes_(setup.shape.pixels() * pixel_bytes(setup.in.type)),
        group_(device.group()),
        levels_(static_cast<std::uint32_t>(std::countr_zero(group_))),
        most_jobs_(bytes_ / kBytesOfJobs + setup.shape.height / kLinesOfJobs + 16),
        program_(kernel::opencl::build(device, "checksum", {checksum_cl}, "")),
        add_(program_, "add_lines"),
        tables_(device.memory_of(checksum::opencl::tables(), "tables of checksum")) {
    const std::size_t jobs = stack_ * most_jobs_;
    jobs_ = kernel::opencl::Fetched(device, setup.benches, jobs * sizeof(Job), "lines of checksum");
    found_ = kernel::opencl::Fetched(device, setup.benches, jobs * sizeof(cl_uint), "checksums of lines");
    factors_ = kernel::opencl::Fetched(device, setup.benches, kKinds * std::max(levels_, 1U) * sizeof(cl_uint),
                                       "factors of checksum");
    benches_.resize(setup.benches);
    for (Bench& bench : benches_) bench.first_job.resize(stack_);
  }
  [[nodiscard]] Where where() const noexcept override { return Where::both; }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    Bench& own = benches_[bench];
    own.jobs = 0;
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      own.first_job[i] = kByHost;
      if (stack.images == nullptr || stack.work == nullptr || stack.work[i] == 0) continue;
      const std::size_t before = own.jobs;
      own.first_job[i] = before;
      bool fits = true;
      static_cast<void>(verify(bytes_, stack.images[i].sums, [&](const Lines& lines) {
        fits = fits && plan(bench, own, i * std::size_t{stack.in_stride}, lines);
        return 0U;
      }));
      if (fits) continue;
      own.jobs = before;
      own.first_job[i] = kByHost;
    }
    own.sent = own.jobs;
    // Tried on nothing.
    if (own.jobs == 0) {
      *jobs_.host<Job>(bench) = {};
      own.sent = 1;
    }
    cl_int code = jobs_.send(bench, queue, own.sent * sizeof(Job));
    if (code == CL_SUCCESS) code = factors_.send(bench, queue, own.kinds_known * levels_ * sizeof(cl_uint));
    if (code != CL_SUCCESS) return code;
    return add_.run(queue, own.sent, 1, group_, stack.in, jobs_.device(bench), tables_.get(), factors_.device(bench),
                    found_.device(bench));
  }
  cl_int fetch(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t bench,
               cl_command_queue queue) const noexcept override {
    return found_.fetch(bench, queue);
  }
  void settle(const kernel::opencl::HostItem& item, Finding& finding) noexcept override {
    const Bench& bench = benches_[item.bench];
    const std::span<const PayloadSum> sums = item.of->sums;
    std::size_t next = bench.first_job[item.image];
    const Result result =
        next == kByHost
            ? verify({item.of->raw, bytes_}, sums)
            : verify(bytes_, sums, [&](const Lines& lines) { return joined(item.bench, bench, next, lines); });
    checksum::settle(config_, result, first_wrong_, finding);
  }
  [[nodiscard]] std::string failure() const override { return failure_of(first_wrong_); }

 private:
  static constexpr std::size_t kByHost = std::numeric_limits<std::size_t>::max();
  struct Bench {
    std::vector<std::size_t> first_job;  // by image; kByHost: there was no room
    std::array<Kind, kKinds> kinds{};
    std::size_t kinds_known = 0;
    std::size_t jobs = 0;
    std::size_t sent = 0;
  };
  /// Lines as the device has them: bytes without gaps become lines of one length, of which the first one may be
  /// shorter.
  struct Cut {
    std::uint64_t pitch = 0;
    std::uint32_t line_bytes = 0;
    std::uint64_t lines = 0;
    std::uint32_t skipped = 0;
  };
  [[nodiscard]] Cut cut(const Lines& lines) const noexcept {
    if (!lines.contiguous()) return {lines.pitch, static_cast<std::uint32_t>(lines.line_bytes), lines.lines, 0};
    const std::uint64_t count = (lines.bytes() + kBlock - 1) / kBlock;
    return {kBlock, kBlock, count, static_cast<std::uint32_t>(count * kBlock - lines.bytes())};
  }
  /// Returns which of the kinds those lines are; kKinds: there is no room.
  std::size_t kind_of(std::uint32_t bench, Bench& own, std::uint32_t line_bytes) const noexcept {
    for (std::size_t kind = 0; kind < own.kinds_known; ++kind) {
      if (own.kinds[kind].line_bytes == line_bytes) return kind;
    }
    if (own.kinds_known == kKinds) return kKinds;
    const std::uint32_t share = group_ == 1 ? std::max(1U, kCoreBytes / line_bytes) : 1;
    const std::uint64_t of_item = std::uint64_t{share} * line_bytes;
    own.kinds[own.kinds_known] = {line_bytes, share, Crc32cShift(of_item * group_)};
    for (std::uint32_t level = 0; level < levels_; ++level) {
      factors_.host<cl_uint>(bench)[own.kinds_known * levels_ + level] = Crc32cShift(of_item << level).factor();
    }
    return own.kinds_known++;
  }
  /// Returns false when there is no room.
  bool plan(std::uint32_t bench, Bench& own, std::uint64_t image, const Lines& lines) const noexcept {
    if (lines.line_bytes > std::numeric_limits<std::uint32_t>::max() && !lines.contiguous()) return false;
    const Cut found = cut(lines);
    const std::size_t kind = kind_of(bench, own, found.line_bytes);
    if (kind == kKinds) return false;
    const std::uint32_t share = own.kinds[kind].share;
    const std::uint64_t most = std::uint64_t{share} * group_;
    std::uint64_t taken = 0;
    while (taken < found.lines) {
      if (own.jobs == stack_ * most_jobs_) return false;
      // The first one has what is left over: all others are whole, so that one shift joins them.
      const std::uint64_t left = (found.lines - taken) % most;
      const std::uint64_t count = left == 0 ? most : left;
      Job& job = jobs_.host<Job>(bench)[own.jobs++];
      // Where the first line is short, it begins before its bytes: never below 0 where it is read.
      job = {image + lines.first + taken * found.pitch - found.skipped,
             found.pitch,
             found.line_bytes,
             static_cast<cl_uint>(count),
             share,
             taken == 0 ? found.skipped : 0,
             static_cast<cl_uint>(kind * levels_),
             0};
      taken += count;
    }
    return true;
  }
  /// The CRC32C of lines, of which jobs from `next` on have the parts.
  std::uint32_t joined(std::uint32_t bench, const Bench& own, std::size_t& next, const Lines& lines) const noexcept {
    const Cut found = cut(lines);
    const auto kind = std::find_if(own.kinds.begin(), own.kinds.end(),
                                   [&](const Kind& one) { return one.line_bytes == found.line_bytes; });
    const std::uint64_t most = std::uint64_t{kind->share} * group_;
    std::uint32_t crc = 0;
    for (std::uint64_t jobs = (found.lines + most - 1) / most; jobs != 0; --jobs) {
      crc = kind->whole(crc) ^ found_.host<cl_uint>(bench)[next++];
    }
    return ~(crc ^ Crc32cShift(lines.bytes())(~0U));
  }

  Config config_;
  std::size_t stack_;
  std::size_t bytes_;
  std::uint32_t group_;
  std::uint32_t levels_;
  std::size_t most_jobs_;  // of an image
  memory::opencl::Program program_;
  memory::opencl::Kernel add_;
  memory::opencl::Memory tables_;
  kernel::opencl::Fetched jobs_, found_, factors_;
  mutable std::vector<Bench> benches_;
  std::atomic<std::uint32_t> first_wrong_{kNoneWrong};
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup, const Device& device) {
  return std::make_unique<Pass>(config, setup, device);
}

}  // namespace rashpa::kernel::checksum::opencl
