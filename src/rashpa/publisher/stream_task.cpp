// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/publish/process.hpp"
#include "rashpa/publish/shared_words.hpp"
#include "rashpa/publish/stream_words.hpp"
#include "rashpa/publisher/door.hpp"
#include "rashpa/publisher/outlet.hpp"
#include "rashpa/publisher/task.hpp"

namespace rashpa::publisher {

namespace {

using publish::Ask;
using publish::Place;
using publish::StreamWords;

constexpr long kLongestWaitMs = 100;
constexpr unsigned kFewest = 8;  // connections at an outlet, of which there may be many

class Stream {
 public:
  explicit Stream(const Task& task)
      : pattern_(task.arguments.at(0) == "pub" ? Pattern::pub : Pattern::push),
        bytes_(std::stoull(task.arguments.at(2))),
        words_(task.files.at(0), bytes_),
        context_(zeromq_.ctx_new()) {
    door_ = std::make_unique<Door>(zeromq_, context_);
    const std::size_t outlets = task.files.size() - 1;
    const unsigned most =
        std::max(kFewest, kMostConnections / static_cast<unsigned>(std::max<std::size_t>(1, outlets)));
    for (std::size_t n = 0; n < outlets; ++n) {
      outlets_.push_back(std::make_unique<Outlet>(zeromq_, context_, task.files[n + 1], pattern_,
                                                  std::stoi(task.arguments.at(1)), n, most));
    }
    if (outlets_.size() > words_->outlets.size())
      throw ResourceError("publisher: there are more outlets than words for them; install rashpa again");
    watch();
  }
  ~Stream() {
    outlets_.clear();
    door_.reset();
    zeromq_.ctx_term(context_);  // waits for lingering messages
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void run() {
    words_->open.store(1, std::memory_order_release);
    while (!left_ && wait()) {
      look();
      take();
    }
    words_->open.store(0, std::memory_order_release);
  }

 private:
  void watch() {
    const auto add = [this](void* socket) {
      if (socket != nullptr) items_.push_back({.socket = socket, .wanted = zeromq::kPollIn});
    };
    items_.push_back({.file = publish::kControl, .wanted = zeromq::kPollIn});
    add(door_->socket());
    for (const auto& outlet : outlets_) {
      for (void* socket : outlet->watched()) add(socket);
    }
  }

  /// Waits for news of any kind; returns false when the parent has gone.
  bool wait() {
    zeromq_.poll(items_.data(), static_cast<int>(items_.size()), kLongestWaitMs);
    std::array<char, 16> nudge{};
    ssize_t bytes = 1;
    while (bytes > 0) bytes = ::recv(publish::kControl, nudge.data(), nudge.size(), MSG_DONTWAIT);
    return bytes != 0;
  }

  /// Sees arrivals and departures, and gives newcomers the start.
  void look() {
    door_->look(outlets_);
    for (std::size_t n = 0; n < outlets_.size(); ++n) {
      outlets_[n]->look();
      tell(n);
    }
  }

  void tell(std::size_t n) {
    Outlet& outlet = *outlets_[n];
    const bool ready = outlet.ready();
    if (start_ && outlet.owes_start() && ready) outlet.send_start(*start_);
    publish::OutletWords& words = words_->outlets[n];
    words.started.store(outlet.owes_start() ? 0 : 1, std::memory_order_relaxed);
    words.ready.store(ready ? 1 : 0, std::memory_order_relaxed);
    words.connected.store(outlet.connected(), std::memory_order_relaxed);
  }

  /// The message that is offered, if there is one.
  void take() {
    if (move(Place::withdrawn, Place::free) || !move(Place::offered, Place::taken)) return;
    const std::uint32_t answer = act(static_cast<Ask>(words_->ask.load(std::memory_order_relaxed)));
    for (std::size_t n = 0; n < outlets_.size(); ++n) tell(n);
    words_->answer.store(answer, std::memory_order_relaxed);
    words_->place.store(static_cast<std::uint32_t>(Place::answered), std::memory_order_release);
    ::syscall(SYS_futex, &words_->place, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  bool move(Place from, Place to) {
    auto seen = static_cast<std::uint32_t>(from);
    return words_->place.compare_exchange_strong(seen, static_cast<std::uint32_t>(to), std::memory_order_acq_rel);
  }

  std::uint32_t act(Ask ask) {
    switch (ask) {
      case Ask::look:
        return 0;
      case Ask::start:
        start_.emplace(zeromq_, bytes());
        words_->has_start.store(1, std::memory_order_relaxed);
        return 0;
      case Ask::image:
        return send_image(Message(zeromq_, bytes()));
      case Ask::end:
        return send_end(Message(zeromq_, bytes()));
      case Ask::leave:
        left_ = true;
        return 0;
    }
    return 0;
  }

  std::uint32_t send_image(const Message& message) {
    std::uint32_t taken = 0;
    for (std::size_t n = 0; n < outlets_.size(); ++n) {
      const SentTo sent = outlets_[n]->owes_start() ? SentTo{} : outlets_[n]->send_image(message);
      taken += sent.somebody ? 1U : 0U;
      publish::OutletWords& words = words_->outlets[n];
      if (sent.somebody) words.sent.fetch_add(1, std::memory_order_relaxed);
      if (!sent.all) words.missed.fetch_add(1, std::memory_order_relaxed);
    }
    return taken;
  }

  std::uint32_t send_end(const Message& message) {
    const std::uint32_t n = words_->outlet.load(std::memory_order_relaxed);
    return n < outlets_.size() && outlets_[n]->send_end(message) ? 1 : 0;
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {words_.behind(), std::min<std::uint64_t>(bytes_, words_->bytes.load(std::memory_order_relaxed))};
  }

  const ZeromqLibrary zeromq_ = load_zeromq();
  Pattern pattern_;
  std::uint64_t bytes_;
  publish::SharedWords<StreamWords> words_;
  void* context_ = nullptr;
  std::unique_ptr<Door> door_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::vector<ZeromqPollItem> items_;
  std::optional<Message> start_;
  bool left_ = false;
};

}  // namespace

void publish_stream(const Task& task) {
  Stream stream(task);
  task.say_ready();
  stream.run();
}

}  // namespace rashpa::publisher
