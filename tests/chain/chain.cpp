// SPDX-License-Identifier: Apache-2.0
#include "chain.hpp"

#include <algorithm>

#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/sink/simple/null_sink.hpp"

namespace rashpa::chain {

namespace {

link::LinkOptions link_of(const Plan& plan) {
  if (link::kind_of(plan.link) == link::Kind::roce) return plan.roce;
  if (link::kind_of(plan.link) == link::Kind::pcie) return plan.pcie;
  if (link::kind_of(plan.link) == link::Kind::sls) return plan.sls;
  return link::options_named(plan.link, {});
}

}  // namespace

Plan::Plan() {
  roce.pmtu = 1024;
  roce.socket_buffer = 4U << 20;
}

Chain::Chain(const Plan& plan) : dtps(plan.modules * plan.bands) {
  receiver::BufferConfig buffer;
  buffer.name = "full";
  buffer.width = plan.width;
  buffer.height = plan.height * plan.modules;
  buffer.slots = plan.slots;
  buffer.stack = plan.stack;
  const Slice slice{plan.every, plan.phase};
  const std::uint64_t images = slice.images(plan.frames);
  const std::uint32_t lines = plan.height / plan.bands;
  buffer.slice = slice;
  buffer.images = images;
  buffer.pixel = plan.pixel;
  buffer.deadline_ms = plan.deadline_ms;
  if (plan.flow == link::Flow::credits && plan.on_full == transfer::OnFull::pause)
    buffer.quiet_ms = 2 * buffer.deadline_ms;
  buffer.unit = plan.unit;
  buffer.pipeline = plan.pipeline;
  buffer.sinks = plan.sinks;
  buffer.feedback = plan.feedback;
  if (buffer.sinks.empty()) {
    buffer.sinks.emplace_back([](const receiver::Output& output) {
      return std::make_unique<sink::NullSink>(static_cast<std::uint64_t>(output.width) * output.height * 2);
    });
  }
  for (std::uint32_t dtp = 0; dtp < dtps; ++dtp) {
    buffer.dtps.push_back({.id = plan.first_id + dtp,
                           .module = dtp / plan.bands,
                           .x = 0,
                           .y = dtp * lines,
                           .width = plan.width,
                           .height = lines});
  }
  receiver::Config config;
  config.buffers.push_back(buffer);
  config.memory = memory::MemoryKind::pageable;
  config.images_in = plan.images_in;
  config.link = link_of(plan);
  config.source_link = plan.link;
  config.bind_address = plan.destination.address;
  config.port = 0;
  config.link_threads = plan.threads;
  config.flow = plan.flow;
  config.run = 7;
  plan.destination.within([&] { receiver = std::make_unique<receiver::Receiver>(config); });

  emulator::Config source;
  source.dataset = dataset::make_pattern({plan.width, plan.height, plan.pixel}, plan.modules, 8);
  source.link = link_of(plan);
  source.destination_link = plan.link;
  source.bind_address = plan.source.address;
  source.frames = plan.frames;
  source.rate_hz = plan.rate_hz;
  source.flow = plan.flow;
  source.on_full = plan.on_full;
  source.card = plan.card;
  source.faults = plan.faults;
  source.first_processor = plan.source_processor;
  const auto endpoints = receiver->endpoints();
  for (std::uint32_t place = 0; place < dtps; ++place) {
    transfer::Dtp dtp{.id = plan.first_id + place,
                      .module = place / plan.bands,
                      .region = {0, place % plan.bands * lines, plan.width, lines},
                      .slice = slice,
                      .images = images,
                      .placement = receiver->placements()[place],
                      .run = 7};
    source.dtps.push_back({dtp, endpoints[place]});
  }
  emulator::Config behind = source;
  if (plan.late) {
    behind.dtps = {source.dtps.back()};
    source.dtps.pop_back();
  }
  std::vector<link::Endpoint> sources;
  plan.source.within([&] {
    emulator = std::make_unique<emulator::Emulator>(source);
    sources = emulator->endpoints();
    if (!plan.late) return;
    late = std::make_unique<emulator::Emulator>(behind);
    sources.push_back(late->endpoints().front());
  });
  receiver->arm(sources);
}

bool Chain::play(double timeout_s) {
  receiver->start();
  emulator->start();
  bool sent = emulator->wait(timeout_s);
  if (late) {
    late->start();
    sent = late->wait(timeout_s) && sent;
  }
  receiver->finish();
  return receiver->wait(timeout_s) && sent;
}

std::vector<Completeness> Chain::fates() const {
  std::vector<std::vector<Completeness>> all;
  for (std::uint32_t dtp = 0; dtp < dtps; ++dtp) all.push_back(emulator->fates(dtp));
  return of_images(all);
}

std::vector<Completeness> of_images(const std::vector<std::vector<Completeness>>& dtps) {
  std::vector<Completeness> images(dtps.front().size());
  for (std::size_t image = 0; image < images.size(); ++image) {
    const auto is = [&](Completeness state) {
      return std::all_of(dtps.begin(), dtps.end(), [&](const auto& fates) { return fates[image] == state; });
    };
    images[image] = is(Completeness::complete)  ? Completeness::complete
                    : is(Completeness::missing) ? Completeness::missing
                                                : Completeness::partial;
  }
  return images;
}

}  // namespace rashpa::chain
