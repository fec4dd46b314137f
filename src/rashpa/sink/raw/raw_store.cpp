// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/stream_copy.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/raw/block_writes.hpp"
#include "rashpa/sink/raw/raw_part.hpp"

namespace rashpa::sink {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSyncEvery{50};          // few enough that writing goes on beside them
constexpr std::size_t kBounceBytes = std::size_t{64} << 20;  // of all, where images are smaller
constexpr std::size_t kFewestBounces = 4, kMostBounces = 16;
constexpr std::uint64_t kJournal = std::numeric_limits<std::uint32_t>::max();  // token of its sync
constexpr std::size_t kReserved = std::size_t{1} << 24;                        // images of a part
constexpr std::uint64_t kTables = kJournal - 1;
constexpr std::size_t kMostDirty = BlockWriter::kMostSyncs - 2;

/// <prefix>_data_NNNNNN.raw. Images that lie in memory as they will in the file are written from where they lie, as
/// many as possible at once, and put() waits for them. Others, those that somebody may change meanwhile, and stacks
/// that are shorter than a write, are gathered: they are written behind put(), which is faster than waiting. One that
/// fails then is lost, and settle() reports it.
class RawStore final : public ImageStore {
 public:
  RawStore(const Hdf5Config& config, const OutputFiles& files, std::unique_ptr<BlockWriter> writer)
      : config_(config),
        files_(files),
        facts_{.width = config.width, .height = config.height, .pixel = config.pixel},
        image_bytes_(static_cast<std::size_t>(facts_.image_bytes())),
        stride_(static_cast<std::size_t>(facts_.stride())),
        block_images_(std::max<std::size_t>(1, kLargestWrite / stride_)),
        bounces_(std::clamp(kBounceBytes / (block_images_ * stride_), kFewestBounces, kMostBounces)),
        memory_(bounces_.size() * block_images_ * stride_, memory::MemoryKind::huge),
        writes_(std::move(writer), config.raw.in_flight,
                [this](int file, std::uint64_t offset, std::size_t bytes, int error) {
                  fail(file, offset, bytes, error);
                }) {
    for (std::size_t i = 0; i < bounces_.size(); ++i) bounces_[i].data = memory_.data() + i * block_images_ * stride_;
    has_tables_ = !config.results.tables.empty() || !config.results.profiles.empty();
    open_part();
    const std::string& remark = parts_.back().remark();
    log::write(remark.empty() ? log::Level::info : log::Level::warning, {.buffer = config.buffer},
               "sink raw writes by {}, {} writes at a time{}{}", writes_.name(), config.raw.in_flight,
               remark.empty() ? ", past the page cache" : ": ", remark);
  }
  RawStore(const RawStore&) = delete;
  RawStore& operator=(const RawStore&) = delete;
  ~RawStore() override { writes_.drain(); }

  void put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
           std::string& error) override;
  [[nodiscard]] RawPlace raw_place(std::size_t image) const override { return places_[image]; }
  void noted() override;
  bool poll() override;
  void settle(std::string& error) override;
  [[nodiscard]] bool holds(const StoredPlace& image) const override {
    const RawPart& part = parts_[image.file - 1];
    return image.place < (settled_ ? part.synced : part.count) && kept_[image.file - 1][image.place];
  }
  [[nodiscard]] std::string why_lost(const StoredPlace& image) const override {
    const std::string& why = parts_[image.file - 1].lost;
    return why.empty() ? why_not_kept_ : why;
  }
  [[nodiscard]] SinkStats stats() const noexcept override {
    return {.images_written = written_, .bytes_written = written_ * image_bytes_, .bytes_stored = written_ * stride_};
  }

 private:
  struct Bounce {
    std::byte* data = nullptr;
    unsigned used_by = 0;  // requests
  };
  /// Bytes that lie one after the other in memory and in a part, and were not asked for yet.
  struct Run {
    std::size_t part = 0;
    std::uint64_t offset = 0;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Bounce* bounce = nullptr;  // null: where the image lies
  };
  /// An accepted image of the stack at hand.
  struct Given {
    std::size_t image = 0;
    std::size_t part = 0;
    std::uint64_t slot = 0;
    bool failed = false;
    bool in_place = false;  // written from where it lies
    bool intact = true;     // its copy, where it was gathered
  };

  void open_part();
  void begin_image(std::size_t image);
  void add(const Stack& stack, Given& given);
  void gather(const Stack& stack, Given& given);
  void flush_run();
  void finish_writes() {
    flush_run();
    writes_.drain();
  }
  Bounce& free_bounce();
  void fail(int file, std::uint64_t offset, std::size_t bytes, int error);
  void prepare_sync();
  void begin_sync();
  void end_sync(std::uint64_t token, int error);
  void wait_for_syncs();
  void close_full_parts();
  void give_up(std::size_t number, const std::string& why);
  /// Returns the name of a part. Called once the run has begun: from then on the name does not change.
  const std::filesystem::path& path_of(std::size_t part) {
    if (paths_[part].empty()) paths_[part] = files_.data(part + 1);
    return paths_[part];
  }
  [[nodiscard]] std::string name_of(std::size_t part) { return path_of(part).string(); }

  Hdf5Config config_;
  const OutputFiles& files_;
  RawHeader facts_;
  std::size_t image_bytes_, stride_, block_images_;
  std::vector<Bounce> bounces_;
  memory::Buffer memory_;
  std::vector<RawPart> parts_;
  std::vector<std::filesystem::path> paths_;  // of them, as far as somebody has asked
  std::vector<std::uint64_t> good_;           // of each part: stored images in its slots that no sync has told of
  std::vector<std::vector<bool>> kept_;  // of each part: slots whose images put() has stored, and no write has failed
  std::uint64_t slots_given_ = 0;        // in all parts
  std::size_t first_open_ = 0;           // parts before are closed
  std::vector<RawPlace> places_;         // of the stack at hand, by image
  std::vector<Given> given_;
  Run run_;
  bool gathers_ = false;                     // the stack at hand, whole
  bool waits_ = false;                       // for images of it, which are written from where they lie
  std::string why_;                          // the first failure that nobody was told of
  std::string why_not_kept_;                 // the first failure of a write
  std::vector<std::uint64_t> syncing_good_;  // by part, in the sync that is on its way
  bool has_tables_ = false;                  // an image is whole with its rows and profiles
  FileDescriptor tables_;                    // of their file
  bool prepared_ = false;                    // a sync, which waits for the writes before it
  std::size_t syncs_left_ = 0;               // of the one that is on its way
  Clock::time_point last_sync_{};
  std::uint64_t written_ = 0;
  bool noted_ = false;    // all rows of stored images are in the journal
  bool changed_ = false;  // stats(), since poll()
  bool settled_ = false;
  BlockWrites writes_;  // last: ends before the members that it uses
};

void RawStore::open_part() {
  RawHeader header = facts_;
  header.number = static_cast<std::uint32_t>(parts_.size() + 1);
  header.slots = config_.images_per_file;
  if (config_.end == End::known) {  // no more than can still come
    const std::uint64_t left = config_.images - std::min(config_.images, slots_given_);
    header.slots = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(left, 1, header.slots));
  }
  parts_.reserve(parts_.size() + 1);
  paths_.resize(parts_.size() + 1);
  good_.reserve(parts_.size() + 1);
  kept_.reserve(parts_.size() + 1);
  syncing_good_.reserve(parts_.size() + 1);
  parts_.emplace_back(files_.data(header.number), header);
  if (files_.begun()) files_.sync_names();
  good_.push_back(0);
  kept_.emplace_back().reserve(std::min<std::size_t>(header.slots, kReserved));
  syncing_good_.push_back(0);
}

void RawStore::begin_image(std::size_t image) {
  if (!parts_.back().open() || !parts_.back().lost.empty() || parts_.back().count == parts_.back().header().slots) {
    flush_run();
    open_part();
  }
  RawPart& part = parts_.back();
  given_.push_back({.image = image, .part = parts_.size() - 1, .slot = part.count});
  part.count += 1;
  kept_.back().push_back(false);
  slots_given_ += 1;
}

void RawStore::put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
                   std::string& error) {
  const auto images = stack.view();
  places_.assign(images.size(), {});
  given_.clear();
  given_.reserve(images.size());
  noted_ = false;
  const auto stored_images = std::count_if(
      images.begin(), images.end(), [](const StackImage& image) { return image.decision == Decision::accepted; });
  gathers_ = static_cast<std::size_t>(stored_images) * stride_ < kLargestWrite;
  waits_ = false;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision != Decision::accepted) continue;
    try {
      begin_image(i);
      add(stack, given_.back());
    } catch (const Error& failure) {
      if (why_.empty()) why_ = fmt::format("frame {}: {}", images[i].frame_number, failure.what());
      results[i] = ErrorReason::storage;
    }
  }
  if (run_.bounce == nullptr) flush_run();
  for (const Given& given : given_) {  // while they are written; those that were gathered are done
    RawPlace& place = places_[given.image];
    const StackImage& image = images[given.image];
    if (!given.in_place) continue;
    place = {.offset = facts_.offset_of(given.slot), .length = image_bytes_, .crc32c = 0};
    place.crc32c = crc32c({image.dense(), image_bytes_});
  }
  if (waits_) writes_.drain();
  for (const Given& given : given_) {
    ErrorReason& result = results[given.image];
    if (given.failed) {
      result = ErrorReason::storage;
    } else if (given.in_place ? !stack.intact(images[given.image]) : !given.intact) {
      result = ErrorReason::overwritten;
    } else {
      stored[given.image] = {.file = static_cast<std::uint32_t>(given.part + 1),
                             .place = static_cast<std::uint32_t>(given.slot),
                             .end = 0};
      good_[given.part] += 1;
      kept_[given.part][given.slot] = true;
    }
  }
  given_.clear();
  if (error.empty()) error = std::exchange(why_, {});
}

void RawStore::add(const Stack& stack, Given& given) {
  const StackImage& image = stack.images[given.image];
  const std::byte* pixels = image.dense();
  const std::size_t alignment = parts_[given.part].memory_alignment();
  if (gathers_ || image.may_change() || image_bytes_ != stride_ ||
      reinterpret_cast<std::uintptr_t>(pixels) % alignment != 0) {
    return gather(stack, given);
  }
  waits_ = given.in_place = true;
  const std::uint64_t offset = facts_.offset_of(given.slot);
  const bool follows = run_.bytes > 0 && run_.bounce == nullptr && run_.part == given.part &&
                       run_.offset + run_.bytes == offset && run_.data + run_.bytes == pixels;
  if (!follows) {
    flush_run();
    run_ = {.part = given.part, .offset = offset, .data = pixels, .bytes = 0, .bounce = nullptr};
  }
  run_.bytes += image_bytes_;
}

void RawStore::gather(const Stack& stack, Given& given) {
  const StackImage& image = stack.images[given.image];
  const std::uint64_t offset = facts_.offset_of(given.slot);
  const bool follows = run_.bounce != nullptr && run_.part == given.part && run_.offset + run_.bytes == offset &&
                       run_.bytes + stride_ <= block_images_ * stride_;
  if (!follows) {
    flush_run();
    Bounce& bounce = free_bounce();
    run_ = {.part = given.part, .offset = offset, .data = bounce.data, .bytes = 0, .bounce = &bounce};
  }
  std::byte* to = run_.bounce->data + run_.bytes;
  const std::span<const std::byte> pixels{image.dense(), image_bytes_};
  std::uint32_t crc = 0;
  if (image.may_change()) {  // of the copy: a change that is taken back may be in one read and not in the next
    memory::stream_copy(to, pixels);
    crc = crc32c({to, image_bytes_});
  } else {
    crc = memory::stream_copy_crc32c(to, pixels, 0);
  }
  given.intact = stack.intact(image, to);
  std::memset(to + image_bytes_, 0, stride_ - image_bytes_);
  places_[given.image] = {.offset = offset, .length = image_bytes_, .crc32c = crc};
  run_.bytes += stride_;
}

void RawStore::flush_run() {
  if (run_.bytes > 0) {
    if (run_.bounce != nullptr) memory::stream_fence();
    writes_.write(parts_[run_.part].file(), run_.data, run_.bytes, run_.offset,
                  run_.bounce != nullptr ? &run_.bounce->used_by : nullptr);
  }
  run_ = {};
}

RawStore::Bounce& RawStore::free_bounce() {
  for (;;) {
    const auto found = std::find_if(bounces_.begin(), bounces_.end(), [](const Bounce& b) { return b.used_by == 0; });
    if (found != bounces_.end()) return *found;
    writes_.wait();
  }
}

void RawStore::fail(int file, std::uint64_t offset, std::size_t bytes, int error) {
  for (Given& given : given_) {
    const std::uint64_t own = facts_.offset_of(given.slot);
    if (parts_[given.part].file() == file && own < offset + bytes && offset < own + stride_) given.failed = true;
  }
  const std::string why =
      fmt::format("raw sink: an image cannot be written: {}; check the space in the folder of {}, and the disk",
                  errno_text(error), config_.prefix);
  if (why_.empty()) why_ = why;
  if (why_not_kept_.empty()) why_not_kept_ = why;
  for (std::size_t number = first_open_; number < parts_.size(); ++number) {  // of stacks before
    if (parts_[number].file() != file) continue;
    const std::uint64_t first = (offset - kRawHeader) / stride_, end = (offset + bytes - kRawHeader - 1) / stride_ + 1;
    for (std::uint64_t slot = first; slot < end; ++slot) {
      if (!kept_[number][slot]) continue;
      kept_[number][slot] = false;
      (slot < parts_[number].syncing ? syncing_good_ : good_)[number] -= 1;
    }
  }
}

// The rows of images that put() has stored are in the journal: both can go to the device.
void RawStore::noted() {
  noted_ = true;
  poll();
}

bool RawStore::poll() {
  BlockWrites::Sync sync;
  while (writes_.finished_sync(sync)) end_sync(sync.token, sync.error);
  if (syncs_left_ == 0 && !prepared_ && noted_ && !settled_ && Clock::now() - last_sync_ >= kSyncEvery) prepare_sync();
  begin_sync();
  return std::exchange(changed_, false);
}

/// Chooses up to kMostDirty files, with images that put() has stored so far, for the next sync. Images go on meanwhile.
void RawStore::prepare_sync() {
  flush_run();
  std::size_t dirty = 0;
  for (std::size_t number = first_open_; number < parts_.size() && dirty < kMostDirty; ++number) {
    RawPart& part = parts_[number];
    if (!part.open() || !part.lost.empty() || part.synced == part.count) continue;
    if (!part.is_at(path_of(number))) {
      give_up(number, says_gone(path_of(number)));
      continue;
    }
    part.syncing = part.count;
    syncing_good_[number] = std::exchange(good_[number], 0);
    dirty += 1;
  }
  if (dirty == 0) return;
  writes_.mark();
  prepared_ = true;
}

void RawStore::begin_sync() {
  if (!prepared_ || writes_.before_mark() > 0) return;
  prepared_ = false;
  for (std::size_t number = first_open_; number < parts_.size(); ++number) {
    if (parts_[number].syncing == 0) continue;
    writes_.sync(parts_[number].file(), number);
    syncs_left_ += 1;
  }
  last_sync_ = Clock::now();
  writes_.sync(files_.journal(), kJournal);
  syncs_left_ += 1;
  if (!has_tables_) return;
  if (tables_.get() < 0) tables_ = FileDescriptor(::open(files_.tables().c_str(), O_RDONLY | O_CLOEXEC));
  // Without the file the sync fails, and says so.
  writes_.sync(tables_.get(), kTables);
  syncs_left_ += 1;
}

void RawStore::end_sync(std::uint64_t token, int error) {
  syncs_left_ -= 1;
  if (error != 0) {
    const bool of_all = token == kJournal || token == kTables;
    const std::string what = token == kJournal  ? "the index"
                             : token == kTables ? files_.tables().string()
                                                : name_of(token);
    const std::string why = fmt::format("{} cannot be brought to the device: {}", what, errno_text(error));
    for (std::size_t number = first_open_; number < parts_.size(); ++number) {
      if (parts_[number].syncing > 0 && (of_all || number == token)) give_up(number, why);
    }
  }
  if (syncs_left_ > 0) return;
  for (std::size_t number = first_open_; number < parts_.size(); ++number) {
    RawPart& part = parts_[number];
    if (part.syncing == 0) continue;
    if (part.lost.empty()) {
      part.synced = part.syncing;
      part.stored += syncing_good_[number];
      written_ += std::exchange(syncing_good_[number], 0);
      changed_ = true;
    }
    part.syncing = 0;
  }
  close_full_parts();
}

/// Images of this part that are not on the device yet are not there, and no more go to it.
void RawStore::give_up(std::size_t number, const std::string& why) {
  if (parts_[number].lost.empty()) parts_[number].lost = why;
}

void RawStore::close_full_parts() {
  while (first_open_ + 1 < parts_.size()) {
    RawPart& part = parts_[first_open_];
    if (part.lost.empty() && (part.synced != part.count || good_[first_open_] != 0)) return;
    if (!part.lost.empty()) finish_writes();    // some may be its own
    static_cast<void>(part.close(part.count));  // it may keep room that nothing uses
    ++first_open_;
  }
}

void RawStore::wait_for_syncs() {
  while (prepared_ || syncs_left_ > 0) {
    BlockWrites::Sync sync;
    while (writes_.finished_sync(sync)) end_sync(sync.token, sync.error);
    begin_sync();
    if (prepared_ || syncs_left_ > 0) writes_.wait();
  }
}

void RawStore::settle(std::string& error) {
  finish_writes();
  wait_for_syncs();
  for (prepare_sync(); prepared_; prepare_sync()) wait_for_syncs();
  for (std::size_t number = 0; number < parts_.size(); ++number) {
    RawPart& part = parts_[number];
    if (!part.is_at(path_of(number))) {
      part.synced = 0;
      written_ -= std::exchange(part.stored, 0);
      give_up(number, says_gone(path_of(number)));
    }
    if (part.open()) {
      const std::string why = part.close(part.count);  // its images are there all the same
      if (!why.empty() && error.empty()) error = name_of(number) + " cannot be completed: " + why;
    }
    if (!part.lost.empty() && error.empty()) error = part.lost;
  }
  if (error.empty()) error = std::exchange(why_, {});
  settled_ = true;
}

}  // namespace

std::unique_ptr<ImageStore> make_raw_store(const Hdf5Config& config, const OutputFiles& files) {
  std::string why;
  std::unique_ptr<BlockWriter> writer = make_block_writer(config.raw, why);
  if (!why.empty()) log::write(log::Level::warning, {.buffer = config.buffer}, "sink raw: {}", why);
  return make_raw_store(config, files, std::move(writer));
}

std::unique_ptr<ImageStore> make_raw_store(const Hdf5Config& config, const OutputFiles& files,
                                           std::unique_ptr<BlockWriter> writer) {
  return std::make_unique<RawStore>(config, files, std::move(writer));
}

}  // namespace rashpa::sink
