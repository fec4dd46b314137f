// SPDX-License-Identifier: Apache-2.0
/// All that /entry/rashpa of a master has, to the last attribute.
#include "rashpa/sink/nxmx/frame_tables.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/sink/testing/entry_lines.hpp"

namespace rashpa::sink {
namespace {

using Lines = std::vector<std::string>;

/// A file in memory with an empty group `entry`.
struct Entry {
  Entry() {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1U << 16U, 0);
    file = H5Fcreate("rashpa-frame-tables.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    group = H5Gcreate2(file, "entry", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  ~Entry() {
    H5Gclose(group);
    H5Fclose(file);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  [[nodiscard]] Lines lines() const { return entry_lines(group, "rashpa"); }
  hid_t file = -1;
  hid_t group = -1;
};

/// The lines that are not among `before`.
Lines added(const Lines& before, const Lines& now) {
  Lines more;
  for (const std::string& line : now) {
    if (std::find(before.begin(), before.end(), line) == before.end()) more.push_back(line);
  }
  return more;
}

NxmxMetadata metadata() {
  NxmxMetadata said;
  said.receiver = "left";
  said.software_version = "0.3";
  said.proof = "lines";
  said.labels = {"synthetic data", "test"};
  said.run_number = 12;
  said.run_name = "lysozyme";
  said.run_file = "run.toml";
  said.run_file_sha256 = "abc";
  said.run_id = "f00d";
  said.pixel_units = "photons";
  return said;
}

const Lines kFacts = {
    "rashpa @NX_class = text 'NXcollection'",
    "rashpa @buffer = text 'full'",
    "rashpa @description = text 'One row for every image of the run, stored or not'",
    "rashpa @labels = text[2] 'synthetic data' 'test'",
    "rashpa @pixel_units = text 'photons'",
    "rashpa @proof = text 'lines'",
    "rashpa @receiver = text 'left'",
    "rashpa @run_file = text 'run.toml'",
    "rashpa @run_file_sha256 = text 'abc'",
    "rashpa @run_id = text 'f00d'",
    "rashpa @run_name = text 'lysozyme'",
    "rashpa @run_number = u32 12",
    "rashpa @software_version = text '0.3'",
    "rashpa/pipeline @NX_class = text 'NXcollection'",
    "rashpa/pipeline @description = text 'The kernels in order, with their parameters as JSON'",
};

TEST(MasterTables, facts_of_a_run_without_kernels_are_these_and_no_others) {
  const Entry entry;
  write_run_facts(entry.group, metadata(), "full", {});
  EXPECT_EQ(entry.lines(), kFacts);
}

TEST(MasterTables, kernels_dtps_calibration_and_special_values_are_told_to_the_last_attribute) {
  const Entry entry;
  NxmxMetadata said = metadata();
  said.kernels = {{"photons", {{"gain", "2.5"}, {"mode", "\"fast\""}}, {}}, {"veto", {}, {"too_few", "too_dull"}}};
  said.dtps = {{.id = 3, .module = 5, .x = 1, .y = 2, .width = 30, .height = 10},
               {.id = 4, .module = 6, .x = 31, .y = 12, .width = 20, .height = 11, .orientation = {90, true}}};
  said.calibration = {{"gain", "gain.h5", "def"}, {"pedestal_0", "p.h5", "abc", "3", "2026-01-02", "run 7"}};
  const std::vector<SpecialValue> special = {{-1, Meaning::gap}, {65535, Meaning::saturated}};
  write_run_facts(entry.group, said, "full", special);
  EXPECT_EQ(added(kFacts, entry.lines()),
            (Lines{"rashpa/calibration @NX_class = text 'NXcollection'",
                   "rashpa/calibration/gain @NX_class = text 'NXcollection'",
                   "rashpa/calibration/gain/file = text 'gain.h5'",
                   "rashpa/calibration/gain/sha256 = text 'def'",
                   "rashpa/calibration/pedestal_0 @NX_class = text 'NXcollection'",
                   "rashpa/calibration/pedestal_0/date = text '2026-01-02'",
                   "rashpa/calibration/pedestal_0/file = text 'p.h5'",
                   "rashpa/calibration/pedestal_0/sha256 = text 'abc'",
                   "rashpa/calibration/pedestal_0/source = text 'run 7'",
                   "rashpa/calibration/pedestal_0/version = text '3'",
                   "rashpa/dtps @NX_class = text 'NXcollection'",
                   "rashpa/dtps @description = text 'Where each DTP's region lies in the image, in pixels; turn: "
                   "degrees clockwise by which its module was turned, flip: 1, was mirrored left to right behind that'",
                   "rashpa/dtps/flip = u32[2] 0 1",
                   "rashpa/dtps/height = u32[2] 10 11",
                   "rashpa/dtps/id = u32[2] 3 4",
                   "rashpa/dtps/module = u32[2] 5 6",
                   "rashpa/dtps/turn = u32[2] 0 90",
                   "rashpa/dtps/width = u32[2] 30 20",
                   "rashpa/dtps/x = u32[2] 1 31",
                   "rashpa/dtps/y = u32[2] 2 12",
                   "rashpa/pipeline/01_photons @NX_class = text 'NXcollection'",
                   "rashpa/pipeline/01_photons @name = text 'photons'",
                   "rashpa/pipeline/01_photons @parameter_gain = text '2.5'",
                   "rashpa/pipeline/01_photons @parameter_mode = text '\"fast\"'",
                   "rashpa/pipeline/02_veto @NX_class = text 'NXcollection'",
                   "rashpa/pipeline/02_veto @name = text 'veto'",
                   "rashpa/pipeline/02_veto @veto_reasons = text[2] 'too_few' 'too_dull'",
                   "rashpa/special_values @NX_class = text 'NXcollection'",
                   "rashpa/special_values @description = text 'Values of the detector's pixels that are no counts'",
                   "rashpa/special_values/meaning = text[2] 'gap' 'saturated'",
                   "rashpa/special_values/number = i64[2] 0 7",
                   "rashpa/special_values/value = i64[2] -1 65535"}));
}

TEST(MasterTables, lines_that_have_become_rows_are_there_where_one_dtp_has_them) {
  for (const bool any : {false, true}) {
    const Entry entry;
    NxmxMetadata said = metadata();
    said.dtps = {{.id = 3}, {.id = 4}, {.id = 5}};
    if (any) {
      said.dtps[1].line_rows = {9};
      said.dtps[2].line_rows = {1, 2, 3};
    }
    write_run_facts(entry.group, said, "full", {});
    const Lines lines = entry.lines();
    EXPECT_EQ(
        std::find(lines.begin(), lines.end(), "rashpa/dtps/line_rows = u32[3][3] 0 0 0 9 0 0 1 2 3") != lines.end(),
        any);
    EXPECT_EQ(added(kFacts, lines).size(), any ? 11U : 10U);
  }
}

/// Four images: of one nothing came, two were looked at, and one has lost its slot before that.
FrameRows rows_of(int journal) {
  Results results;
  results.columns = {{.name = "bright", .unit = "pixels", .doc = "at or above"},
                     {.name = "total", .type = Column::Type::i64},
                     {.name = "mean", .type = Column::Type::f64, .unit = "keV"},
                     {.name = "words", .type = Column::Type::u64, .doc = "of the slot"},
                     {.name = "delay", .type = Column::Type::i64, .of_header = true}};
  results.reasons.add("too_dull");
  FrameRows rows(journal, {.images = 4, .width = 8, .height = 4, .results = results}, {});
  rows.append(SkippedImage{.index = 0, .frame_number = 100, .completeness = Completeness::missing});
  std::vector<LostRun> lost = {{7, 1, 2}, {8, 3, 4}};
  for (std::uint64_t index = 1; index < 4; ++index) {
    StackImage image;
    image.index = index;
    image.frame_number = 100 + index;
    image.timestamp_ns = 1'000'000'000 + index;
    image.flags = index == 1 ? 3 : 0;
    image.completeness = index == 2 ? Completeness::partial : Completeness::complete;
    image.decision = index == 1 ? Decision::accepted : index == 2 ? Decision::vetoed : Decision::errored;
    image.reason = index == 2 ? static_cast<VetoReason>(5) : VetoReason::none;
    image.error = index == 3 ? ErrorReason::overwritten : ErrorReason::none;
    image.measured = index != 3;
    image.scalars[0] = Scalar::of_count(10 + index);
    image.scalars[1] = Scalar::of_integer(-3);
    image.scalars[2] = Scalar::of_real(0.5);
    image.scalars[3] = Scalar::of_count(1ULL << 40U);
    image.scalars[4] = Scalar::of_integer(-20 - static_cast<std::int64_t>(index));
    image.lost = lost.data();
    image.lost_count = index == 2 ? 2 : 0;
    rows.append(image, image.error, {.file = index == 1 ? 2U : 0U, .place = index == 1 ? 6U : 0U});
  }
  return rows;
}

TEST(MasterTables, the_tables_of_four_images_are_these_to_the_last_attribute) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> journal(std::tmpfile(), &std::fclose);
  const Entry entry;
  write_run_facts(entry.group, metadata(), "full", {});
  write_tables(entry.group, rows_of(fileno(journal.get())), std::vector<std::int64_t>{-1, 0, -1, -1});
  EXPECT_EQ(
      added(kFacts, entry.lines()),
      (Lines{"rashpa @columns = text[5] 'bright' 'total' 'mean' 'words' 'delay'",
             "rashpa/bright @description = text 'at or above'",
             "rashpa/bright @not_counted = u32 4294967295",
             "rashpa/bright @units = text 'pixels'",
             "rashpa/bright = u32[4] 4294967295 11 12 4294967295",
             "rashpa/completeness @names = text[4] 'open' 'complete' 'partial' 'missing'",
             "rashpa/completeness = u8[4] 3 1 2 1",
             "rashpa/decision @names = text[4] 'none' 'accepted' 'vetoed' 'errored'",
             "rashpa/decision = u8[4] 0 1 2 3",
             "rashpa/delay @not_counted = i64 -9223372036854775808",
             "rashpa/delay = i64[4] -9223372036854775808 -21 -22 -23",
             "rashpa/error_reason @names = text[5] 'none' 'unit' 'overwritten' 'storage' 'dropped'",
             "rashpa/error_reason = u8[4] 0 0 0 2",
             "rashpa/flags @description = text 'Frame record bits: 1 dark, 2 laser, 4 last of run'",
             "rashpa/flags = u32[4] 0 3 0 0",
             "rashpa/frame_number = u64[4] 100 101 102 103",
             "rashpa/lost_runs @NX_class = text 'NXcollection'",
             "rashpa/lost_runs @description = text 'Lost lines, CSR by image: rows ptr[i] to ptr[i+1] are runs of "
             "lines of a DTP's region'",
             "rashpa/lost_runs/dtp = u32[2] 7 8",
             "rashpa/lost_runs/first_line = u32[2] 1 3",
             "rashpa/lost_runs/lines = u32[2] 2 4",
             "rashpa/lost_runs/ptr = u64[5] 0 0 0 2 2",
             "rashpa/mean @not_counted = f64 nan",
             "rashpa/mean @units = text 'keV'",
             "rashpa/mean = f64[4] nan 0.5 0.5 nan",
             "rashpa/stored_file @description = text 'Number of the data file that holds the image, 0 when not stored'",
             "rashpa/stored_file = u32[4] 0 2 0 0",
             "rashpa/stored_index @description = text 'Place in /entry/data, -1 when not stored'",
             "rashpa/stored_index = i64[4] -1 0 -1 -1",
             "rashpa/stored_place @description = text 'Which image of that file, from 0'",
             "rashpa/stored_place = u32[4] 0 6 0 0",
             "rashpa/timestamp_ns @description = text 'Nanoseconds since 1970-01-01 TAI; 0 when no frame record "
             "arrived, or the image was dropped'",
             "rashpa/timestamp_ns @units = text 'ns'",
             "rashpa/timestamp_ns = u64[4] 0 1000000001 1000000002 1000000003",
             "rashpa/total @not_counted = i64 -9223372036854775808",
             "rashpa/total = i64[4] -9223372036854775808 -3 -3 -9223372036854775808",
             "rashpa/veto_reason @names = text[6] 'none' 'too_few' 'too_many' 'dark' 'partial' 'too_dull'",
             "rashpa/veto_reason = u8[4] 0 0 5 0",
             "rashpa/words @description = text 'of the slot'",
             "rashpa/words @not_counted = u64 18446744073709551615",
             "rashpa/words = u64[4] 18446744073709551615 1099511627776 1099511627776 18446744073709551615"}));
}

TEST(MasterTables, books_have_all_their_numbers_and_say_whether_they_balance) {
  for (const std::uint64_t written : {5U, 4U}) {
    const Entry entry;
    write_run_facts(entry.group, metadata(), "full", {});
    write_books(entry.group,
                {.expected = 12,
                 .complete = 8,
                 .partial = 1,
                 .missing = 3,
                 .accepted = 5,
                 .vetoed = 3,
                 .errored = 1,
                 .written = written},
                2);
    EXPECT_EQ(added(kFacts, entry.lines()),
              (Lines{"rashpa/books @NX_class = text 'NXcollection'", "rashpa/books/accepted = u64 5",
                     "rashpa/books/balanced = u8 " + std::string(written == 5 ? "1" : "0"),
                     "rashpa/books/complete = u64 8", "rashpa/books/errored = u64 1", "rashpa/books/expected = u64 12",
                     "rashpa/books/missing = u64 3", "rashpa/books/partial = u64 1", "rashpa/books/unknown = u64 2",
                     "rashpa/books/vetoed = u64 3", "rashpa/books/written = u64 " + std::to_string(written)}));
  }
}

TEST(MasterTables, the_place_of_an_image_that_is_not_kept_is_none_and_the_first_image_has_one) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> journal(std::tmpfile(), &std::fclose);
  FrameRows rows(fileno(journal.get()), {.images = 3, .width = 8, .height = 4}, {});
  for (std::uint64_t index = 0; index < 3; ++index) {
    StackImage image;
    image.index = index;
    image.decision = Decision::accepted;
    rows.append(image, ErrorReason::none, {.file = 1, .place = 5 + static_cast<std::uint32_t>(index)});
  }
  const Entry entry;
  write_run_facts(entry.group, metadata(), "full", {});
  write_tables(entry.group, rows, std::vector<std::int64_t>{0, -1, 1});
  const Lines lines = entry.lines();
  for (const char* line : {"rashpa/stored_file = u32[3] 1 0 1", "rashpa/stored_place = u32[3] 5 0 7"}) {
    EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line;
  }
  for (const std::string& line : lines) EXPECT_FALSE(line.starts_with("rashpa @columns")) << "nothing was counted";
}

}  // namespace
}  // namespace rashpa::sink
