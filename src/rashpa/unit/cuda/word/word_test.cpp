// SPDX-License-Identifier: Apache-2.0
/// Stacks that begin by last words, with a thread in place of the source. Run by `make test-device`.
#include "rashpa/unit/cuda/word/word.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;

constexpr std::uint32_t kStack = 4, kStacks = 4, kDtps = 2, kRun = 9, kLeast = 100;
constexpr kernel::Shape kShape{129, 102};
constexpr std::uint32_t kSlots = kStack * kStacks;

Pipeline vetoing(const jungfrau::Config& config) {
  return {{config, kernel::bragg_count::Config{10, kLeast, 100'000}}};
}

// By the unit's own look, which has kernels loaded at once: loading one later would wait for those that wait.
bool no_gpu() {
  const std::vector<std::string> cuda{"cuda"};
  return available_devices(cuda).empty();
}

/// A ring of images, with a record and a word behind them for each of two DTPs.
struct Source {
  explicit Source(const kernel::Shape& shape = kShape)
      : config(jungfrau::synthetic::config(shape.width, shape.height, jungfrau::Output::photons, 1, 0.01)),
        lines(shape.height / kDtps),
        ring(shape.width, shape.height, kStack, kStacks, memory::MemoryKind::pageable) {
    for (std::uint32_t d = 0; d < kDtps; ++d) {
      word(d).store(immediate_of(id(d), ~std::uint64_t{0}));
      ring.layout.last_words.push_back({.word = reinterpret_cast<const std::uint32_t*>(&word(d)),
                                        .block = words.data(),
                                        .block_bytes = words.size(),
                                        .records = records[d].data(),
                                        .slots = kSlots,
                                        .dtp = id(d),
                                        .run = kRun,
                                        .lines = lines,
                                        .every = 1,
                                        .phase = 0});
    }
  }
  static std::uint32_t id(std::uint32_t dtp) { return 40 + dtp; }
  std::atomic<std::uint32_t>& word(std::uint32_t dtp) {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(words.data() + 256 * std::size_t{dtp});
  }
  void pixels(std::uint64_t index) {
    const auto frame = jungfrau::synthetic::frame(config, index % 3 == 0 ? 0.0 : 0.03, index + 1);
    std::memcpy(ring.memory.data() + index % kSlots * ring.stride, frame.data(), frame.size() * 2);
  }
  void record(std::uint32_t dtp, std::uint64_t index, std::uint32_t run = kRun, std::uint32_t flags = 0) {
    FrameRecord made;
    made.dtp = id(dtp);
    made.flags = flags;
    made.frame_number = made.index = index;
    made.slot = static_cast<std::uint32_t>(index % kSlots);
    made.lines = lines;
    made.run = run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(made, bytes);
    std::memcpy(records[dtp].data() + index % kSlots * FrameRecord::kBytes, bytes.data(), bytes.size());
  }
  void say(std::uint32_t dtp, std::uint64_t index) {
    word(dtp).store(immediate_of(id(dtp), index), std::memory_order_release);  // as a source: behind lines and record
  }
  /// Writes a stack as a whole, the DTPs one after the other.
  void write(std::uint64_t number) {
    for (std::uint64_t k = number * kStack; k < (number + 1) * kStack; ++k) pixels(k);
    for (std::uint32_t d = 0; d < kDtps; ++d) {
      for (std::uint64_t k = number * kStack; k < (number + 1) * kStack; ++k) {
        record(d, k);
        say(d, k);
      }
    }
  }
  Stack& stack(std::uint64_t number) {
    Stack& one = ring.all[number % kStacks];
    one.number = number;
    for (std::uint32_t i = 0; i < kStack; ++i) one.images[i].index = number * kStack + i;
    return one;
  }

  jungfrau::Config config;
  std::uint32_t lines;  // of a DTP
  StackRing ring;
  memory::Buffer words{4096, memory::MemoryKind::pageable};
  std::array<memory::Buffer, kDtps> records{memory::Buffer{4096, memory::MemoryKind::pageable},
                                            memory::Buffer{4096, memory::MemoryKind::pageable}};
};

/// The watcher of words: kernels at the head of graphs, or the resident kernel, which works by one block on images that
/// are small.
enum class By : std::uint8_t { graphs, resident, one_block };
constexpr std::array<const char*, 3> kNames{"graphs", "resident", "one_block"};

/// The dispatch alone, of which a test sees when the device has done a stack.
class Alone : public ::testing::TestWithParam<By> {
 protected:
  void SetUp() override {
    if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
    steps_ = steps_of(vetoing(source_.config), source_.ring.layout);
    if (GetParam() == By::graphs) {
      work_ = std::make_unique<cuda::StackWork>(steps_, source_.ring.layout, 3);
    } else {
      work_ = std::make_unique<cuda::StackWork>(steps_, source_.ring.layout, 1, cuda::Input::in_place);
    }
    cuda::check(cudaStreamSynchronize(nullptr), "prepare");
    dispatch_ = GetParam() == By::graphs
                    ? cuda::make_word(*work_, kStacks, 0)
                    : cuda::make_resident_by_words(
                          *work_, {.watchers = 2,
                                   .word_watchers = std::getenv("WW") ? (unsigned)std::atoi(std::getenv("WW")) : 1U});
  }
  void TearDown() override {
    if (dispatch_ == nullptr) return;
    const auto start = std::chrono::steady_clock::now();
    dispatch_->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4)) << "a wait of the device does not end";
    for (std::uint32_t slot = 0; slot < kStacks; ++slot) EXPECT_EQ(dispatch_->look(slot), cudaSuccess);
  }
  [[nodiscard]] bool done(std::uint32_t slot, std::uint32_t ticket) const {
    return work_->results().done(slot) == ticket;
  }
  /// Expects that the stack does not begin.
  void expect_waiting(std::uint32_t slot, std::uint32_t ticket) {
    for (int look = 0; look < 200; ++look) {
      dispatch_->alive();
      cudaStreamQuery(nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // wait: shorter ones only find less
    }
    EXPECT_FALSE(done(slot, ticket));
  }
  void trigger(std::uint64_t number, std::uint32_t ticket) {
    Stack& stack = source_.stack(number);
    const std::vector<std::uint8_t> asked(kStack, 1);
    work_->give_order(stack, asked, ticket);
    EXPECT_EQ(dispatch_->submit(stack.slot, ticket), cudaSuccess);
  }
  void let_go(std::uint64_t number, std::uint32_t ticket) {
    trigger(number, ticket);
    const auto slot = static_cast<std::uint32_t>(number % kStacks);
    EXPECT_EVENTUALLY(done(slot, ticket));
    EXPECT_EQ(dispatch_->begun(slot, ticket), cuda::Begun::by_host);
  }
  /// Writes the last words of both DTPs for the first stack. Expects that the device leaves it to the host.
  void expect_left_to_host() {
    source_.say(0, kStack - 1);
    source_.say(1, kStack - 1);
    expect_waiting(0, 1);
    let_go(0, 1);
  }

  Source source_{GetParam() == By::one_block ? kernel::Shape{64, 32} : kShape};
  Steps steps_;
  std::unique_ptr<cuda::StackWork> work_;
  std::unique_ptr<cuda::Dispatch> dispatch_;
};

TEST_P(Alone, a_stack_begins_with_the_last_word_and_no_thread_of_the_host) {
  for (std::uint64_t number = 0; number < 3 * kStacks; ++number) {
    const auto slot = static_cast<std::uint32_t>(number % kStacks);
    const auto ticket = static_cast<std::uint32_t>(number + 1);
    source_.write(number);
    ASSERT_EVENTUALLY(done(slot, ticket));
    EXPECT_EQ(dispatch_->begun(slot, ticket), cuda::Begun::by_word);
    for (std::uint32_t i = 0; i < kStack; ++i) {  // by the limits, which no order of the host has brought
      const cuda::DeviceFinding& finding = work_->results().finding(slot, i);
      EXPECT_EQ(finding.verdict, finding.counted < kLeast ? 1 : 0) << number << ", image " << i;
    }
    ASSERT_EQ(dispatch_->came_back(slot), cudaSuccess);
  }
}

TEST_P(Alone, it_waits_for_the_last_word_of_every_dtp) {
  for (std::uint64_t k = 0; k < kStack; ++k) source_.pixels(k), source_.record(0, k), source_.record(1, k);
  source_.say(0, kStack - 1);
  source_.say(1, kStack - 2);
  expect_waiting(0, 1);
  source_.say(1, kStack - 1);
  EXPECT_EVENTUALLY(done(0, 1));
  EXPECT_EQ(dispatch_->begun(0, 1), cuda::Begun::by_word);
}

TEST_P(Alone, a_record_of_another_run_or_image_is_left_to_the_host) {
  for (std::uint64_t k = 0; k < kStack; ++k) {
    source_.pixels(k), source_.record(0, k), source_.record(1, k, k == 2 ? kRun - 1 : kRun);
  }
  expect_left_to_host();
}

TEST_P(Alone, a_record_with_a_wrong_sum_is_left_to_the_host) {
  for (std::uint64_t k = 0; k < kStack; ++k) {
    source_.pixels(k), source_.record(0, k), source_.record(1, k);
    if (k == kStack - 1)
      source_.records[1].data()[k * FrameRecord::kBytes + 100] ^= std::byte{1};  // of no use to anyone
  }
  expect_left_to_host();
}

TEST_P(Alone, a_dark_image_is_left_to_the_host) {
  for (std::uint64_t k = 0; k < kStack; ++k) {
    source_.pixels(k), source_.record(0, k, kRun, k == 1 ? std::uint32_t{FrameRecord::dark} : 0), source_.record(1, k);
  }
  expect_left_to_host();
}

TEST_P(Alone, a_source_that_is_killed_leaves_no_device_that_waits) {
  source_.write(0);
  EXPECT_EVENTUALLY(done(0, 1));
  for (std::uint64_t k = kStack; k < 2 * kStack; ++k) source_.record(0, k);
  source_.say(0, 2 * kStack - 1);  // and nothing more, from nobody: TearDown() expects an idle device
  expect_waiting(1, 2);
}

/// The median and the 99th percentile, in µs.
std::string told(std::vector<std::int64_t> ns) {
  std::sort(ns.begin(), ns.end());
  const auto us = [&](std::size_t percent) { return static_cast<double>(ns[ns.size() * percent / 100]) / 1000; };
  return std::to_string(us(50)) + " / " + std::to_string(us(99)) + " us (p50 / p99)";
}

TEST_P(Alone, a_stack_waits_until_the_results_in_its_place_are_taken) {
  for (std::uint64_t number = 0; number < kStacks; ++number) {
    source_.write(number);
    ASSERT_EVENTUALLY(done(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number + 1)));
  }
  source_.write(kStacks);
  expect_waiting(0, kStacks + 1);
  ASSERT_EQ(dispatch_->came_back(0), cudaSuccess);
  EXPECT_EVENTUALLY(done(0, kStacks + 1));
  EXPECT_EQ(dispatch_->begun(0, kStacks + 1), cuda::Begun::by_word);
}

TEST_P(Alone, stacks_of_the_host_and_of_words_come_in_turn) {
  for (std::uint64_t number = 0; number < std::uint64_t{6} * kStacks; ++number) {
    const auto slot = static_cast<std::uint32_t>(number % kStacks);
    const auto ticket = static_cast<std::uint32_t>(number + 1);
    if (number % 3 == 1) {
      let_go(number, ticket);
    } else {
      source_.write(number);
      ASSERT_EVENTUALLY(done(slot, ticket));
      EXPECT_EQ(dispatch_->begun(slot, ticket), cuda::Begun::by_word);
      trigger(number, ticket);  // too late, and does nothing
    }
    ASSERT_EQ(dispatch_->came_back(slot), cudaSuccess);
  }
}

// Printed, for docs/decisions/0198 and 0208: they are those of this machine. 129 x 102 pixels or 64 x 32, stacks of 4.
// Triggers of the host alternate with last words.
TEST_P(Alone, times_from_the_last_store_to_the_first_effect_and_to_all_results) {
  std::array<std::vector<std::int64_t>, 2> first, all;
  for (std::uint64_t number = 0; number < 4000; ++number) {
    const bool by_host = number % 2 == 1;
    const auto slot = static_cast<std::uint32_t>(number % kStacks);
    const auto ticket = static_cast<std::uint32_t>(number + 1);
    if (!by_host) {
      for (std::uint64_t k = number * kStack; k < (number + 1) * kStack; ++k) {
        source_.record(0, k), source_.record(1, k);
      }
      source_.say(0, (number + 1) * kStack - 1);
    }
    Stack& stack = source_.stack(number);
    work_->give_order(stack, std::vector<std::uint8_t>(kStack, 1), ticket);
    const std::int64_t pause = now_ns() + 20'000 + static_cast<std::int64_t>(number * 7919 % 30'000);
    while (now_ns() < pause) dispatch_->alive();
    const std::int64_t start = now_ns();
    if (by_host) {
      dispatch_->submit(slot, ticket);
    } else {
      source_.say(1, (number + 1) * kStack - 1);
    }
    while (dispatch_->begun(slot, ticket) == cuda::Begun::no && now_ns() < start + 1'000'000'000) {
    }
    first[by_host ? 1 : 0].push_back(now_ns() - start);
    while (!done(slot, ticket) && now_ns() < start + 1'000'000'000) {
    }
    all[by_host ? 1 : 0].push_back(now_ns() - start);
    ASSERT_TRUE(done(slot, ticket));
    ASSERT_EQ(dispatch_->begun(slot, ticket), by_host ? cuda::Begun::by_host : cuda::Begun::by_word);
    if (!by_host) trigger(number, ticket);
    ASSERT_EQ(dispatch_->came_back(slot), cudaSuccess);
  }
  for (const std::size_t how : {0U, 1U}) {
    std::cout << kNames[static_cast<std::size_t>(GetParam())] << (how == 0 ? ", word" : ", host")
              << ": last store to first effect " << told(first[how]) << ", to all results " << told(all[how]) << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Watching, Alone, ::testing::Values(By::graphs, By::resident, By::one_block),
                         [](const auto& made) { return kNames[static_cast<std::size_t>(made.param)]; });

/// The result of an image.
struct Made {
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
  std::array<Scalar, kMostColumns> scalars{};
  std::vector<std::byte> pixels{};
  friend bool operator==(const Made&, const Made&) = default;
};

enum class Order : std::uint8_t { words_first, host_first, no_words };

/// A pipeline that the resident kernel takes, or does not.
Pipeline pipeline_for(By by, const jungfrau::Config& config) {
  Pipeline pipeline = vetoing(config);
  if (by == By::graphs) pipeline.kernels.emplace_back(kernel::total_counts::Config{});
  return pipeline;
}

/// Runs stacks; each third has an image that is missing at the host.
std::vector<Made> run(Trigger trigger, Order order, By by) {
  Source source;
  Doorbell bell;
  const auto unit =
      make_unit({.kind = Kind::cuda, .trigger = trigger}, pipeline_for(by, source.config), source.ring.layout, bell);
  std::vector<Made> all;
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::uint64_t number = 0; number < 5 * kStacks; ++number) {
    Stack& stack = source.stack(number);
    const bool lost = number % 3 == 1;
    for (std::uint32_t i = 0; i < kStack; ++i) {
      stack.images[i].completeness = lost && i == 2 ? Completeness::missing : Completeness::complete;
    }
    if (order == Order::words_first && !lost) {
      source.write(number);
    } else {
      for (std::uint64_t k = number * kStack; k < (number + 1) * kStack; ++k) source.pixels(k);
    }
    unit->submit(&stack);
    if (order == Order::host_first && !lost) source.write(number);
    Stack* back = nullptr;
    while ((back = unit->take()) == nullptr) {
      if (std::chrono::steady_clock::now() > late) {
        ADD_FAILURE() << "stack " << number << " does not come back: " << unit->error();
        return all;
      }
      bell.wait(bell.count(), std::chrono::milliseconds(1));
    }
    for (const StackImage& image : back->view()) {
      Made made{.decision = image.decision, .reason = image.reason, .error = image.error, .scalars = image.scalars};
      if (image.pixels != nullptr) {
        made.pixels.assign(image.pixels, image.pixels + kShape.pixels() * pixel_bytes(unit->output().pixel));
      }
      all.push_back(std::move(made));
    }
  }
  unit->stop();
  EXPECT_EQ(unit->error(), "");
  return all;
}

TEST(TriggerWord, results_are_bit_for_bit_those_of_the_hosts_trigger) {
  if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
  for (const By by : {By::resident, By::graphs}) {
    SCOPED_TRACE(kNames[static_cast<std::size_t>(by)]);
    const std::vector<Made> truth = run(Trigger::graph, Order::no_words, by);
    ASSERT_EQ(truth.size(), std::size_t{5} * kStacks * kStack);
    const auto any = [&](Decision decision) {
      return std::any_of(truth.begin(), truth.end(), [&](const Made& one) { return one.decision == decision; });
    };
    EXPECT_TRUE(any(Decision::vetoed));
    EXPECT_TRUE(any(Decision::accepted));
    for (const Order order : {Order::words_first, Order::host_first, Order::no_words}) {
      EXPECT_EQ(run(Trigger::word, order, by), truth) << static_cast<int>(order);
    }
  }
}

TEST(TriggerWord, an_image_that_is_partial_at_the_host_and_whole_on_the_device_is_errored) {
  if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
  Source source;
  Doorbell bell;
  const auto unit =
      make_unit({.kind = Kind::cuda, .trigger = Trigger::word}, vetoing(source.config), source.ring.layout, bell);
  source.write(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // wait: the device begins; if not, it is by the host
  Stack& stack = source.stack(0);
  stack.images[1].completeness = Completeness::partial;
  unit->submit(&stack);
  Stack* back = nullptr;
  ASSERT_EVENTUALLY((back = unit->take()) != nullptr);
  EXPECT_EQ(back->images[1].decision, Decision::errored);
  EXPECT_EQ(back->images[1].error, ErrorReason::overwritten);
  EXPECT_NE(back->images[0].decision, Decision::errored);
  unit->stop();
}

TEST(TriggerWord, limits_do_not_change_with_orders_given_ahead) {
  if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
  Source source;
  Doorbell bell;
  const auto unit =
      make_unit({.kind = Kind::cuda, .trigger = Trigger::word}, vetoing(source.config), source.ring.layout, bell);
  EXPECT_THROW(adjust(*unit, 1, kernel::bragg_count::Config{20, 1, 100}), ConfigError);
  unit->stop();
}

}  // namespace
}  // namespace rashpa::unit
