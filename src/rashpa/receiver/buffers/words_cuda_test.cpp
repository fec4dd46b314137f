// SPDX-License-Identifier: Apache-2.0
/// Stacks that begin by the last words of link verbs: the stand-in RNIC writes lines, records and words, and a real GPU
/// waits. Run by bench/gpu_word.sh.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/link/testing/rnic/verbs_bench.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/stack_work.hpp"
#include "rashpa/unit/cuda/word/watch.hpp"

namespace rashpa::receiver {
namespace {

namespace rnic = link::testing::rnic;
using rnic::VerbsBench;
using unit::cuda::Begun;

bool no_gpu() {
  const std::vector<std::string> cuda{"cuda"};
  return unit::available_devices(cuda).empty();
}

unit::Pipeline counting() { return {{kernel::bragg_count::Config{.threshold = 20'000, .min_pixels = 1}}}; }

/// The dispatch alone, with records and words of link verbs: nobody of the host triggers it. Images of DTP 0 are taken.
class WordsOfVerbs : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint32_t kStack = 2, kStacks = VerbsBench::kSlots / kStack, kDtps = 2;
  void SetUp() override {
    if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
    rnic::reset();
    memory::DmaBlock elsewhere;
    if (GetParam()) {
      try {
        images_ = link::pcie::make_cuda_images(0, VerbsBench::words_end(kDtps), link::pcie::Writers::rnic);
      } catch (const ConfigError& error) {
        GTEST_SKIP() << error.what();
      }
      if (!images_->shows_words()) GTEST_SKIP() << "refused on such a device: " << images_->how();
      if (images_->block().dmabuf < 0) GTEST_SKIP() << "this driver exports no dma-buf: " << images_->how();
      images_->fill({.first = VerbsBench::lines_end(kDtps),
                     .pitch = link::kWordDistance,
                     .line_bytes = 4,
                     .lines = kDtps,
                     .type = PixelType::u32});
      images_->settle();
      elsewhere = images_->block();
      rnic::set_writer([this](std::uint64_t offset, std::span<const std::byte> bytes) { copy(offset, bytes); });
    }
    bench_ = std::make_unique<VerbsBench>(link::Transport::rc, GetParam(), kDtps, 40, link::Verify::off, elsewhere,
                                          VerbsBench::Words::written);
    layout_ = {.width = VerbsBench::kLineBytes / 2,
               .height = VerbsBench::kLines,
               .stack = kStack,
               .stacks = kStacks,
               .images = bench_->lines(),
               .images_in = GetParam() ? unit::ImagesIn::device : unit::ImagesIn::host,
               .image_stride = std::size_t{VerbsBench::kLines} * VerbsBench::kLineBytes,
               .last_words = bench_->receiver().last_words()};
    unit::Pipeline photons = counting();  // sinks read no pixels of a device: a kernel has to make some
    photons.kernels.insert(
        photons.kernels.begin(),
        kernel::jungfrau::synthetic::config(layout_.width, layout_.height, kernel::jungfrau::Output::photons, 1, 0.01));
    steps_ = unit::steps_of(photons, layout_);
    work_ = std::make_unique<unit::cuda::StackWork>(steps_, layout_, 3);
    unit::cuda::check(cudaStreamSynchronize(nullptr), "prepare");
    dispatch_ = unit::cuda::make_word(*work_, kStacks, 0);
    bench_->start();
  }
  void TearDown() override {
    if (dispatch_ == nullptr) return;
    dispatch_->stop();
    for (std::uint32_t slot = 0; slot < kStacks; ++slot) EXPECT_EQ(dispatch_->look(slot), cudaSuccess);
    bench_->receiver().stop();
  }
  // Not in the default stream, which would wait for the kernels that wait for this.
  void copy(std::uint64_t offset, std::span<const std::byte> bytes) {
    memory::cuda::check(cudaMemcpyAsync(images_->block().data + offset, bytes.data(), bytes.size(),
                                        cudaMemcpyHostToDevice, stream_.get()),
                        "write");
    memory::cuda::check(cudaStreamSynchronize(stream_.get()), "write");
  }
  void send(std::uint32_t dtp, std::uint64_t index) {
    ASSERT_TRUE(bench_->send(dtp, index));
    rnic::flush();  // in the order of the wire, as a device shows writes that orders them
  }
  void release(std::uint64_t end) {
    for (std::uint32_t d = 0; d < kDtps; ++d) bench_->receiver().release(d, end);
  }
  [[nodiscard]] bool done(std::uint32_t slot, std::uint32_t ticket) const {
    return work_->results().done(slot) == ticket;
  }
  void expect_waiting(std::uint32_t slot, std::uint32_t ticket) {
    for (int look = 0; look < 100; ++look) {
      dispatch_->alive();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // wait: shorter ones only find less
    }
    EXPECT_FALSE(done(slot, ticket));
  }

  memory::cuda::Stream stream_;
  std::unique_ptr<memory::DeviceImages> images_;
  std::unique_ptr<VerbsBench> bench_;
  unit::Layout layout_;
  unit::Steps steps_;
  std::unique_ptr<unit::cuda::StackWork> work_;
  std::unique_ptr<unit::cuda::Dispatch> dispatch_;
};

TEST_P(WordsOfVerbs, begin_a_stack_when_the_last_one_is_there_in_every_lap) {
  for (std::uint64_t number = 0; number < 4 * kStacks; ++number) {
    const auto slot = static_cast<std::uint32_t>(number % kStacks);
    const auto ticket = static_cast<std::uint32_t>(number + 1);
    for (std::uint64_t k = number * kStack; k < (number + 1) * kStack; ++k) send(0, k);
    send(1, number * kStack);
    expect_waiting(slot, ticket);  // with one word of the lap before
    send(1, number * kStack + 1);
    ASSERT_EVENTUALLY(done(slot, ticket));
    EXPECT_EQ(dispatch_->begun(slot, ticket), Begun::by_word);
    ASSERT_EQ(dispatch_->came_back(slot), cudaSuccess);
    release((number + 1) * kStack);
  }
}

TEST_P(WordsOfVerbs, of_an_image_with_a_lost_line_never_begin_a_stack) {
  send(0, 0);
  send(0, 1);
  send(1, 0);
  const link::BufferDescriptor lost{bench_->line(1, 1, 0), bench_->line_bytes_of_region() - 1, 64};
  ASSERT_EQ(bench_->sender(1).post({&lost, 1}), 1U);  // refused: the reliable pair ends
  bench_->send(1, 1);
  rnic::flush();
  expect_waiting(0, 1);
}

INSTANTIATE_TEST_SUITE_P(Memory, WordsOfVerbs, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "device" : "host"; });

/// Keeps the results of all images.
class Keeping final : public sink::Sink {
 public:
  struct Made {
    std::uint64_t index = 0;
    Completeness completeness = Completeness::open;
    Decision decision = Decision::none;
    std::array<Scalar, kMostColumns> scalars{};
    friend bool operator==(const Made&, const Made&) = default;
  };
  explicit Keeping(std::vector<Made>& made) : made_(made) {}
  [[nodiscard]] bool is_prompt() const noexcept override { return true; }
  sink::Put put(const Stack& stack, std::span<ErrorReason> /*results*/) override {
    for (const StackImage& image : stack.view()) {
      made_.push_back({image.index, image.completeness, image.decision, image.scalars});
    }
    return sink::Put::done;
  }
  void close(const Books& /*books*/) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override { return {}; }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::vector<Made>& made_;
};

struct Ran {
  std::vector<Keeping::Made> made;
  Books books;
  std::string said;  // by the unit at its end
};

/// A whole receiver. DTP 1 ends before image `killed`.
Ran run(unit::Trigger trigger, std::uint64_t images, std::uint64_t killed) {
  constexpr std::uint32_t kWidth = 64, kHeight = 32, kDtps = 2, kLines = kHeight / kDtps, kSent = 7;
  Ran ran;
  rnic::reset();
  BufferConfig buffer;
  buffer.name = "full";
  buffer.width = kWidth;
  buffer.height = kHeight;
  buffer.slots = 16;
  buffer.stack = 4;
  buffer.images = images;
  buffer.deadline_ms = 300;
  buffer.dtps = {{.id = 1, .width = kWidth, .height = kLines},
                 {.id = 2, .y = kLines, .width = kWidth, .height = kLines}};
  buffer.pipeline = counting();
  buffer.unit.kind = unit::Kind::cuda;
  buffer.unit.trigger = trigger;
  buffer.sinks.emplace_back([&ran](const Output&) { return std::make_unique<Keeping>(ran.made); });
  Config config;
  config.buffers = {buffer};
  config.memory = memory::MemoryKind::pageable;
  link::verbs::Options options;
  options.transport = link::Transport::rc;
  options.verify = link::Verify::off;
  config.link = options;
  config.source_link = "verbs";
  config.run = 5;
  Receiver receiver(config);
  const memory::Buffer frames(std::size_t{kSent} * kDtps * kLines * kWidth * 2, memory::MemoryKind::pageable);
  wire::testing::fill(frames.bytes(), 11);
  const memory::DmaBlock sent{.data = frames.data(), .bytes = frames.size()};
  const link::verbs::SourceMemory source = link::verbs::register_sources("", "127.0.0.1", {&sent, 1});
  std::vector<std::unique_ptr<link::verbs::VerbsSender>> senders;
  std::vector<link::Endpoint> ends;
  for (std::uint32_t d = 0; d < kDtps; ++d) {
    link::verbs::SenderConfig each{.memory = source, .destination = receiver.endpoints()[d], .options = options};
    each.options.window_bytes = 0;
    each.dtp = d + 1;
    each.slots = buffer.slots;
    senders.push_back(std::make_unique<link::verbs::VerbsSender>(each));
    ends.push_back(senders.back()->endpoint());
  }
  receiver.arm(ends);
  receiver.start();
  const link::testing::Patience late;
  for (std::uint64_t k = 0; k < images; ++k) {
    for (std::uint32_t d = 0; d < kDtps && (d == 0 || k < killed); ++d) {
      const Placement& p = receiver.placements()[d];
      const std::byte* const from = frames.data() + (k % kSent * kDtps + d) * p.payload_bytes();
      link::verbs::VerbsSender& sender = *senders[d];
      while (sender.granted() <= k && !late()) sender.poll(500);
      for (std::uint32_t n = 0; n < p.lines; ++n) {
        const link::BufferDescriptor line{from + std::size_t{n} * p.line_bytes, p.image_offset(k) + n * p.pitch,
                                          p.line_bytes};
        while (sender.post({&line, 1}) == 0 && !late()) sender.poll(500);
      }
      FrameRecord record;
      record.dtp = d + 1;
      record.frame_number = record.index = k;
      record.slot = static_cast<std::uint32_t>(k % p.slots);
      record.lines = p.lines;
      record.payload_bytes = p.payload_bytes();
      record.run = 5;
      std::array<std::byte, FrameRecord::kBytes> bytes{};
      encode(record, bytes);
      const link::Event event{bytes.data(), p.record_offset(k), immediate_of(d + 1, k)};
      while (!sender.post_event(event) && !late()) sender.poll(500);
    }
  }
  receiver.finish();
  EXPECT_TRUE(receiver.wait(60)) << "all images are decided";
  ran.books = receiver.status().buffers[0].books;
  receiver.stop();
  log::Entry entry;
  while (log::take(entry)) {
    if (entry.text().find("stacks began") != std::string_view::npos) ran.said = entry.text();
  }
  return ran;
}

TEST(WordsOfAReceiver, give_the_results_and_books_of_the_hosts_trigger) {
  if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
  const Ran words = run(unit::Trigger::word, 200, 200);
  const Ran host = run(unit::Trigger::graph, 200, 200);
  EXPECT_EQ(words.books.complete, 200U);
  EXPECT_EQ(words.made.size(), 200U);
  EXPECT_EQ(words.made, host.made);
  EXPECT_NE(words.said, "");
  std::cout << words.said << "\n";
}

TEST(WordsOfAReceiver, whose_source_is_killed_leave_no_device_that_waits) {
  if (no_gpu()) GTEST_SKIP() << "this machine has no CUDA device";
  const Ran words = run(unit::Trigger::word, 16, 10);
  const Ran host = run(unit::Trigger::graph, 16, 10);
  EXPECT_EQ(words.books.complete, 10U);
  EXPECT_EQ(words.books.partial, host.books.partial);
  EXPECT_EQ(words.books.missing, host.books.missing);
  EXPECT_EQ(words.made, host.made);
}

}  // namespace
}  // namespace rashpa::receiver
