// SPDX-License-Identifier: Apache-2.0
/// rashpa_vm_edu ADDRESS [outside]: an acquisition whose lines, records and events are written by a PCI device's DMA
/// engine through the IOMMU into a RASHPA buffer of several huge pages. Prints one line of JSON; ends with 0 when the
/// books balance and all images are complete, 1 when not, 2 on an error. With "outside", the device aims one write
/// behind the buffer instead: ends with 0 when nothing of it arrived.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <numeric>

#include "edu_link.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/receiver/buffers/memory_layout.hpp"
#include "rashpa/receiver/distributor.hpp"
#include "rashpa/scheduler/scheduler.hpp"
#include "rashpa/sink/simple/null_sink.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::vm {

namespace {

constexpr std::uint64_t kHugePage = 2U << 20;
constexpr std::uint64_t kImages = 8;
constexpr std::uint32_t kRun = 3;
constexpr double kTimeoutS = 60;

// Two regions of 128 × 4 pixels in images of 1000 × 1040: slots of almost 2 MiB, so that the huge pages' boundaries
// drift through the image; one line of each module lies across a boundary, in slot 1 and in slot 2.
receiver::BufferConfig buffer_config() {
  receiver::BufferConfig config;
  config.name = "edu";
  config.width = 1000;
  config.height = 1040;
  config.slots = 4;
  config.stack = 2;
  config.images = kImages;
  config.deadline_ms = 20'000;
  config.dtps = {{.id = 0, .module = 0, .x = 150, .y = 6, .width = 128, .height = 4},
                 {.id = 1, .module = 1, .x = 320, .y = 14, .width = 128, .height = 4}};
  config.sinks.emplace_back(
      [](const receiver::Output& out) { return std::make_unique<sink::NullSink>(out.width * out.height * 2ULL); });
  return config;
}

class Frames final : public transfer::FrameSource {
 public:
  Frames(const dataset::Dataset& dataset, std::uint32_t module) : dataset_(dataset), module_(module) {}
  [[nodiscard]] const std::byte* frame(std::uint64_t frame) const noexcept override {
    return dataset_.frame(module_, frame);
  }
  [[nodiscard]] std::uint32_t flags(std::uint64_t frame) const noexcept override { return dataset_.flags(frame); }

 private:
  const dataset::Dataset& dataset_;
  std::uint32_t module_;
};

/// Both sides of the acquisition; destroyed back to front.
class Acquisition {
 public:
  explicit Acquisition(const std::string& address)
      : config_(buffer_config()),
        layout_(receiver::lay_out({config_})),
        memory_(layout_.bytes + config_.dtps.size() * sizeof(std::uint32_t), memory::MemoryKind::huge),
        dataset_(dataset::make_pattern({128, 4, PixelType::u16}, 2, kImages)),
        engine_(address),
        memory_mapping_(engine_.device().map({memory_.data(), memory_.size()}, memory::DmaAccess::write)),
        frames_mapping_(engine_.device().map({const_cast<std::byte*>(dataset_->frame(0, 0)), dataset_bytes()},
                                             memory::DmaAccess::read)) {
    make_receiver();
    make_sources();
  }

  int play() {
    distributor_->start(-1);
    scheduler_->start();
    link_->start();
    std::vector<std::jthread> threads;
    const std::int64_t start = now_ns();
    for (auto& source : sources_) {
      threads.emplace_back([&source, start](const std::stop_token& stop) { source->run(stop, start, tai_ns()); });
    }
    const std::int64_t until = start + static_cast<std::int64_t>(kTimeoutS * 1e9);
    while (!distributor_->done() && now_ns() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // wait: in bounded time
    for (auto& thread : threads) thread.request_stop();
    threads.clear();
    link_->stop();
    scheduler_->stop();
    distributor_->join();
    unit_->stop();
    return report();
  }

  int aim_outside() {
    std::fill_n(memory_.data(), memory_.size(), std::byte{0x5A});
    const std::uint64_t end = memory_mapping_->device_address() + (memory_.size() + 4095) / 4096 * 4096;
    {
      const auto lock = engine_.lock();
      engine_.load(frames_mapping_->device_address(), 64);
      engine_.store(0, end, 64);
    }
    const bool untouched = std::all_of(memory_.data(), memory_.data() + memory_.size(),
                                       [](std::byte byte) { return byte == std::byte{0x5A}; });
    fmt::print("{{\"aimed_at\": {}, \"untouched\": {}}}\n", end, untouched);
    return untouched ? 0 : 1;
  }

 private:
  [[nodiscard]] std::size_t dataset_bytes() const {
    return static_cast<std::size_t>(dataset_->frame(1, kImages - 1) - dataset_->frame(0, 0)) +
           dataset_->shape().frame_bytes();
  }

  void make_receiver() {
    std::vector<link::ReceiverDtp> dtps;
    std::vector<EduChannel*> channels;
    scheduler::LaneConfig lane{.name = config_.name,
                               .pixel = config_.pixel,
                               .memory = memory_.data(),
                               .pixels_offset = layout_.buffers[0].pixels_offset,
                               .slot_bytes = layout_.buffers[0].slot_bytes,
                               .slots = config_.slots,
                               .stack = config_.stack,
                               .images = kImages,
                               .slice = {},
                               .deadline_ns = std::int64_t{config_.deadline_ms} * 1'000'000,
                               .dtps = {}};
    for (std::uint32_t d = 0; d < config_.dtps.size(); ++d) {
      const Placement& placement = layout_.dtps[d];
      dtps.push_back({.id = d, .images = kImages, .slice = {}, .placement = placement, .run = kRun});
      lane.dtps.push_back({.position = d, .id = d, .module = d, .placement = placement});
      queues_.add(256);
      channels_.push_back(std::make_unique<EduChannel>());
      channels_.back()->event_offset = layout_.bytes + d * sizeof(std::uint32_t);
      channels.push_back(channels_.back().get());
    }
    link_ = std::make_unique<EduReceiver>(memory_.bytes(), std::move(dtps), std::move(channels), queues_, bell_);
    unit_ = unit::make_unit({}, {}, {config_.width, config_.height, config_.pixel, config_.stack, 2}, done_bell_);
    lane_ = std::make_unique<scheduler::Lane>(std::move(lane), *unit_, *link_);
    const receiver::Output output{.buffer = config_.name,
                                  .width = config_.width,
                                  .height = config_.height,
                                  .pixel = config_.pixel,
                                  .stack = config_.stack,
                                  .images = kImages};
    distributor_ =
        std::make_unique<receiver::Distributor>(config_, output, *lane_, *unit_, done_bell_, bell_, nullptr, 1);
    scheduler_ =
        std::make_unique<scheduler::Scheduler>(std::vector{lane_.get()}, queues_, bell_, scheduler::Poll::event, -1);
  }

  void make_sources() {
    const Window frames{dataset_->frame(0, 0), frames_mapping_->device_address()};
    const Window region{memory_.data(), memory_mapping_->device_address()};
    for (std::uint32_t d = 0; d < config_.dtps.size(); ++d) {
      frames_.push_back(std::make_unique<Frames>(*dataset_, d));
      senders_.push_back(std::make_unique<EduSender>(engine_, *channels_[d], frames, region));
      transfer::DtpSourceConfig config;
      config.dtp = {.id = d,
                    .module = d,
                    .region = {0, 0, 128, 4},
                    .slice = {},
                    .images = kImages,
                    .placement = layout_.dtps[d],
                    .run = kRun};
      config.pitch_bytes = dataset_->shape().pitch_bytes();
      sources_.push_back(std::make_unique<transfer::DtpSource>(config, *frames_[d], *senders_[d]));
    }
  }

  int report() {
    const Books books = distributor_->books();
    const link::Counts stats = link_->stats();
    const std::uint64_t crossings =
        std::accumulate(senders_.begin(), senders_.end(), 0ULL,
                        [](auto sum, const auto& sender) { return sum + sender->page_crossings(); });
    const bool ok = books.balanced() && books.expected == kImages && books.complete == kImages && crossings > 0;
    fmt::print(
        "{{\"expected\": {}, \"complete\": {}, \"partial\": {}, \"missing\": {}, \"accepted\": {}, \"written\": {}, "
        "\"balanced\": {}, \"events\": {}, \"bad_records\": {}, \"crc_mismatches\": {}, \"transfers\": {}, "
        "\"page_crossings\": {}, \"buffer_bytes\": {}, \"huge_pages\": {}, \"memory\": \"{}\", \"mapping\": \"{}\", "
        "\"ok\": {}}}\n",
        books.expected, books.complete, books.partial, books.missing, books.accepted, books.written, books.balanced(),
        stats["events"], stats["bad_records"], stats["crc_mismatches"], engine_.transfers(), crossings, memory_.size(),
        (memory_.size() + kHugePage - 1) / kHugePage, memory_.granted(), memory_mapping_->how(), ok);
    return ok ? 0 : 1;
  }

  receiver::BufferConfig config_;
  receiver::MemoryLayout layout_;
  memory::Buffer memory_;
  std::unique_ptr<dataset::MemoryDataset> dataset_;
  EduEngine engine_;
  std::unique_ptr<memory::DeviceMapping> memory_mapping_;
  std::unique_ptr<memory::DeviceMapping> frames_mapping_;
  std::vector<std::unique_ptr<EduChannel>> channels_;
  Doorbell bell_;
  Doorbell done_bell_;
  link::ArrivalQueues queues_;
  std::unique_ptr<EduReceiver> link_;
  std::unique_ptr<unit::Unit> unit_;
  std::unique_ptr<scheduler::Lane> lane_;
  std::unique_ptr<receiver::Distributor> distributor_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::vector<std::unique_ptr<Frames>> frames_;
  std::vector<std::unique_ptr<EduSender>> senders_;
  std::vector<std::unique_ptr<transfer::DtpSource>> sources_;
};

}  // namespace

}  // namespace rashpa::vm

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::invalid_argument("usage: rashpa_vm_edu ADDRESS [outside]");
    rashpa::vm::Acquisition acquisition(argv[1]);
    return argc > 2 && std::string(argv[2]) == "outside" ? acquisition.aim_outside() : acquisition.play();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
