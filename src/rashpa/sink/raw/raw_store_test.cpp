// SPDX-License-Identifier: Apache-2.0
/// Runs in raw files: their content, their conversion, and the remains when storage fails or the process is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/raw/raw_images.hpp"
#include "rashpa/sink/raw/raw_part.hpp"
#include "rashpa/sink/repair/convert.hpp"
#include "rashpa/sink/repair/repair.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kStack = 5;

/// Datasets below /entry as their bytes, by path; links into other files, too.
std::map<std::string, std::vector<std::byte>> contents_of(const fs::path& master) {
  std::map<std::string, std::vector<std::byte>> found;
  h5::register_bitshuffle();
  const h5::Handle file = open_afresh(master);
  struct Walk {
    std::map<std::string, std::vector<std::byte>>& found;
    void group(hid_t at, const std::string& path) {
      H5G_info_t info;
      H5Gget_info(at, &info);
      for (hsize_t i = 0; i < info.nlinks; ++i) {
        char name[256];
        H5Lget_name_by_idx(at, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof(name), H5P_DEFAULT);
        const hid_t object = H5Oopen(at, name, H5P_DEFAULT);
        if (object < 0) continue;
        const std::string full = path + "/" + name;
        if (H5Iget_type(object) == H5I_GROUP) group(object, full);
        if (H5Iget_type(object) == H5I_DATASET) dataset(object, full);
        H5Oclose(object);
      }
    }
    void dataset(hid_t set, const std::string& path) {
      const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
      std::vector<std::byte> bytes;
      if (H5Tis_variable_str(type) <= 0) {
        bytes.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type));
        EXPECT_TRUE(bytes.empty() || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0) << path;
      }
      found[path] = std::move(bytes);
      H5Sclose(space);
      H5Tclose(type);
    }
  };
  const h5::Handle entry(H5Gopen2(file.get(), "/entry", H5P_DEFAULT), H5Gclose, "open /entry");
  Walk{found}.group(entry.get(), "");
  return found;
}

class RawStore : public testing::Test {
 protected:
  void TearDown() override {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mount_small_disk(std::uint64_t bytes) {
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
    return mounted_;
  }

  [[nodiscard]] Hdf5Config config(std::uint64_t images, ImageForm form = ImageForm::raw) const {
    Hdf5Config out;
    out.prefix = prefix(form == ImageForm::raw ? "run_raw" : "run");
    out.form = form;
    out.images_per_file = 8;
    out.width = width_;
    out.height = 64;
    out.images = images;
    out.slice = {2, 1};
    out.buffer = "full";
    out.results.columns = {{"bright_pixels"}};
    out.results.tables = {{"peaks", {{"x", Column::Type::f64}}, 4}};
    out.metadata.start_time = out.metadata.end_time_estimated = "2026-01-01T00:00:00Z";
    return out;
  }
  [[nodiscard]] std::string prefix(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t image_bytes() const { return std::size_t{width_} * 64 * 2; }

  /// Image 3 of each ten has lost lines, image 7 is vetoed, image 9 missing; those accepted have index % 4 peaks.
  StackImage image(std::uint64_t index) {
    StackImage out;
    out.index = index;
    out.frame_number = 1 + 2 * index;
    out.timestamp_ns = 1000 * index;
    out.measured = true;
    out.scalars[0] = Scalar::of_count(index);
    out.completeness = Completeness::complete;
    out.decision = Decision::accepted;
    if (index % 10 == 3) {
      out.completeness = Completeness::partial;
      out.lost = &lost_run_;
      out.lost_count = 1;
    } else if (index % 10 == 7) {
      out.decision = Decision::vetoed;
      out.reason = VetoReason::too_few;
    } else if (index % 10 == 9) {
      out.completeness = Completeness::missing;
      out.decision = Decision::none;
      out.measured = false;
    }
    out.tables[0] = {.values = peaks_.data(), .rows = static_cast<std::uint32_t>(index % 4)};
    return out;
  }
  void fill(std::uint64_t index, std::byte* to) const {
    std::mt19937 random(static_cast<std::uint32_t>(index + 1));
    for (std::size_t i = 0; i < image_bytes(); ++i) to[i] = static_cast<std::byte>(random());
  }

  /// Images [from, to) in stacks; in memory that begins at a page, as slots do.
  void play(Sink& sink, std::uint64_t from, std::uint64_t to) {
    const memory::Buffer memory(kStack * image_bytes(), memory::MemoryKind::pageable);
    for (std::uint64_t n = from; n < to; n += kStack) {
      Stack stack;
      for (std::uint64_t i = n; i < std::min<std::uint64_t>(n + kStack, to); ++i) {
        std::byte* pixels = memory.data() + (i - n) * image_bytes();
        fill(i, pixels);
        stack.images.push_back(image(i));
        stack.images.back().pixels = pixels;
      }
      stack.count = static_cast<std::uint32_t>(stack.images.size());
      put_and_mark(sink, stack);
      for (const StackImage& one : stack.view()) count(one);
    }
  }
  void count(const StackImage& image) {
    books_.expected += 1;
    books_.complete += image.completeness == Completeness::complete ? 1U : 0U;
    books_.partial += image.completeness == Completeness::partial ? 1U : 0U;
    books_.missing += image.completeness == Completeness::missing ? 1U : 0U;
    books_.accepted += image.decision == Decision::accepted ? 1U : 0U;
    books_.vetoed += image.decision == Decision::vetoed ? 1U : 0U;
    books_.errored += image.decision == Decision::errored ? 1U : 0U;
    if (image.decision == Decision::errored) errored_.push_back(image.index);
  }
  void close(Sink& sink) {
    lost_ = sink.settle();
    books_.accepted -= lost_.size();
    books_.errored += lost_.size();
    books_.written = sink.stats().images_written;
    sink.close(books_);
  }
  Converted convert_to(const std::string& name) const {
    return convert({.from = prefix("run_raw"), .to = prefix(name), .images_a_file = 20});
  }
  void expect_images(const std::string& name, const std::vector<std::uint64_t>& indices) const {
    const auto found = contents_of(prefix(name) + "_master.h5");
    const std::vector<std::byte>& data = found.at("/data/data");
    ASSERT_EQ(data.size(), indices.size() * image_bytes());
    std::vector<std::byte> expected(image_bytes());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      fill(indices[i], expected.data());
      EXPECT_TRUE(
          std::equal(expected.begin(), expected.end(), data.begin() + static_cast<std::ptrdiff_t>(i * image_bytes())))
          << "image " << indices[i];
    }
  }
  static std::vector<std::uint64_t> accepted(std::uint64_t images, const std::vector<std::uint64_t>& without = {}) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < images; ++i) {
      if (i % 10 != 7 && i % 10 != 9 && std::find(without.begin(), without.end(), i) == without.end()) out.push_back(i);
    }
    return out;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  bool mounted_ = false;
  std::uint32_t width_ = 64;  // an image is two blocks
  LostRun lost_run_{3, 10, 2};
  std::array<Scalar, 4> peaks_{Scalar::of_real(1), Scalar::of_real(2.5), Scalar::of_real(3), Scalar::of_real(4)};
  Books books_;
  std::vector<std::uint64_t> errored_;
  std::vector<LostImage> lost_;
};

class EveryWay : public RawStore, public testing::WithParamInterface<std::tuple<BlockWay, std::uint32_t>> {};

TEST_P(EveryWay, what_is_converted_is_what_the_sink_hdf5_has_written) {
  width_ = std::get<1>(GetParam());
  Hdf5Config raw = config(43);
  raw.raw.way = std::get<0>(GetParam());
  {
    Hdf5Sink sink(raw);
    play(sink, 0, 43);
    close(sink);
    EXPECT_EQ(sink.error(), "");
  }
  EXPECT_EQ(books_.written, 35U);
  EXPECT_TRUE(books_.balanced());
  books_ = {};
  {
    Hdf5Config dense = config(43, ImageForm::dense);
    dense.images_per_file = 20;
    Hdf5Sink sink(dense);
    play(sink, 0, 43);
    close(sink);
  }
  const Converted done = convert_to("converted");
  EXPECT_EQ(done.lost, 0U);
  EXPECT_EQ(done.unknown, 0U);
  EXPECT_EQ(done.books, books_);
  expect_images("converted", accepted(43));
  const auto expected = contents_of(prefix("run") + "_master.h5");
  const auto found = contents_of(done.master);
  EXPECT_EQ(expected.size(), found.size());
  for (const auto& [path, bytes] : expected) {
    ASSERT_TRUE(found.contains(path)) << path;
    EXPECT_TRUE(path.starts_with("/end_time") || found.at(path) == bytes) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryWay,
                         testing::Combine(testing::Values(BlockWay::automatic, BlockWay::threads),
                                          testing::Values(64U, 61U, 8192U)));  // whole blocks, not, and not gathered

TEST_F(RawStore, the_raw_master_has_the_tables_and_says_where_images_are) {
  {
    Hdf5Sink sink(config(20));
    play(sink, 0, 20);
    close(sink);
  }
  const auto found = contents_of(prefix("run_raw") + "_master.h5");
  EXPECT_EQ(found.at("/rashpa/frame_number").size(), 20U * 8);
  EXPECT_EQ(found.at("/rashpa/raw/offset").size(), 20U * 8);
  EXPECT_FALSE(found.contains("/data/data"));
  EXPECT_TRUE(repair(prefix("run_raw")).was_complete);
  EXPECT_TRUE(fs::exists(prefix("run_raw") + "_master.journal")) << "it is the index";
}

TEST_F(RawStore, room_behind_the_last_image_is_given_back) {
  {
    Hdf5Sink sink(config(20));
    EXPECT_EQ(fs::file_size(prefix("run_raw") + "_data_000001.raw.new"), 4096U + 8 * 8192);
    play(sink, 0, 10);
    close(sink);
  }
  EXPECT_EQ(fs::file_size(prefix("run_raw") + "_data_000001.raw"), 4096U + 8 * 8192);
  EXPECT_FALSE(fs::exists(prefix("run_raw") + "_data_000002.raw"));
}

TEST_F(RawStore, a_file_has_room_for_the_images_that_can_still_come_where_that_is_known) {
  for (const End end : {End::known, End::told}) {
    Hdf5Config few = config(3);
    few.end = end;
    const Hdf5Sink sink(few);
    const std::uint64_t images = end == End::known ? 3 : 8;
    EXPECT_EQ(fs::file_size(prefix("run_raw") + "_data_000001.raw.new"), 4096U + images * 8192);
  }
}

TEST_F(RawStore, images_larger_than_a_write_are_stored_from_where_they_lie) {
  width_ = 40'000;  // five megabytes
  {
    Hdf5Sink sink(config(10));
    play(sink, 0, 10);  // one of them is vetoed in between
    close(sink);
    EXPECT_EQ(sink.error(), "");
  }
  EXPECT_EQ(convert_to("converted").lost, 0U);
  expect_images("converted", accepted(10));
}

TEST_F(RawStore, what_was_written_when_the_process_is_killed_is_converted) {
  int says[2];
  ASSERT_EQ(pipe(says), 0);
  const pid_t child = fork();
  if (child == 0) {
    Hdf5Sink sink(config(1000));
    play(sink, 0, 30);
    // Until it is told, as the line of a receiver does.
    if (!eventually([&] { return sink.poll(), sink.stats().images_written >= 24; }, "24 are written")) _exit(3);
    const std::uint64_t written = sink.stats().images_written;
    if (::write(says[1], &written, sizeof(written)) != sizeof(written)) _exit(2);
    play(sink, 30, 1000);
    _exit(1);
  }
  ::close(says[1]);  // or a child that ends would be waited for
  std::uint64_t written = 0;
  ASSERT_EQ(::read(says[0], &written, sizeof(written)), static_cast<ssize_t>(sizeof(written)));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const Converted done = convert_to("converted");
  EXPECT_GE(done.books.written, written);
  EXPECT_LE(done.lost, done.books.errored) << "on their way when it was killed";
  EXPECT_EQ(done.books.written + done.lost + done.books.vetoed + done.books.missing + done.unknown, 1000U);
  std::vector<std::uint64_t> there = accepted(1000 - done.unknown);
  there.resize(done.books.written);  // the last ones are lost
  expect_images("converted", there);
  const Repaired repaired = repair(prefix("run_raw"));
  EXPECT_FALSE(repaired.was_complete);
  EXPECT_EQ(repaired.books, done.books);
  EXPECT_EQ(convert_to("again").books, done.books);
}

TEST_F(RawStore, an_image_that_has_changed_is_lost_and_not_converted) {
  {
    Hdf5Sink sink(config(20));
    play(sink, 0, 20);
    close(sink);
  }
  {
    std::fstream file(prefix("run_raw") + "_data_000001.raw", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 2 * 8192 + 77);
    file.put('\x5a');
    file.put('\x5b');
  }
  fs::remove(prefix("run_raw") + "_data_000002.raw");
  const Converted done = convert_to("converted");
  EXPECT_EQ(done.lost, 1U + 8U);
  expect_images("converted", accepted(20, {2, 10, 11, 12, 13, 14, 15, 16, 18}));
}

struct NoneGone final : SlotGuard {
  [[nodiscard]] bool overwritten(const StackImage&) const noexcept override { return false; }
};

TEST_F(RawStore, the_checksum_is_that_of_what_was_stored_while_others_change_the_slot) {
  constexpr std::uint64_t kImages = 2000;
  Hdf5Config wanted = config(kImages);
  wanted.images_per_file = kImages;
  const memory::Buffer slot(image_bytes(), memory::MemoryKind::pageable);
  const NoneGone guard;
  std::atomic<bool> over = false;
  {
    Hdf5Sink sink(wanted);
    std::thread other([&] {  // writes a pixel, and its former value soon after
      std::atomic_ref<std::byte> pixel(slot.data()[100]);
      while (!over.load(std::memory_order_relaxed)) {
        pixel.store(~pixel.load(std::memory_order_relaxed), std::memory_order_relaxed);
      }
    });
    const auto bytes = static_cast<std::uint32_t>(image_bytes());  // one line
    const PayloadSum sum{0, bytes, bytes, 1, crc32c({slot.data(), bytes}), true, true};
    for (std::uint64_t n = 0; n < kImages; ++n) {
      Stack stack;
      stack.number = n;
      stack.count = 1;
      stack.guard = &guard;
      stack.images.push_back(image(0));
      StackImage& one = stack.images.front();
      one.index = one.frame_number = n;
      one.raw = slot.data();
      one.sums = {&sum, 1};
      put_and_mark(sink, stack);
      count(one);
    }
    over = true;
    other.join();
    close(sink);
  }
  EXPECT_EQ(books_.written + books_.errored, kImages);
  EXPECT_EQ(convert_to("converted").lost, 0U) << "stored, and refused by readers";
}

TEST_F(RawStore, bytes_that_a_conversion_has_lost_with_the_power_are_found_when_it_is_repaired) {
  {
    Hdf5Sink sink(config(20));
    play(sink, 0, 20);
    close(sink);
  }
  fs::create_directory(prefix("converted") + "_master.h5.completing");  // it ends before its end
  EXPECT_THROW(convert_to("converted"), FileError);
  fs::remove(prefix("converted") + "_master.h5.completing");
  const fs::path data = prefix("converted") + "_data_000001.h5";
  {
    std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(data) / 2));
    file.write(std::string(64, '\0').data(), 64);  // of an image of which no two pixels are alike
  }
  const Repaired done = repair(prefix("converted"));
  EXPECT_EQ(done.lost, 1U);
  EXPECT_EQ(contents_of(done.master).at("/data/data").size(), (accepted(20).size() - 1) * image_bytes());
}

TEST_F(RawStore, a_run_without_room_is_refused_and_leaves_nothing) {
  if (!mount_small_disk(4 << 20)) GTEST_SKIP() << "no right to mount";
  Hdf5Config large = config(1000);
  large.images_per_file = 1000;
  try {
    const Hdf5Sink sink(large);
    FAIL() << "there is no room for 8 MB";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("images_per_file"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RawStore, a_disk_that_gets_full_makes_images_errored) {
  if (!mount_small_disk(3 << 20)) GTEST_SKIP() << "no right to mount";
  Hdf5Config many = config(400);
  {
    Hdf5Sink sink(many);
    play(sink, 0, 400);
    close(sink);
    EXPECT_NE(sink.error().find("no room for 8 images"), std::string::npos) << sink.error();
  }
  EXPECT_GT(books_.errored, 100U);
  EXPECT_GT(books_.written, 50U);
  EXPECT_EQ(books_.written, books_.accepted);
  EXPECT_TRUE(books_.balanced());
}

TEST_F(RawStore, a_file_system_without_direct_writes_and_room_beforehand_is_written_all_the_same) {
  mounted_ = ::mount("ramfs", folder_.c_str(), "ramfs", 0, nullptr) == 0;
  if (!mounted_) GTEST_SKIP() << "no right to mount";
  {
    Hdf5Sink sink(config(20));
    play(sink, 0, 20);
    close(sink);
    EXPECT_EQ(sink.error(), "");
    EXPECT_EQ(books_.written, books_.accepted);
  }
  convert_to("converted");
  expect_images("converted", accepted(20));
  const RawPart part(folder_ / "part", {.width = 8, .height = 8, .number = 1, .slots = 1});
  EXPECT_NE(part.remark().find("O_DIRECT"), std::string::npos) << part.remark();
}

TEST_F(RawStore, a_run_in_an_archive_that_cannot_be_written_is_converted) {
  const fs::path archive = folder_ / "archive";
  fs::create_directories(archive);
  {
    Hdf5Config run = config(20);
    run.prefix = (archive / "run_raw").string();
    Hdf5Sink sink(run);
    play(sink, 0, 20);
    close(sink);
  }
  const bool read_only = ::mount(archive.c_str(), archive.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
                         ::mount(nullptr, archive.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
  if (read_only) {
    EXPECT_NO_THROW(convert({.from = (archive / "run_raw").string(), .to = prefix("converted")}));
    expect_images("converted", accepted(20));
  }
  umount2(archive.c_str(), MNT_DETACH);
  if (!read_only) GTEST_SKIP() << "no right to mount";
}

TEST_F(RawStore, files_that_are_removed_are_lost) {
  Hdf5Sink sink(config(20));
  play(sink, 0, 20);
  fs::remove(prefix("run_raw") + "_data_000001.raw");
  close(sink);
  EXPECT_EQ(lost_.size(), 8U);
  EXPECT_EQ(books_.written, 8U);
  EXPECT_NE(lost_.front().reason.find("removed"), std::string::npos);
}

TEST_F(RawStore, lists_of_pixels_are_refused) {
  Output output{.buffer = "full", .width = 8, .height = 8};
  output.sparse = true;
  EXPECT_THROW(make_sink(RawOptions{.prefix = prefix("run")}, output), ConfigError);
}

TEST_F(RawStore, a_header_of_nonsense_is_none) {
  std::array<std::byte, kRawHeader> bytes{};
  const RawHeader header{.width = 3, .height = 2, .pixel = PixelType::f32, .number = 7, .slots = 9};
  encode(header, bytes);
  EXPECT_EQ(decode_raw_header(bytes), header);
  for (std::size_t i = 0; i < 56; ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(decode_raw_header(bytes), std::nullopt) << i;
    bytes[i] ^= std::byte{1};
  }
  EXPECT_EQ(decode_raw_header(std::span(bytes).first(55)), std::nullopt);
}

}  // namespace
}  // namespace rashpa::sink
