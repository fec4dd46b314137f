// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The warps of the resident kernel that look for the last words of sources: a stack begins with no thread of the host.
#include <array>
#include <cstdint>

#include "rashpa/unit/cuda/resident/resident_team.cuh"
#include "rashpa/unit/cuda/word/records.cuh"

namespace rashpa::unit::cuda::resident_device {

/// The records that a warp reads at once.
constexpr std::uint32_t kRecordsAtOnce = 4;

/// A warp's view of the stack that waits. Bit i of a mask is the record of image i / dtps and DTP i % dtps.
class WaitingStack {
 public:
  __device__ WaitingStack(const ResidentTask& task, const Watched& shared)
      : task_(task),
        shared_(shared),
        whole_(task.stack * task.dtps == 32 ? ~0U : (1U << task.stack * task.dtps) - 1),
        own_image_(lanes_.lane / task.dtps),
        own_dtp_(lanes_.lane % task.dtps) {
    await_all();
  }
  __device__ void next() {
    first_ += task_.stack;
    for_host_ = false;
    await_all();
  }
  /// Returns true when a record was found that only the host may judge.
  [[nodiscard]] __device__ bool for_host() const { return for_host_; }

  /// Looks once, by all lanes, at the words, and at few awaited records beside them: one way across the bus for both.
  /// Others are read behind the words that say that they were written. Returns true when the stack may begin.
  __device__ bool look(std::uint32_t ticket) {
    const Words early = read(aim_);
    const bool of_dtp = lanes_.lane < task_.dtps;
    const bool listens = lanes_.lane == 31;  // to the host; there are fewer DTPs
    std::uint32_t word = 0;
    // acquire: lines and records behind the words; the host has taken the results before it gives their place
    if (of_dtp || listens) {
      word = word_device::acquired(listens ? task_.control->room.value : *shared_.last_words[lanes_.lane].word);
    }
    const bool room = static_cast<std::int32_t>(__shfl_sync(~0U, word, 31) - ticket) >= 0;
    std::uint32_t images = 0;
    if (of_dtp) images = written_since(word, shared_.last_words[lanes_.lane].dtp, first_, task_.stack);
    images = __shfl_sync(~0U, images, own_dtp_);
    const std::uint32_t written = __ballot_sync(~0U, own_image_ < images) & whole_;
    // A record that is good has been written, whenever it was read.
    if (take(aim_, early)) aim_early();
    while ((pending_ & written) != 0) {
      const Aim behind = aim(pending_ & written);
      take(behind, read(behind));
      aim_early();
      for_host_ = (pending_ & behind.which) != 0;
      if (for_host_) return false;
    }
    return pending_ == 0 && written == whole_ && room;
  }

 private:
  using Words = std::array<std::uint32_t, kRecordsAtOnce>;  // of records, this lane's
  /// Records to be read at once.
  struct Aim {
    std::uint32_t which = 0;
    std::array<std::uint32_t, kRecordsAtOnce> bit{};  // 0: none
    std::array<const volatile std::uint32_t*, kRecordsAtOnce> at{};
    std::array<record_words::Expected, kRecordsAtOnce> expected{};
  };
  __device__ void await_all() {
    pending_ = whole_;
    aim_early();
  }
  __device__ void aim_early() {
    const bool few = __popc(pending_) <= static_cast<int>(kRecordsAtOnce);
    aim_ = few ? aim(pending_) : Aim{};
  }
  /// Returns the first records of the mask.
  [[nodiscard]] __device__ Aim aim(std::uint32_t mask) const {
    Aim all;
#pragma unroll
    for (std::uint32_t i = 0; i < kRecordsAtOnce; ++i) {
      if (mask == 0) break;
      const auto number = static_cast<std::uint32_t>(__ffs(static_cast<int>(mask)) - 1);
      mask &= mask - 1;
      all.bit[i] = 1U << number;
      all.which |= all.bit[i];
      const LastWord& dtp = shared_.last_words[number % task_.dtps];
      const std::uint64_t index = first_ + number / task_.dtps;
      all.at[i] = reinterpret_cast<const volatile std::uint32_t*>(dtp.records + index % dtp.slots * 128) + lanes_.lane;
      all.expected[i] = record_words::expected(dtp, index, lanes_.lane);
    }
    return all;
  }
  [[nodiscard]] __device__ static Words read(const Aim& aim) {
    Words words{};
#pragma unroll
    for (std::uint32_t i = 0; i < kRecordsAtOnce; ++i) {
      if (aim.bit[i] != 0) words[i] = *aim.at[i];
    }
    return words;
  }
  /// Awaits the good ones no longer. Returns true when there were any.
  __device__ bool take(const Aim& aim, const Words& words) {
    if (aim.which == 0) return false;
    const std::uint32_t good = word_device::good_ones(lanes_, words, aim.expected);
    std::uint32_t taken = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kRecordsAtOnce; ++i) taken |= (good >> i & 1U) != 0 ? aim.bit[i] : 0;
    pending_ &= ~taken;
    return taken != 0;
  }

  const ResidentTask& task_;
  const Watched& shared_;
  word_device::LaneOfRecords lanes_;
  std::uint32_t whole_;
  std::uint32_t own_image_, own_dtp_;  // of the record whose number is that of the lane
  std::uint32_t pending_ = 0;          // not known to be good
  std::uint64_t first_ = 0;            // image of the stack
  bool for_host_ = false;
  Aim aim_;
};

/// Polls for the last words of all DTPs by a warp. A stack begins when the words say that all its images are there, all
/// records are good, and the host has taken the results that were in its place. A bad record, a skipped or a dark image
/// leaves the stack to the host.
template <bool kOneBlock>
__device__ void watch_words(const ResidentTask& task, Watched& shared, std::uint32_t watcher) {
  const std::uint32_t all_images = task.stack == kResidentImages ? ~0U : (1U << task.stack) - 1;
  std::uint32_t last = 0;
  Turn turn;
  WaitingStack stack(task, shared);
  Pace pace(shared.looks, task.even, watcher, task.word_watchers);
  for (;;) {
    unsigned long long claimed = 0;
    if (threadIdx.x % 32 == 0) {
      pace.wait();
      claimed = *static_cast<volatile unsigned long long*>(&shared.claimed);
    }
    claimed = __shfl_sync(~0U, claimed, 0);
    if ((claimed & kClosed) != 0) return;
    while (static_cast<std::int32_t>(static_cast<std::uint32_t>(claimed) - turn.ticket) >= 0) {
      last = turn.ticket;
      turn.next(task.stacks);
      stack.next();
    }
    if (stack.for_host() || !stack.look(turn.ticket)) continue;
    // The limits do not change: those of the first stack are those of all.
    if (threadIdx.x % 32 == 0) {
      let_go<kOneBlock>(task, shared, turn, last, slot_trigger(turn.ticket, all_images, turn.ticket == 1),
                        Begun::by_word);
    }
    __syncwarp();
  }
}

}  // namespace rashpa::unit::cuda::resident_device
