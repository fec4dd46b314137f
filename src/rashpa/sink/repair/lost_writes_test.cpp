// SPDX-License-Identifier: Apache-2.0
/// Each write of a small run fails once. Whichever write it was, the files show no wrong value.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/repair/repair.hpp"
#include "rashpa/sink/testing/entry_lines.hpp"
#include "rashpa/sink/testing/read_entry.hpp"
#include "rashpa/sink/testing/store_images.hpp"

namespace {

/// The number of writes so far, and that of the write that fails; none fails at -1.
std::atomic<std::int64_t> g_writes{0}, g_failing{-1};

/// The end of the names of files for which fsync fails; empty: for none.
std::string g_unsynced;

bool is_unsynced(int file) {
  std::error_code failed;
  const std::string name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), failed).string();
  return !g_unsynced.empty() && name.ends_with(g_unsynced);
}

bool fails() { return g_writes.fetch_add(1) == g_failing.load(); }

template <typename Write>
Write system_call(const char* name) {
  return reinterpret_cast<Write>(dlsym(RTLD_NEXT, name));
}

}  // namespace

/// Stand before the system's calls in this program: the HDF5 library writes through one of them, depending on how it
/// was built.
extern "C" ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t offset) {
  static const auto system = system_call<ssize_t (*)(int, const void*, std::size_t, off64_t)>("pwrite64");
  if (!fails()) return system(file, bytes, count, offset);
  errno = EIO;
  return -1;
}

extern "C" ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
  static const auto system = system_call<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  if (!fails()) return system(file, bytes, count, offset);
  errno = EIO;
  return -1;
}

extern "C" int fsync(int file) {
  static const auto system = system_call<int (*)(int)>("fsync");
  if (!is_unsynced(file)) return system(file);
  errno = EIO;
  return -1;
}

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSide = 8, kImages = 8, kStack = 4;
constexpr std::size_t kPixels = std::size_t{kSide} * kSide;

std::uint16_t pixel_of(std::uint64_t image, std::size_t place) {
  return static_cast<std::uint16_t>(1 + 131 * image + 7 * place);
}

class LostWrites : public testing::TestWithParam<ImageForm> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("rashpa-lost-writes-" + std::to_string(getpid()));
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  void TearDown() override {
    g_failing = -1;
    g_unsynced.clear();
    fs::remove_all(folder_);
  }

  [[nodiscard]] Hdf5Config config() const {
    Hdf5Config out;
    out.prefix = (folder_ / "run").string();
    out.form = GetParam();
    out.images_per_file = 5;
    out.width = out.height = kSide;
    out.pixel = GetParam() == ImageForm::sparse ? PixelType::i16 : PixelType::u16;
    out.images = kImages;
    out.buffer = "full";
    out.results.tables = {{"peaks", {{.name = "x"}, {.name = "value", .type = Column::Type::f64}}, 4}};
    return out;
  }

  /// Stores all images in a sink that is closed. Returns false when the sink was refused, or could not be closed.
  bool store() try {
    Hdf5Sink sink(config());
    Books books;
    for (std::uint64_t n = 0; n < kImages; n += kStack) {
      Stack stack;
      std::vector<std::vector<std::uint16_t>> pixels(kStack);
      std::vector<std::uint32_t> index(kPixels);
      std::iota(index.begin(), index.end(), 0U);
      const std::vector<Scalar> rows{Scalar::of_count(3), Scalar::of_real(0.5)};
      for (std::uint64_t i = n; i < n + kStack; ++i) {
        StackImage& image = stack.images.emplace_back();
        image.index = image.frame_number = i;
        image.completeness = Completeness::complete;
        image.decision = Decision::accepted;
        for (std::size_t p = 0; p < kPixels; ++p) pixels[i - n].push_back(pixel_of(i, p));
        image.pixels = reinterpret_cast<const std::byte*>(pixels[i - n].data());
        // The pixels are far below the largest int16.
        image.sparse = {index.data(), reinterpret_cast<const std::int16_t*>(pixels[i - n].data()), kPixels};
        image.tables[0] = {rows.data(), 1};
      }
      stack.count = kStack;
      put_and_mark(sink, stack);
      for (const StackImage& image : stack.view()) {
        books.expected += 1;
        books.complete += 1;
        books.accepted += image.decision == Decision::accepted;
        books.errored += image.decision == Decision::errored;
      }
    }
    const std::size_t lost = sink.settle().size();
    books.accepted -= lost;
    books.errored += lost;
    books.written = sink.stats().images_written;
    errored_ = books.errored;
    said_ = sink.error();
    sink.close(books);
    return true;
  } catch (const FileError&) {
    return false;
  }

  /// All that the master says, with 0 for each digit of a line that says a time.
  [[nodiscard]] std::vector<std::string> lines() const {
    const hid_t file = H5Fopen((folder_ / "run_master.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    EXPECT_GE(file, 0) << "a plain reader is refused";
    if (file < 0) return {};
    std::vector<std::string> all = entry_lines(file, "entry");
    H5Fclose(file);
    for (std::string& line : all) {
      if (line.find("time") == std::string::npos) continue;
      std::replace_if(
          line.begin(), line.end(), [](unsigned char c) { return std::isdigit(c) != 0; }, '0');
    }
    return all;
  }

  /// Images that are accepted in the master, each as it was given to the sink.
  [[nodiscard]] std::uint64_t right_images() const {
    const fs::path master = folder_ / "run_master.h5";
    const auto places = read<std::int64_t>(master, "/entry/rashpa/stored_index", H5T_NATIVE_INT64);
    const auto pixels = read<std::uint16_t>(master, "/entry/data/data", H5T_NATIVE_UINT16);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      const std::size_t first = static_cast<std::size_t>(places[i]) * kPixels;
      if (first + kPixels > pixels.size()) {
        ADD_FAILURE() << "image " << i << " is not there";
        break;
      }
      for (std::size_t p = 0; p < kPixels; ++p) EXPECT_EQ(pixels[first + p], pixel_of(i, p)) << "image " << i;
      ++right;
    }
    return right;
  }

  fs::path folder_;
  std::uint64_t errored_ = 0;
  std::string said_;
};

TEST_P(LostWrites, a_master_shows_no_wrong_value_whichever_write_has_failed) {
  fs::create_directories(folder_);
  g_writes = 0;
  ASSERT_TRUE(store());
  const std::int64_t writes = g_writes;
  const std::vector<std::string> whole = lines();
  ASSERT_GT(writes, 100);
  int closed = 0, repaired = 0;
  for (std::int64_t n = 0; n < writes && !HasFailure(); ++n) {
    SCOPED_TRACE("write " + std::to_string(n) + " of " + std::to_string(writes));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    g_writes = 0;
    g_failing = n;
    errored_ = 0;
    const bool well = store();
    g_failing = -1;
    if (!well) {
      if (!fs::exists(folder_ / "run_master.journal")) continue;  // refused before the first image
      static_cast<void>(repair((folder_ / "run").string()));
      ++repaired;
    } else {
      ++closed;
    }
    const std::vector<std::string> now = lines();
    if (errored_ == 0) {
      EXPECT_EQ(now, whole);
    } else if (GetParam() == ImageForm::dense) {
      EXPECT_EQ(right_images(), kImages - errored_);
    }
  }
  EXPECT_GT(closed, 50) << repaired << " are repaired";
}

TEST_P(LostWrites, images_count_as_stored_only_when_all_their_files_are_on_the_disk) {
  const bool dense = GetParam() == ImageForm::dense;
  struct Case {
    const char* name;
    std::uint64_t lost;
  };
  // five images a file, where they are dense
  for (const Case& one : {Case{"run_data_000001.h5", dense ? 5U : kImages}, Case{"run_tables.h5", kImages}}) {
    SCOPED_TRACE(one.name);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    g_unsynced = one.name;
    ASSERT_TRUE(store());
    g_unsynced.clear();
    ASSERT_TRUE(fs::exists(folder_ / one.name));
    EXPECT_EQ(errored_, one.lost);
    EXPECT_NE(said_.find(std::string(one.name) + " cannot be brought to the disk"), std::string::npos) << said_;
    if (dense) {
      EXPECT_EQ(right_images(), kImages - one.lost);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, LostWrites, testing::Values(ImageForm::dense, ImageForm::sparse));

}  // namespace
}  // namespace rashpa::sink
