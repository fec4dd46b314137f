// SPDX-License-Identifier: Apache-2.0
/// A reader of the ring of decisions and its writer, in all their interleavings: no entry is read that is half of one
/// image and half of another.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/system/page.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/system/writer_lock.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/memory/file_mapping.hpp"
//
#include "explored_begin.hpp"

namespace rashpa::memory {

/// Mappings of one file are the same memory, at one address: words are known by it.
class ExploredMapping {
 public:
  ExploredMapping() = default;
  ExploredMapping(int file, std::size_t bytes, FileAccess /*access*/) {
    struct stat facts {};
    ::fstat(file, &facts);
    auto& known = all()[facts.st_ino];
    if (known == nullptr) known = std::make_shared<std::vector<std::uint64_t>>(bytes / sizeof(std::uint64_t));
    memory_ = known;
  }
  [[nodiscard]] void* data() const noexcept { return memory_->data(); }
  [[nodiscard]] bool cut() const noexcept { return false; }
  static std::map<ino_t, std::shared_ptr<std::vector<std::uint64_t>>>& all() {
    static std::map<ino_t, std::shared_ptr<std::vector<std::uint64_t>>> known;
    return known;
  }

 private:
  std::shared_ptr<std::vector<std::uint64_t>> memory_;
};

}  // namespace rashpa::memory

#define FileMapping ExploredMapping
// NOLINTBEGIN(bugprone-suspicious-include)
#include "rashpa/feedback/ring_reader.cpp"
#include "rashpa/feedback/ring_writer.cpp"
#include "rashpa/feedback/testing.hpp"
// NOLINTEND(bugprone-suspicious-include)
#undef thread
#undef atomic

namespace rashpa::interleaving {
namespace {

void forget() {
  words<std::uint64_t>().clear();
  memory::ExploredMapping::all().clear();
}

// `images` through a ring of two entries, of which a reader takes what it finds.
void publish_and_read(std::uint64_t images) {
  forget();
  feedback::RingWriter writer("", "{}", feedback::testing::small(2));
  feedback::RingReader reader(writer.open_path(), feedback::Begin::oldest);
  ExploredThread publisher([&] {
    feedback::testing::Numbered numbered;
    for (std::uint64_t n = 0; n < images; ++n) writer.publish(numbered.image(n), 7);
    writer.end();
  });
  std::uint64_t read = 0;
  const auto look = [&] {
    const feedback::Got got = reader.next();
    if (got != feedback::Got::record) return got;
    ++read;
    check(feedback::testing::is_image(reader.record(), reader.position() - 1),
          fmt::format("entry {} is not the image that was published", reader.position() - 1));
    return got;
  };
  look();
  look();
  publisher.join();
  while (look() != feedback::Got::ended) {
  }
  check(read + reader.lost() == images, fmt::format("{} images read and {} lost of {}", read, reader.lost(), images));
}

TEST(Interleavings, an_entry_of_a_feedback_ring_is_whole_or_lost) {
  for (const std::uint64_t images : {2, 3}) {
    const Outcome outcome = explore([images] { publish_and_read(images); }, {.deviations = 3});
    EXPECT_EQ(outcome.failure, "");
    EXPECT_TRUE(outcome.all) << outcome.runs;
    RecordProperty(fmt::format("runs_of_{}", images), std::to_string(outcome.runs));
  }
  forget();
}

TEST(Interleavings, a_sleeping_reader_is_woken_by_the_end) {
  const Outcome outcome = explore(
      [] {
        forget();
        feedback::RingWriter writer("", "{}", feedback::testing::small(2));
        feedback::RingReader reader(writer.open_path(), feedback::Begin::oldest);
        ExploredThread publisher([&] { writer.end(); });
        check(reader.next(std::chrono::hours(1), feedback::Wait::sleep) == feedback::Got::ended, "it is not the end");
        publisher.join();
      },
      {.deviations = 4});
  EXPECT_EQ(outcome.failure, "");
  EXPECT_TRUE(outcome.all) << outcome.runs;
  forget();
}

}  // namespace
}  // namespace rashpa::interleaving
