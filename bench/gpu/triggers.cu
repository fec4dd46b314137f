// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cuda/atomic>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rashpa/memory/cuda/wait_value.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

using HostWord = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_system>;

constexpr std::uint32_t kStop = ~0U;
constexpr std::int64_t kPatienceNs = 5'000'000'000;

// Floors: the word alone crosses the bus. A kernel that has written results must release them before it answers.
__global__ void answer(std::uint32_t* reply, std::uint32_t value) {
  HostWord(*reply).store(value, ::cuda::memory_order_relaxed);
}

/// For a graph, whose parameters stay: counts by itself.
__global__ void answer_next(std::uint32_t* reply, std::uint32_t* counter) {
  *counter += 1;
  HostWord(*reply).store(*counter, ::cuda::memory_order_relaxed);
}

/// Stays on the device and answers every new value of the trigger until it is kStop. One thread polls: reads of one
/// word over the bus queue up, and each more makes the answer later (4 pollers: 4.1 us, 16: 14.6 us).
__global__ void answer_until_stopped(std::uint32_t* trigger, std::uint32_t* reply) {
  std::uint32_t last = 0;
  while (last != kStop) {
    const std::uint32_t now = HostWord(*trigger).load(::cuda::memory_order_relaxed);
    if (now == last) continue;
    HostWord(*reply).store(now, ::cuda::memory_order_relaxed);
    last = now;
  }
}

/// The same, and what was written before the trigger is seen, what is written after is seen with the answer.
__global__ void answer_in_order(std::uint32_t* trigger, std::uint32_t* reply) {
  std::uint32_t last = 0;
  while (last != kStop) {
    const std::uint32_t now = HostWord(*trigger).load(::cuda::memory_order_acquire);
    if (now == last) continue;
    last = now;
    HostWord(*reply).store(now, ::cuda::memory_order_release);
  }
}

/// Two words of host memory that the device sees, on cache lines of their own.
class Words {
 public:
  [[nodiscard]] std::uint32_t* trigger() const noexcept { return memory_.as<std::uint32_t>(); }
  [[nodiscard]] std::uint32_t* reply() const noexcept { return trigger() + 32; }
  void write(std::uint32_t value) const noexcept {
    std::atomic_ref<std::uint32_t>(*trigger()).store(value, std::memory_order_release);
  }
  /// False when the device has not answered within kPatienceNs.
  [[nodiscard]] bool answered(std::uint32_t value) const noexcept {
    const std::int64_t begin = now_ns();
    const std::atomic_ref<std::uint32_t> reply_word(*reply());
    for (std::uint32_t polls = 1; reply_word.load(std::memory_order_acquire) != value; ++polls) {
      if (polls % 4096 == 0 && now_ns() - begin > kPatienceNs) return false;
    }
    return true;
  }

 private:
  memory::cuda::PinnedMemory memory_{256};
};

/// p50, p99 and the largest of the latencies, as rows.
Rows rows_of(const std::string& what, std::vector<std::int64_t> ns) {
  std::sort(ns.begin(), ns.end());
  const auto at = [&](double fraction) {
    const auto index = static_cast<std::size_t>(fraction * static_cast<double>(ns.size()));
    return static_cast<double>(ns[std::min(index, ns.size() - 1)]) * 1e-3;
  };
  return {{what + ", p50", at(0.5), "us"}, {what + ", p99", at(0.99), "us"}, {what + ", max", at(1), "us"}};
}

[[noreturn]] void no_answer(const char* mode) {
  throw ResourceError(std::string("gpu_bench: ") + mode + ": the device did not answer within 5 s");
}

/// Triggers come when they come: up to 3 µs between an answer and the next, at random. Without, host and device fall
/// into step, and a poll leaves always just before or always just after the word is written.
class Pause {
 public:
  void operator()() noexcept {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const std::int64_t end = now_ns() + static_cast<std::int64_t>((state_ >> 33U) % 3000);
    while (now_ns() < end) {
    }
  }

 private:
  std::uint64_t state_ = 1;
};

/// Times start(k) until the device has answered k, for k = 1 … repeats.
template <class Start>
Rows time_each(const char* what, const Words& words, int repeats, Start start) {
  std::vector<std::int64_t> ns;
  ns.reserve(static_cast<std::size_t>(repeats));
  Pause pause;
  for (int i = 1; i <= repeats; ++i) {
    const auto k = static_cast<std::uint32_t>(i);
    pause();
    const std::int64_t begin = now_ns();
    start(k);
    if (!words.answered(k)) no_answer(what);
    ns.push_back(now_ns() - begin);
  }
  return rows_of(what, std::move(ns));
}

Rows by_launch(int repeats) {
  const Words words;
  const memory::cuda::Stream owned;
  cudaStream_t stream = owned.get();
  Rows rows = time_each("kernel launch to visible effect", words, repeats, [&](std::uint32_t k) {
    answer<<<1, 1, 0, stream>>>(words.reply(), k);
    memory::cuda::check(cudaGetLastError(), "launch");
  });
  memory::cuda::check(cudaStreamSynchronize(stream), "launch");
  return rows;
}

Rows by_graph(int repeats) {
  const Words words;
  const memory::cuda::Stream owned;
  cudaStream_t stream = owned.get();
  DeviceArray<std::uint32_t> counter(1);
  counter.fill(0);
  const memory::cuda::Graph graph(stream, [&] {
    answer_next<<<1, 1, 0, stream>>>(words.reply(), counter.data());
    return cudaGetLastError();
  });
  Rows rows = time_each("graph launch to visible effect", words, repeats,
                        [&](std::uint32_t) { memory::cuda::check(graph.launch(stream), "launch a graph"); });
  memory::cuda::check(cudaStreamSynchronize(stream), "graph");
  return rows;
}

Rows by_wait_value(int repeats) {
  constexpr std::uint32_t kEnqueuedAhead = 100;
  const memory::cuda::WaitValue wait = memory::cuda::wait_value();
  const Words words;
  const memory::cuda::Stream owned;
  cudaStream_t stream = owned.get();
  const auto trigger = reinterpret_cast<CUdeviceptr>(words.trigger());
  std::uint32_t enqueued = 0;
  std::vector<std::int64_t> ns;
  Pause pause;
  for (std::uint32_t k = 1; k <= static_cast<std::uint32_t>(repeats); ++k) {
    if (k > enqueued) {
      memory::cuda::check(cudaStreamSynchronize(stream), "wait value");
      while (enqueued < k + kEnqueuedAhead - 1) {
        enqueued += 1;
        if (wait(stream, trigger, enqueued, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
          words.write(kStop - 1);  // releases what is held
          throw ResourceError("gpu_bench: cuStreamWaitValue32 is refused");
        }
        answer<<<1, 1, 0, stream>>>(words.reply(), enqueued);
      }
    }
    pause();
    const std::int64_t begin = now_ns();
    words.write(k);
    if (!words.answered(k)) no_answer("wait value");
    ns.push_back(now_ns() - begin);
  }
  words.write(enqueued);
  memory::cuda::check(cudaStreamSynchronize(stream), "wait value");
  return rows_of("release of cuStreamWaitValue32 to visible effect", std::move(ns));
}

using Resident = void (*)(std::uint32_t*, std::uint32_t*);

Rows by_resident(const char* what, Resident kernel, int repeats) {
  const Words words;
  const memory::cuda::Stream owned;
  cudaStream_t stream = owned.get();
  kernel<<<1, 1, 0, stream>>>(words.trigger(), words.reply());
  memory::cuda::check(cudaGetLastError(), "resident kernel");
  Rows rows;
  try {
    rows = time_each(what, words, repeats, [&](std::uint32_t k) { words.write(k); });
  } catch (...) {
    words.write(kStop);
    throw;
  }
  words.write(kStop);
  memory::cuda::check(cudaStreamSynchronize(stream), "resident kernel");
  return rows;
}

}  // namespace

Rows trigger_floors(int repeats) {
  Rows rows;
  const auto add = [&](const Rows& more) { rows.insert(rows.end(), more.begin(), more.end()); };
  add(by_launch(repeats));
  add(by_graph(repeats));
  add(by_wait_value(repeats));
  add(by_resident("word to a resident kernel and back", answer_until_stopped, repeats));
  add(by_resident("word to a resident kernel and back, acquired and released", answer_in_order, repeats));
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
