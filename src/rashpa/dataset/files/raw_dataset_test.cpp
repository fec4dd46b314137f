// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/raw_dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"

namespace rashpa::dataset {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr ModuleShape kShape{6, 4, PixelType::u16};

class RawDataset : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::string path = directory_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string packed(const std::string& bytes) {
    std::string out(ZSTD_compressBound(bytes.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
    return out;
  }
  static std::string npy(const std::string& shape, const std::string& bytes) {
    const std::string text = "{'descr': '<u2', 'fortran_order': False, 'shape': " + shape + ", }\n";
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text + bytes;
  }
  /// Frames first … end−1 of module 0 of the pattern, `header` before each.
  std::string frames(std::uint64_t first, std::uint64_t end, const std::string& header = {}) const {
    std::string out;
    for (std::uint64_t n = first; n < end; ++n) {
      out += header + std::string(reinterpret_cast<const char*>(pattern_->frame(0, n)), kShape.frame_bytes());
    }
    return out;
  }
  void expect_frames(const Dataset& data, std::uint32_t module, std::uint64_t count) const {
    ASSERT_EQ(data.frames(), count);
    for (std::uint64_t n = 0; n < count; ++n) {
      EXPECT_EQ(std::memcmp(data.frame(module, n), pattern_->frame(0, n), kShape.frame_bytes()), 0) << n;
      EXPECT_EQ(data.flags(n), 0U);
    }
  }

  const TemporaryFolder folder_;
  const std::filesystem::path& directory_ = folder_.path();
  std::unique_ptr<MemoryDataset> pattern_ = make_pattern(kShape, 1, 5);
};

TEST_F(RawDataset, who_waits_for_it_sees_how_far_it_is) {
  Making making;
  const auto data = load_raw({{write("a", frames(0, 3))}}, {kShape, RawFormat::bin}, &making);
  EXPECT_EQ(making.share(), 1.0);
}

TEST_F(RawDataset, several_files_of_a_module_follow_each_other) {
  const auto data = load_raw({{write("a.bin", frames(0, 2)), write("b.raw", frames(2, 5))}}, {kShape});
  expect_frames(*data, 0, 5);
}

TEST_F(RawDataset, each_module_has_its_own_files_in_any_format) {
  const auto data = load_raw(
      {{write("a.bin.zst", packed(frames(0, 1)) + packed(frames(1, 3)))},
       {write("b.npy", npy("(2, 4, 6)", frames(0, 2))), write("c.npy.zst", packed(npy("(4, 6)", frames(2, 3))))}},
      {kShape});
  EXPECT_EQ(data->modules(), 2U);
  expect_frames(*data, 0, 3);
  expect_frames(*data, 1, 3);
}

TEST_F(RawDataset, shape_is_taken_from_npy_when_none_is_given) {
  const auto data = load_raw({{write("b.npy", npy("(2, 4, 6)", frames(0, 2)))}}, {});
  EXPECT_EQ(data->shape().width, 6U);
  EXPECT_EQ(data->shape().height, 4U);
  EXPECT_EQ(data->shape().pixel, PixelType::u16);
}

TEST_F(RawDataset, header_bytes_before_each_frame_are_left_out) {
  RawOptions options{kShape};
  options.header_bytes = 112;
  const std::string bytes = frames(0, 3, std::string(112, 'h'));
  expect_frames(*load_raw({{write("a.raw", bytes)}}, options), 0, 3);
  expect_frames(*load_raw({{write("a.raw.zst", packed(bytes))}}, options), 0, 3);
}

TEST_F(RawDataset, format_zst_finds_npy_by_its_magic) {
  RawOptions options{kShape, RawFormat::zst};
  const auto data =
      load_raw({{write("a", packed(npy("(1, 4, 6)", frames(0, 1)))), write("b", packed(frames(1, 2)))}}, options);
  expect_frames(*data, 0, 2);
}

template <typename E>
void expect_error(const std::vector<std::vector<std::string>>& files, const RawOptions& options,
                  const std::string& path, const std::string& why) {
  EXPECT_THAT([&] { load_raw(files, options); }, ThrowsMessage<E>(AllOf(HasSubstr(path), HasSubstr(why))));
}

TEST_F(RawDataset, a_bad_file_is_an_error_with_path_and_reason) {
  expect_error<FileError>({{directory_ / "none.bin"}}, {kShape}, "none.bin", "No such file");
  expect_error<FileError>({{directory_}}, {kShape}, directory_, "not a regular file");
  expect_error<FileError>({{write("odd.bin", frames(0, 1) + "x")}}, {kShape}, "odd.bin", "whole number");
  expect_error<FileError>({{write("empty.bin", "")}}, {kShape}, "empty.bin", "whole number");
  expect_error<FileError>({{write("short.npy", npy("(2, 4, 6)", frames(0, 1)))}}, {kShape}, "short.npy",
                          "not 2 frame(s)");
  expect_error<FileError>({{write("long.npy", npy("(1, 4, 6)", frames(0, 2)))}}, {kShape}, "long.npy",
                          "not 1 frame(s)");
  expect_error<FileError>({{write("other.npy", npy("(2, 6, 4)", frames(0, 2)))}}, {kShape}, "other.npy",
                          "4 x 6 uint16");
  expect_error<FileError>({{write("flat.npy", npy("(48,)", frames(0, 2)))}}, {kShape}, "flat.npy", "1 axes");
  expect_error<FileError>({{write("no.npy", frames(0, 2))}}, {kShape}, "no.npy", "no .npy file");
  expect_error<FileError>({{write("no.zst", frames(0, 2))}}, {kShape}, "no.zst", "damaged");
  const std::string good = packed(frames(0, 4));
  expect_error<FileError>({{write("cut.zst", good.substr(0, good.size() - 3))}}, {kShape}, "cut.zst", "too early");
}

TEST_F(RawDataset, a_header_shorter_than_the_prefix_is_an_error) {
  for (const std::size_t length : {0U, 1U}) {
    const std::string bytes =
        std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length) + '\0' + std::string(54, '{');
    expect_error<FileError>({{write("tiny.npy", bytes)}}, {kShape}, "tiny.npy", "too few for a dictionary");
  }
}

TEST_F(RawDataset, what_is_no_file_is_refused_and_never_waited_for) {
  const std::string pipe = directory_ / "pipe.npy";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_error<FileError>({{pipe}}, {kShape}, "pipe.npy", "not a regular file");
  expect_error<FileError>({{"/dev/zero"}}, {kShape}, "/dev/zero", "not a regular file");
}

TEST_F(RawDataset, zstd_data_is_unpacked_no_further_than_the_header_says) {
  const std::string bomb = packed(npy("(1, 4, 6)", frames(0, 1)) + std::string(std::size_t{1} << 24, '\0'));
  ASSERT_LT(bomb.size(), 4096U);
  expect_error<FileError>({{write("bomb.npy.zst", bomb)}}, {kShape}, "bomb.npy.zst", "more than 48 bytes");
}

TEST_F(RawDataset, headerless_data_is_counted_no_further_than_memory_reaches) {
  const std::string bytes = packed(std::string(std::size_t{1} << 20, '\0'));
  ByteStream file("bomb.zst", std::as_bytes(std::span(bytes)), Compression::zstd);
  ModuleShape shape = kShape;
  EXPECT_THAT([&] { plan_raw(file, RawStorage::Content::bin, 0, shape, 4800); },
              ThrowsMessage<FileError>(AllOf(HasSubstr("bomb.zst"), HasSubstr("more than 4800 bytes"))));
}

TEST_F(RawDataset, a_header_that_promises_more_than_memory_is_refused_before_it_is_unpacked) {
  const std::string bytes = npy("(4294967295, 65535, 65535)", frames(0, 1));
  ModuleShape shape{};
  ByteStream file("large.npy", std::as_bytes(std::span(bytes)), Compression::none);
  EXPECT_THAT([&] { plan_raw(file, RawStorage::Content::npy, 0, shape, 1 << 30); },
              ThrowsMessage<FileError>(AllOf(HasSubstr("4294967295 frame(s)"), HasSubstr("1073741824 bytes"))));
  expect_error<FileError>({{write("none.npy", npy("(5, 0, 6)", ""))}}, {}, "none.npy", "6 x 0 pixels");
}

TEST_F(RawDataset, a_wrong_request_is_an_error) {
  const std::string path = write("a.bin", frames(0, 2));
  expect_error<ConfigError>({}, {kShape}, "", "no files");
  expect_error<ConfigError>({{path}}, {}, "a.bin", "set width, height");
  expect_error<FileError>({{path}, {write("b.bin", frames(0, 1))}}, {kShape}, "module 1", "same number");
  EXPECT_THROW(raw_format("tar"), ConfigError);
  EXPECT_EQ(raw_format("auto"), RawFormat::automatic);
}

TEST_F(RawDataset, recorded_frames_of_the_project_load) {
  const std::filesystem::path data = std::filesystem::path("..") / "shared" / "data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << data << " is absent";
  const ModuleShape shape{1024, 512, PixelType::u16};
  const auto m049 =
      load_raw({{data / "jungfrau_m049/mod5_raw0.bin.zst", data / "jungfrau_m049/mod5_raw1.bin.zst"}}, {shape});
  EXPECT_EQ(m049->frames(), 2U);
  RawOptions sls{shape};
  sls.header_bytes = 112;
  const auto dark = load_raw({{data / "jungfrau_dark/jungfrau_single_d0_f0_0.raw.zst"}}, sls);
  EXPECT_EQ(dark->frames(), 3U);
}

}  // namespace
}  // namespace rashpa::dataset
