// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/feedback/ring_reader.hpp"
#include "rashpa/publish/feedback_words.hpp"
#include "rashpa/publish/shared_words.hpp"
#include "rashpa/publisher/pub_socket.hpp"
#include "rashpa/publisher/task.hpp"

namespace rashpa::publisher {

namespace {

using feedback::Got;
using feedback::RingReader;
namespace entry = feedback::entry;

constexpr std::chrono::milliseconds kSleep{100};

void send_record(PubSocket& socket, std::array<std::span<const std::byte>, 3> parts, const RingReader& reader,
                 publish::FeedbackWords& words) {
  const std::span<const std::uint64_t> record = reader.record();
  parts[2] = std::as_bytes(record);
  if (!socket.send(parts)) words.full.fetch_add(1, std::memory_order_relaxed);
  words.sent.fetch_add(1, std::memory_order_relaxed);
  words.next.store(reader.position(), std::memory_order_relaxed);
  if (record[entry::kLastPacket] != 0)
    words.by_zmq.record(now_ns() - static_cast<std::int64_t>(record[entry::kLastPacket]));
}

}  // namespace

void publish_feedback(const Task& task) {
  const auto file = [&](publish::FeedbackFile which) { return task.files.at(static_cast<std::size_t>(which)); };
  const std::string& buffer = task.arguments.at(0);
  const ZeromqLibrary zeromq = load_zeromq();
  const publish::SharedWords<publish::FeedbackWords> words(file(publish::FeedbackFile::words));
  RingReader reader(fmt::format("/proc/self/fd/{}", file(publish::FeedbackFile::ring)), feedback::Begin::oldest);
  reader.go_to(words->next.load(std::memory_order_relaxed));
  PubSocket socket(zeromq, file(publish::FeedbackFile::listener), std::stoi(task.arguments.at(1)));
  task.say_ready();
  std::array<std::span<const std::byte>, 3> parts{std::as_bytes(std::span(buffer)),
                                                  std::as_bytes(std::span(reader.description()))};
  for (std::uint64_t lost = 0;;) {
    const Got got = reader.next(kSleep, feedback::Wait::sleep);
    words->dropped.fetch_add(reader.lost() - lost, std::memory_order_relaxed);
    lost = reader.lost();
    if (got == Got::ended) break;
    if (got == Got::record) send_record(socket, parts, reader, *words);
    socket.look();  // behind the records for which subscribers wait
  }
  socket.send(parts);  // an empty record: the run is over
}

}  // namespace rashpa::publisher
