// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/repair/convert.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/journal/journal_lock.hpp"
#include "rashpa/sink/nxmx/master.hpp"
#include "rashpa/sink/nxmx/special_values.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/raw/raw_images.hpp"
#include "rashpa/sink/repair/proven.hpp"
#include "rashpa/sink/stores/table_store.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatchBytes = std::size_t{64} << 20;
constexpr std::size_t kMostImages = 64;  // of a batch

/// The index of a raw run. Throws FileError when there is none, or the run is still being written.
FrameRows rows_of(const fs::path& prefix, const JournalLock& journal) {
  if (journal.get() < 0) {
    throw FileError("convert: " + OutputFiles::journal_path(prefix).string() +
                    " is not there, which says where the images are; give folder/name of a raw run, or its "
                    "_raw_master.h5");
  }
  FrameRows rows(journal.get());
  if (rows.header().form != ImageForm::raw) {
    throw FileError("convert: " + prefix.string() + " is no raw run; rashpa repair completes one of the sink hdf5");
  }
  const JournalHeader& run = rows.header();
  constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 30U;  // more is no image, whatever a header says
  if (run.width == 0 || run.height == 0 || std::uint64_t{run.width} * run.height > kMostPixels) {
    throw FileError("convert: the index of " + prefix.string() +
                    " is damaged: it gives images of no possible size; convert another copy");
  }
  return rows;
}

Hdf5Config config_of(const ConvertOptions& options, const JournalHeader& run, std::uint64_t images) {
  Hdf5Config config;
  config.prefix = options.to;
  config.existing = options.existing;
  config.images_per_file = options.images_a_file;
  config.threads = options.threads;
  config.width = run.width;
  config.height = run.height;
  config.pixel = run.pixel;
  config.images = images;
  config.slice = run.slice;
  config.results = run.results;
  return config;
}

void copy_whole(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::copy_file(from, to, failed);
  if (failed) {
    throw FileError("convert: cannot copy " + from.string() + " to " + to.string() + ": " + failed.message() +
                    "; free some space, or choose another folder");
  }
}

/// A file of tables or accumulations, when the run has one. Its writer may have been killed.
void copy_if_there(const fs::path& from, const fs::path& to) {
  if (!fs::is_regular_file(from)) return;
  copy_whole(from, to);
  try {
    let_be_opened(to);
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError&) {  // damaged: its images are lost, which the rows will say
  }
}

/// Moves the images, batch by batch, from raw files to a store.
class Mover {
 public:
  Mover(const fs::path& prefix, const FrameRows& from, ProvenRows& tables, ImageStore& store, FrameRows& to)
      : from_(from),
        tables_(tables),
        store_(store),
        to_(to),
        images_(prefix, from),
        image_bytes_(std::size_t{from.header().width} * from.header().height * pixel_bytes(from.header().pixel)),
        batch_(std::clamp<std::size_t>(kBatchBytes / image_bytes_, 1, kMostImages)),
        memory_(batch_ * image_bytes_, memory::MemoryKind::pageable),
        stored_(batch_),
        results_(batch_) {
    stack_.images.resize(batch_);
  }

  /// Images that are lost. Throws FileError when one cannot be stored.
  std::uint64_t move_all() {
    std::uint64_t lost = 0;
    for (std::size_t first = 0; first < from_.size(); first += batch_) lost += move(first);
    return lost;
  }

 private:
  std::uint64_t move(std::size_t first) {
    std::uint64_t lost = 0;
    stack_.count = static_cast<std::uint32_t>(std::min(batch_, from_.size() - first));
    for (std::uint32_t i = 0; i < stack_.count; ++i) {
      const FrameRow& row = from_.rows()[first + i];
      StackImage& image = stack_.images[i];
      const bool rows_there = tables_.has(first + i);
      std::byte* pixels = memory_.data() + i * image_bytes_;
      image = {};
      image.frame_number = row.frame_number;
      image.pixels = pixels;
      if (row.decision != Decision::accepted) continue;
      const bool there = row.stored.file != 0 && rows_there && images_.read(first + i, {pixels, image_bytes_});
      image.decision = there ? Decision::accepted : Decision::errored;
      lost += there ? 0U : 1U;
    }
    std::fill(stored_.begin(), stored_.end(), StoredPlace{});
    std::fill(results_.begin(), results_.end(), ErrorReason::none);
    std::string error;
    store_.put(stack_, stored_, results_, error);
    if (!error.empty()) throw FileError("convert: " + error);
    for (std::uint32_t i = 0; i < stack_.count; ++i) {
      to_.append(from_, first + i, stored_[i], stored_[i].file != 0 ? store_.raw_place(i) : RawPlace{});
      if (stack_.images[i].decision != Decision::errored) continue;
      FrameRow& row = to_.row(first + i);
      row.decision = Decision::errored;
      row.error = ErrorReason::storage;
    }
    if (!to_.note()) throw FileError("convert: the journal cannot be written; make room where the files go");
    return lost;
  }

  const FrameRows& from_;
  ProvenRows& tables_;
  ImageStore& store_;
  FrameRows& to_;
  RawImages images_;
  std::size_t image_bytes_, batch_;
  memory::Buffer memory_;
  Stack stack_;
  std::vector<StoredPlace> stored_;
  std::vector<ErrorReason> results_;
};

/// Returns when the run ended, as its complete master says; empty when it does not.
std::string end_of(const fs::path& master) {
  const h5::Handle file(H5Fopen(master.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open ", master.native());
  return h5::read_text(h5::open_group(file.get(), "entry").get(), "end_time");
}

}  // namespace

Converted convert(const ConvertOptions& options) {
  h5::silence();
  h5::register_bitshuffle();
  if (options.images_a_file == 0) throw ConfigError("convert: images_a_file is 0; give 1 or more");
  if (options.threads == 0) throw ConfigError("convert: threads is 0; give 1 or more");
  const fs::path from = options.from;
  const JournalLock journal(from, "convert: ");
  const FrameRows raw = rows_of(from, journal);
  const fs::path master = OutputFiles::master_path(from);
  // Completed, the master describes the content of the raw files; its parts were kept.
  const fs::path facts = fs::is_regular_file(OutputFiles::facts_path(from)) ? OutputFiles::facts_path(from) : master;
  const std::uint64_t images = raw.header().end_known() ? raw.header().images : raw.size();
  Hdf5Config config = config_of(options, raw.header(), images);
  OutputFiles files(config);
  copy_whole(facts, files.master());
  copy_if_there(OutputFiles::tables_path(from), files.tables());
  copy_if_there(OutputFiles::accumulated_path(from), files.accumulated());
  let_be_opened(files.master());
  JournalHeader header = raw.header();
  header.form = ImageForm::dense;
  FrameRows rows(files.journal(), header, {});
  const std::unique_ptr<ImageStore> store = make_dense_store(config, files);
  files.begin();
  Converted done{.master = files.master().string(), .books = {}};
  ProvenRows tables(files.tables(), raw);
  done.lost = Mover(from, raw, tables, *store, rows).move_all();
  std::string error;
  store->settle(error);
  if (!error.empty()) throw FileError("convert: " + error);
  done.unknown = images - std::min<std::uint64_t>(rows.size(), images);
  done.books = books_of(rows);
  rows.fill_up();
  rows.give_back_reserve();
  const std::vector<std::int64_t> places = index_stored(rows, [](const StoredPlace&) { return true; });
  const std::vector<std::uint32_t> special = special_mask_of(files.prefix(), rows);
  const std::string accumulated_lost = prove_windows(files.accumulated());
  bring_to_disk(files.prefix(), rows);
  // Peaks that cannot be listed are still in the tables, where rashpa peaks finds them.
  static_cast<void>(complete_master(files.prefix(), {.rows = rows,
                                                     .stored_index = places,
                                                     .books = done.books,
                                                     .unknown = done.unknown,
                                                     .lasted_ns = rows.lasted_ns(),
                                                     .end_time = facts == master ? std::string() : end_of(master),
                                                     .special_mask = special,
                                                     .accumulated_lost = accumulated_lost}));
  files.complete();
  return done;
}

}  // namespace rashpa::sink
