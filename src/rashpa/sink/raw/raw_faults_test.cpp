// SPDX-License-Identifier: Apache-2.0
/// Raw files when writes and syncs fail, or come late.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/raw/block_writer.hpp"
#include "rashpa/sink/raw/raw_file.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kStack = 5;

/// Writes as another does, except the requested faults.
class FaultyWriter final : public BlockWriter {
 public:
  struct Faults {
    std::size_t most = ~std::size_t{0};  ///< bytes of a write
    int failing_write = -1;              ///< number, from 0
    int failing_sync = -1;
    int held_write = -1;  ///< is done when somebody waits
  };
  FaultyWriter(unsigned in_flight, Faults faults) : writer_(make_thread_writer(in_flight)), faults_(faults) {}
  void submit(const BlockRequest& request) noexcept override {
    if (request.data != nullptr && writes_ == faults_.held_write) {
      writes_ += 1;
      held_ = request;
      return;
    }
    int& number = request.data == nullptr ? syncs_ : writes_;
    const int failing = request.data == nullptr ? faults_.failing_sync : faults_.failing_write;
    if (number++ == failing) {
      failed_.push_back({.token = request.token, .bytes = 0, .error = EIO});
      return;
    }
    BlockRequest shorter = request;
    if (request.data != nullptr) shorter.bytes = std::min(request.bytes, faults_.most);
    writer_->submit(shorter);
  }
  bool take(BlockAnswer& answer) noexcept override {
    if (failed_.empty()) return writer_->take(answer);
    answer = failed_.front();
    failed_.pop_front();
    return true;
  }
  void wait() noexcept override {
    if (held_.data != nullptr) writer_->submit(std::exchange(held_, {}));
    if (failed_.empty()) writer_->wait();
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "faulty"; }
  [[nodiscard]] int syncs() const noexcept { return syncs_; }

 private:
  std::unique_ptr<BlockWriter> writer_;
  Faults faults_;
  int writes_ = 0, syncs_ = 0;
  BlockRequest held_;
  std::deque<BlockAnswer> failed_;
};

class Faults : public testing::Test {
 protected:
  [[nodiscard]] Hdf5Config config(std::uint64_t images) const {
    Hdf5Config out;
    out.prefix = (folder_ / "run").string();
    out.form = ImageForm::raw;
    out.images_per_file = 8;
    out.width = width_;
    out.height = 64;
    out.images = images;
    out.buffer = "full";
    return out;
  }
  [[nodiscard]] std::size_t image_bytes() const { return std::size_t{width_} * 64 * 2; }
  void fill(std::uint64_t image, std::byte* pixels) const {
    for (std::size_t i = 0; i < image_bytes(); i += sizeof(std::uint16_t)) {
      const auto value = static_cast<std::uint16_t>(31 * image + i);
      std::memcpy(pixels + i, &value, sizeof value);
    }
  }

  /// `images` accepted images through a store of its own; those that it holds at the end.
  std::uint64_t store_with(FaultyWriter::Faults faults, std::uint64_t images) {
    const Hdf5Config run = config(images);
    OutputFiles files(run);
    const auto store = make_raw_store(run, files, std::make_unique<FaultyWriter>(run.raw.in_flight, faults));
    files.begin();
    const memory::Buffer memory(shift_ + kStack * image_bytes(), memory::MemoryKind::pageable);
    for (std::uint64_t n = 0; n < images; n += kStack) {
      Stack stack;
      stack.count = kStack;
      stack.images.resize(kStack);
      for (std::uint32_t i = 0; i < kStack; ++i) {
        std::byte* pixels = memory.data() + shift_ + i * image_bytes();
        fill(n + i, pixels);
        stack.images[i].pixels = pixels;
        stack.images[i].decision = Decision::accepted;
      }
      std::vector<StoredPlace> stored(kStack);
      std::vector<ErrorReason> results(kStack, ErrorReason::none);
      store->put(stack, stored, results, error_);
      store->noted();
      for (std::uint32_t i = 0; i < kStack; ++i) {
        if (results[i] == ErrorReason::none) places_.push_back({stored[i], n + i, store->raw_place(i)});
        EXPECT_EQ(results[i] == ErrorReason::none, stored[i].file != 0);
      }
    }
    const auto written = [&] {
      store->poll();
      return store->stats().images_written > 0;
    };
    if (faults.held_write > 0) {
      EXPECT_EVENTUALLY(written());
    } else {
      (void)eventually(written, "", std::chrono::milliseconds(100));  // wait: nothing may come, and if so not soon
    }
    written_before_ = store->stats().images_written;
    if (lets_go_) {
      EXPECT_EVENTUALLY((store->poll(), open_files() == 1U)) << "two files are full";
    }
    if (gone_) fs::remove(files.data(1));
    store->settle(error_);
    std::uint64_t held = 0;
    for (const Place& place : places_) {
      if (!store->holds(place.stored)) continue;
      held += 1;
      std::vector<std::byte> expected(image_bytes()), found(image_bytes());
      fill(place.image, expected.data());
      const RawFile file(files.data(place.stored.file), {.width = run.width, .height = run.height, .pixel = run.pixel});
      EXPECT_TRUE(file.read(place.raw, found)) << place.image;
      EXPECT_TRUE(found == expected) << place.image;
    }
    EXPECT_EQ(store->stats().images_written, held);
    return held;
  }
  /// Files of pixels that this process has open.
  static std::size_t open_files() {
    std::size_t open = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      open += fs::read_symlink(entry.path(), gone).extension() == ".raw" ? 1U : 0U;
    }
    return open;
  }
  struct Place {
    StoredPlace stored;
    std::uint64_t image;
    RawPlace raw;
  };
  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  std::uint32_t width_ = 64;  // an image is two blocks
  std::size_t shift_ = 0;     // of the pixels, from a multiple of the disk's alignment
  std::vector<Place> places_;
  std::uint64_t written_before_ = 0;  // the end
  bool lets_go_ = false;              // of full files, before the end
  bool gone_ = false;                 // the first file, at the end
  std::string error_;
};

TEST_F(Faults, images_count_as_written_behind_a_sync_that_came_after_their_write) {
  EXPECT_EQ(store_with({.held_write = 0}, 20), 20U);
  EXPECT_EQ(written_before_, 0U);
}

TEST_F(Faults, no_sync_begins_before_the_rows_of_the_images_are_in_the_journal) {
  const Hdf5Config run = config(kStack);
  OutputFiles files(run);
  auto writer = std::make_unique<FaultyWriter>(run.raw.in_flight, FaultyWriter::Faults{});
  const FaultyWriter& seen = *writer;
  const auto store = make_raw_store(run, files, std::move(writer));
  files.begin();
  std::vector<std::byte> pixels(image_bytes());
  Stack stack;
  stack.count = kStack;
  stack.images.resize(kStack);
  for (StackImage& image : stack.images) {
    image.pixels = pixels.data();
    image.decision = Decision::accepted;
  }
  std::vector<StoredPlace> stored(kStack);
  std::vector<ErrorReason> results(kStack, ErrorReason::none);
  store->put(stack, stored, results, error_);
  store->poll();
  EXPECT_EQ(seen.syncs(), 0);
  store->noted();
  EXPECT_EVENTUALLY((store->poll(), seen.syncs() > 0));
  store->settle(error_);
  EXPECT_EQ(error_, "");
}

TEST_F(Faults, a_sync_does_not_wait_for_the_writes_behind_it) {
  EXPECT_EQ(store_with({.held_write = 1}, 20), 20U);
  EXPECT_GT(written_before_, 0U);
}

TEST_F(Faults, a_full_file_is_closed_when_its_images_are_on_the_device) {
  lets_go_ = true;
  EXPECT_EQ(store_with({}, 20), 20U);
}

TEST_F(Faults, short_writes_are_continued) {
  EXPECT_EQ(store_with({.most = 4096}, 20), 20U);
  EXPECT_EQ(error_, "");
}

TEST_F(Faults, images_of_a_write_that_fails_are_lost_and_the_next_are_stored) {
  EXPECT_EQ(store_with({.failing_write = 1}, 20), 17U);  // the second write holds the three images that fill the file
  EXPECT_NE(error_.find("Input/output error"), std::string::npos) << error_;
}

TEST_F(Faults, images_of_stacks_that_are_not_gathered_are_errored_at_once) {
  width_ = 8192;  // a stack is a write of 4 MiB and one of 1 MiB
  EXPECT_EQ(store_with({.failing_write = 1}, 20), 19U);
  EXPECT_EQ(places_.size(), 19U) << "put() waits for them";
}

TEST_F(Faults, images_that_lie_one_behind_another_are_one_write) {
  width_ = 8192;  // the first four images are a write of 4 MiB
  EXPECT_EQ(store_with({.failing_write = 0}, 20), 16U);
}

TEST_F(Faults, copies_of_images_fill_a_write_of_four_mebibytes) {
  width_ = 8192;
  shift_ = 16;  // no image can be written from where it lies
  EXPECT_EQ(store_with({.failing_write = 0}, 20), 16U);
}

TEST_F(Faults, images_of_a_sync_that_fails_do_not_count_as_written) {
  const std::uint64_t held = store_with({.failing_sync = 0}, 20);
  EXPECT_LT(held, 20U);
  EXPECT_EQ(places_.size(), 20U) << "each was written, and only then lost";
  EXPECT_NE(error_.find("run_data_000001.raw cannot be brought to the device"), std::string::npos) << error_;
}

TEST_F(Faults, images_of_a_file_that_is_gone_are_counted_no_more) {
  gone_ = true;
  EXPECT_EQ(store_with({}, 20), 12U) << "eight were in it";
  EXPECT_GT(written_before_, 0U);
  EXPECT_NE(error_.find("run_data_000001.raw"), std::string::npos) << error_;
}

TEST_F(Faults, the_first_of_two_failures_is_told) {
  gone_ = true;
  store_with({.failing_write = 1}, 20);
  EXPECT_NE(error_.find("Input/output error"), std::string::npos) << error_;
}

TEST_F(Faults, images_of_an_index_that_is_not_on_the_device_do_not_count_as_written) {
  const std::uint64_t held = store_with({.failing_sync = 1}, 20);  // behind that of the first file
  EXPECT_LT(held, 20U);
  EXPECT_NE(error_.find("the index cannot be brought to the device"), std::string::npos) << error_;
}

}  // namespace
}  // namespace rashpa::sink
