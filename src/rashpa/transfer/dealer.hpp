// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rashpa/core/books/page_array.hpp"
#include "rashpa/core/end.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/transfer/chooser.hpp"
#include "rashpa/transfer/ledger.hpp"
#include "rashpa/transfer/member_watch.hpp"
#include "rashpa/transfer/pace.hpp"

namespace rashpa::transfer {

struct DealerConfig {
  std::string name;  ///< name of the group
  Slice slice{};
  std::uint64_t images = 0;  ///< images of the slice, all of which are dealt
  std::vector<MemberConfig> members;
  std::uint64_t replay_frames = 0;         ///< frames behind the newest one that can be sent again
  std::int64_t response_ns = 100'000'000;  ///< longest silence of a member with unfinished work
  /// longest silence of a member with its first stack, whose files and pages are new
  std::int64_t first_response_ns = 1'000'000'000;
  std::int64_t patience_ns = 30'000'000'000;  ///< longest time without any fed member
  double rate_hz = 0;                         ///< initial rate in frames per second; 0: all are due at once
  const Timetable* times = nullptr;           ///< due times of frames; null: the rate gives them
  bool skip = false;                          ///< true: a due frame without a credit is skipped
  std::uint32_t run = 0;                      ///< run number, for the log
  /// The most images for one member. An image that was taken back may be dealt to the same member any number of times.
  std::uint64_t most_of_member = kMostImages;
};

struct MemberStatus {
  std::string name{};
  MemberState state = MemberState::fed;
  std::uint64_t dealt = 0;        ///< images dealt to it
  std::uint64_t done = 0;         ///< images of these that its credits report as done
  std::uint64_t taken = 0;        ///< images taken back from it, to be dealt again
  std::uint64_t resent = 0;       ///< images dealt to it that another member had before
  std::uint64_t duplicates = 0;   ///< images that it finished after another member
  std::uint64_t lates = 0;        ///< number of times that it was late
  std::int64_t response_ns = 0;   ///< from a stack's last image sent to its credits, weighted towards the latest
  std::int64_t silent_ns = 0;     ///< its silence when it was last found late
  std::int64_t given_ago_ns = 0;  ///< time since it got an image; 0: it has none
};

/// The state of a group; all counts are images.
struct GroupStatus : LedgerCounts {
  std::vector<MemberStatus> members;
  bool settled = false;  ///< true: all images are dealt, and no fed member has a whole unfinished stack
  std::string error{};   ///< reason of an early end
};

/// Deals the images of a group's stream: each goes to one member, by credits and response times, stack by stack
/// (docs/explanations/groups.md). It connects a Ledger of images, a MemberWatch for each member, and a Chooser, which
/// do not know one another. One thread calls run() or step(), each DTP's thread uses its Port, and any thread may read
/// status and give orders. The constructor takes all memory.
class Dealer {
  struct Member;

 public:
  /// One DTP of a member. The DTP's thread makes all calls except the constructor.
  class Port {
   public:
    /// Takes the report of the DTP's link: images granted, images sent, and answers.
    void report(std::uint64_t granted, std::uint64_t sent, const link::Answers& answers, std::int64_t now) noexcept;
    /// Returns the frame of the member's image `index`, which the DTP must then begin to send. Nothing: it is not dealt
    /// yet, or the member does not answer.
    [[nodiscard]] std::optional<std::uint64_t> frame(std::uint64_t index) noexcept;

   private:
    friend class Dealer;
    const Dealer* dealer_ = nullptr;
    const Member* member_ = nullptr;
    std::uint64_t flying_ = 0;  // at the last report
    // The port's thread writes, the dealer's reads: relaxed, but for `granted_`, which releases and acquires the
    // others. A receiver's credits follow the images that its DTPs have begun. A thread that reads credits, and then
    // `begun_`, finds all of these.
    alignas(64) std::atomic<std::uint64_t> granted_{0};
    std::atomic<std::uint64_t> begun_{0};
    std::atomic<bool> in_error_{false};
    std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::uint64_t> had_{0};
    std::atomic<std::int64_t> open_ns_{0};  // since when bytes are open without any news; 0: none are
  };

  /// Creates the members. Throws ConfigError when there are fewer than two, or none has slots.
  explicit Dealer(DealerConfig config);

  /// Returns the port of a member's DTP, which lives as long as the dealer.
  [[nodiscard]] Port& port(std::size_t member, std::size_t dtp);
  /// Adds a member for later images and returns its number. It is held: it gets no images until feed(). Throws
  /// ConfigError as the constructor does, and when the name is in use. Takes memory.
  std::size_t join(const MemberConfig& member);
  /// Removes the member that joined last and was never fed.
  void withdraw();
  /// Deals until stop is requested or it fails. Frame 0 is due at `start_ns`.
  void run(const std::stop_token& stop, std::int64_t start_ns);
  /// Does one round at time `now`: checks all members and deals due images. Returns the time of the next call.
  std::int64_t step(std::int64_t now);
  void begin(std::int64_t start_ns) noexcept;
  /// Holds frames from number `frame` on that were not dealt before; kNoHold holds none. An image is dealt to all DTPs
  /// of a member or to none. Images that a member had before are still dealt again.
  void hold(std::uint64_t frame);
  /// Returns one more than the latest frame number that was due.
  [[nodiscard]] std::uint64_t begun() const;
  /// Sets the pace from frame `pace.frame` on, which was not due yet.
  void set_pace(const Pace& pace);

  /// Gives up `member`: its images from `image` on that its credits do not report as done are dealt again, as far as
  /// the replay window reaches.
  void eject(std::size_t member, std::uint64_t image);
  /// Starts or stops the supply of images to `member`; it keeps its present images.
  void feed(std::size_t member, bool fed);

  [[nodiscard]] GroupStatus status() const;
  /// Returns the configuration, without members.
  [[nodiscard]] const DealerConfig& config() const noexcept { return config_; }
  /// Returns the number of the member with that name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// Returns the frames that `member` got, in order.
  [[nodiscard]] std::vector<std::uint64_t> dealt(std::size_t member) const;
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Returns true when all frames were delivered, or counted as lost.
  [[nodiscard]] bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

 private:
  struct Member {
    Member(MemberWatch of, std::uint64_t most) : watch(std::move(of)), images(most) {}
    [[nodiscard]] std::uint32_t image(std::uint64_t index) const noexcept {
      return images[index].load(std::memory_order_relaxed);
    }
    /// Returns true when it has an unfinished copy of the image; with `void_too` also if that copy is void.
    [[nodiscard]] bool has_copy(std::uint32_t image, bool void_too) const noexcept;
    /// Returns true when the member has got its maximum number of images.
    [[nodiscard]] bool full() const noexcept { return watch.dealt() == images.size(); }
    MemberWatch watch;
    std::vector<std::unique_ptr<Port>> ports;
    PageArray<std::uint32_t> images;  // by index: which of the slice
    // Ports read these. Release by the dealer's thread, acquire by the ports'.
    std::atomic<std::uint64_t> dealt{0};
    std::atomic<bool> answers{true};
    std::uint64_t taken = 0, resent = 0, duplicates = 0;
  };

  void add(const MemberConfig& member);
  /// Updates the words from which ports learn whether they may send.
  static void publish(Member& member) noexcept;
  [[nodiscard]] static MemberReport reported(const Member& member) noexcept;
  void look(std::size_t number, std::int64_t now);
  void note_done(std::size_t number, const MemberWatch::Seen& seen);
  void take_back(std::size_t number, std::uint64_t from, std::uint64_t to);
  [[nodiscard]] std::optional<std::size_t> choose(std::optional<std::uint32_t> without_copy_of = {}) const noexcept;
  [[nodiscard]] std::optional<std::size_t> holder_of(std::uint32_t image) const noexcept;
  bool deal_again(std::uint32_t image, std::int64_t now);
  void give(std::size_t number, std::uint32_t image, std::int64_t now) noexcept;
  std::int64_t deal(std::int64_t now);
  [[nodiscard]] std::int64_t due_ns(std::uint64_t image) const noexcept;
  void judge(std::int64_t now);
  void fail();
  [[nodiscard]] log::Where where() const noexcept { return ledger_.where(ledger_.fresh()); }

  DealerConfig config_;
  Ledger ledger_;
  Chooser chooser_;
  std::vector<std::unique_ptr<Member>> members_;  // each stays where it is: ports know it
  Pace pace_;
  std::uint64_t hold_ = kNoHold;
  std::int64_t last_step_ns_ = 0, fed_ns_ = 0;
  std::string error_;
  mutable std::mutex mutex_;
  std::atomic<bool> failed_{false}, settled_{false};  // release by the dealer's thread, acquire by the manager's
};

}  // namespace rashpa::transfer
