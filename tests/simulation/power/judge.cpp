// SPDX-License-Identifier: Apache-2.0
#include "power/judge.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/raw/raw_images.hpp"
#include "rashpa/sink/repair/repair.hpp"

namespace rashpa::simulation::power {

namespace {

/// The sentence that ends a judgement.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file as any program reads it.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    if (file_ < 0) throw Wrong(path.filename().string() + " cannot be opened");
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { H5Fclose(file_); }

  [[nodiscard]] bool has(const std::string& path) const { return H5Lexists(file_, path.c_str(), H5P_DEFAULT) > 0; }
  template <typename T>
  std::vector<T> read(const std::string& path, hid_t type) const {
    return read<T>(path, type, 0, HSIZE_UNDEF);
  }
  /// Of `count` elements of the first axis, or of those that there are.
  template <typename T>
  std::vector<T> read(const std::string& path, hid_t type, hsize_t first, hsize_t count) const {
    const hid_t set = H5Dopen2(file_, path.c_str(), H5P_DEFAULT);
    if (set < 0) throw Wrong(path + " cannot be opened");
    const hid_t space = H5Dget_space(set);
    std::array<hsize_t, 4> shape{}, from{};
    const int rank = H5Sget_simple_extent_dims(space, shape.data(), nullptr);
    from[0] = std::min(first, shape[0]);
    shape[0] = std::min(count, shape[0] - from[0]);
    hsize_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) elements *= shape[static_cast<std::size_t>(axis)];
    std::vector<T> out(elements);
    const hid_t memory = H5Screate_simple(rank, shape.data(), nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, from.data(), nullptr, shape.data(), nullptr);
    const bool well = out.empty() || H5Dread(set, type, memory, space, H5P_DEFAULT, out.data()) >= 0;
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    if (!well) throw Wrong(path + " cannot be read");
    return out;
  }

 private:
  hid_t file_;
};

/// What a master says of its images.
struct Told {
  std::vector<std::uint64_t> frames{};  // of all images
  std::vector<std::uint8_t> decisions{};
  std::vector<std::int64_t> places{};  // among the stored ones
  [[nodiscard]] bool of_earlier() const { return !frames.empty() && frames[0] >= 1'000'000; }
};

constexpr std::uint8_t kAccepted = static_cast<std::uint8_t>(Decision::accepted);

Told told_by(const Reader& master) {
  return {.frames = master.read<std::uint64_t>("/entry/rashpa/frame_number", H5T_NATIVE_UINT64),
          .decisions = master.read<std::uint8_t>("/entry/rashpa/decision", H5T_NATIVE_UINT8),
          .places = master.read<std::int64_t>("/entry/rashpa/stored_index", H5T_NATIVE_INT64)};
}

std::vector<std::size_t> accepted_of(const Told& told) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < told.decisions.size(); ++i) {
    if (told.decisions[i] == kAccepted) all.push_back(i);
  }
  return all;
}

void expect_pixels(const StoredRun& run, std::uint64_t frame, const std::uint16_t* found) {
  const std::vector<std::uint16_t> pixels = run.image(frame);
  const auto at = std::mismatch(pixels.begin(), pixels.end(), found);
  if (at.first == pixels.end()) return;
  throw Wrong(fmt::format("frame {} is accepted, and pixel {} is {} in place of {}", frame, at.first - pixels.begin(),
                          *at.second, *at.first));
}

void check_dense(const StoredRun& run, const Reader& master, const Told& told) {
  const std::vector<std::size_t> accepted = accepted_of(told);
  if (accepted.empty()) return;
  const auto pixels = master.read<std::uint16_t>("/entry/data/data", H5T_NATIVE_UINT16);
  for (const std::size_t i : accepted) {
    const auto place = static_cast<std::size_t>(told.places[i]);
    if ((place + 1) * run.pixels() > pixels.size()) throw Wrong("an accepted image is not in /entry/data/data");
    expect_pixels(run, told.frames[i], pixels.data() + place * run.pixels());
  }
}

void check_sparse(const StoredRun& run, const Reader& master, const Told& told) {
  const auto ends = master.read<std::uint64_t>("/entry/data/frame_ptr", H5T_NATIVE_UINT64);
  for (const std::size_t i : accepted_of(told)) {
    const auto place = static_cast<std::size_t>(told.places[i]);
    const std::uint64_t first = ends.at(place), count = ends.at(place + 1) - first;
    const auto values = master.read<std::uint16_t>("/entry/data/intensity", H5T_NATIVE_UINT16, first, count);
    const auto index = master.read<std::uint32_t>("/entry/data/index", H5T_NATIVE_UINT32, first, count);
    if (values.size() != run.pixels() || index.size() != run.pixels()) {
      throw Wrong(fmt::format("frame {} is accepted, and its list is not there", told.frames[i]));
    }
    for (std::size_t at = 0; at < index.size(); ++at) {
      if (index[at] != at) throw Wrong(fmt::format("frame {} is accepted, and has a wrong place", told.frames[i]));
    }
    expect_pixels(run, told.frames[i], values.data());
  }
}

void check_raw(const StoredRun& run, const std::filesystem::path& folder, const std::string& name, const Told& told) {
  const int journal = ::open((folder / (name + "_master.journal")).c_str(), O_RDONLY | O_CLOEXEC);
  if (journal < 0) throw Wrong("the index of a raw run is not there");
  const sink::FrameRows rows(journal);
  sink::RawImages images(folder / name, rows);
  std::vector<std::uint16_t> pixels(run.pixels());
  for (const std::size_t i : accepted_of(told)) {
    if (i >= rows.size() || !images.read(i, std::as_writable_bytes(std::span(pixels)))) {
      throw Wrong(fmt::format("frame {} is accepted, and cannot be read", told.frames[i]));
    }
    expect_pixels(run, told.frames[i], pixels.data());
  }
  ::close(journal);
}

void check_tables(const StoredRun& run, const Reader& master, const Told& told) {
  const std::string at = "/entry/rashpa/tables/peaks/";
  const std::vector<std::size_t> accepted = accepted_of(told);
  if (accepted.empty()) return;
  const auto ends = master.read<std::uint64_t>(at + "ptr", H5T_NATIVE_UINT64);
  const auto bins = master.read<double>("/entry/rashpa/profiles/azimuthal/I", H5T_NATIVE_DOUBLE);
  for (const std::size_t i : accepted) {
    const std::uint64_t frame = told.frames[i], first = ends.at(i), rows = ends.at(i + 1) - first;
    const auto refuse = [&](const char* what) {
      throw Wrong(fmt::format("frame {} is accepted, and {}", frame, what));
    };
    if (rows != run.rows(frame)) refuse("has another number of peaks");
    const auto numbers = master.read<std::uint64_t>(at + "number", H5T_NATIVE_UINT64, first, rows);
    const auto places = master.read<double>(at + "place", H5T_NATIVE_DOUBLE, first, rows);
    if (numbers.size() != rows || places.size() != rows) refuse("its peaks are not there");
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (numbers[row] != run.value(frame, row) || places[row] != row + 0.5) refuse("has a wrong peak");
    }
    const auto place = static_cast<std::size_t>(told.places[i]);
    if ((place + 1) * kBins > bins.size()) refuse("its profile is not there");
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      if (bins[place * kBins + bin] != run.bin(frame, bin)) refuse("has a wrong bin in its profile");
    }
  }
}

/// Every window that is told is the one that was stored.
void check_windows(const StoredRun& run, const Reader& master, bool all_are_due) {
  const std::string at = "/entry/rashpa/accumulated/accumulate/";
  if (!master.has("/entry/rashpa/accumulated")) {
    if (all_are_due) throw Wrong("there are no windows");
    return;
  }
  const auto windows = master.read<std::uint64_t>(at + "window", H5T_NATIVE_UINT64);
  const auto ends = master.read<std::uint64_t>(at + "end_image", H5T_NATIVE_UINT64);
  const auto sums = master.read<std::int64_t>(at + "sum", H5T_NATIVE_INT64);
  if (all_are_due && windows.size() != run.whole_windows()) throw Wrong("windows are lost");
  for (std::size_t w = 0; w < std::min(windows.size(), ends.size()); ++w) {
    if (windows[w] != w || ends[w] != (w + 1) * 4) throw Wrong(fmt::format("window {} has wrong numbers", w));
    if ((w + 1) * run.pixels() > sums.size()) throw Wrong(fmt::format("window {} is told and not there", w));
    for (std::size_t pixel = 0; pixel < run.pixels(); ++pixel) {
      if (sums[w * run.pixels() + pixel] != run.sum(w, pixel)) throw Wrong(fmt::format("window {} has a wrong sum", w));
    }
  }
}

Told check_contents(const StoredRun& run, sink::ImageForm form, const std::filesystem::path& folder,
                    const std::string& name, bool windows_are_safe) {
  const Reader master(folder / (name + "_master.h5"));
  if (!master.has("/entry/rashpa/books")) throw Wrong("the master has no books");
  const Told told = told_by(master);
  switch (form) {
    case sink::ImageForm::dense:
      check_dense(run, master, told);
      break;
    case sink::ImageForm::sparse:
      check_sparse(run, master, told);
      break;
    case sink::ImageForm::raw:
      check_raw(run, folder, name, told);
      break;
  }
  if (run.tables) check_tables(run, master, told);
  if (run.accumulations) check_windows(run, master, windows_are_safe);
  const auto mask = master.read<std::uint32_t>("/entry/instrument/detector/pixel_mask", H5T_NATIVE_UINT32);
  if (mask.size() != run.pixels() || mask[5] != 2) throw Wrong("the mask of pixels is not the one of the run");
  return told;
}

/// The names of the run's files of which there is a master, up to the first that has none.
std::vector<std::string> names_in(const StoredRun& run, const std::filesystem::path& folder) {
  std::vector<std::string> names = run.names();
  const auto gone = std::find_if(names.begin() + 1, names.end(), [&](const std::string& name) {
    return !std::filesystem::exists(folder / (name + "_master.h5"));
  });
  names.erase(gone, names.end());
  return names;
}

/// Of all files of the run, one after the other. A disk without room may have taken windows.
Told contents_of(const StoredRun& run, const std::filesystem::path& folder, bool windows_are_safe) {
  Told all;
  for (const std::string& name : names_in(run, folder)) {
    const bool windows = windows_are_safe && run.room == UINT64_MAX;
    const Told told = check_contents(run, run.form, folder, name, windows);
    all.frames.insert(all.frames.end(), told.frames.begin(), told.frames.end());
    all.decisions.insert(all.decisions.end(), told.decisions.begin(), told.decisions.end());
  }
  return all;
}

/// `which`: a letter an image, '1' of those that are safe; empty: the first accepted ones.
void expect_images(const StoredRun& run, const Told& told, std::uint64_t safe, const std::string& which,
                   bool of_earlier) {
  if (told.of_earlier() != of_earlier && safe > 0) throw Wrong("the files are those of the other run");
  std::uint64_t found = 0;
  for (std::uint64_t image = 0; found < safe; ++image) {
    if (which.empty() ? !run.accepted(image) : which.at(image) != '1') continue;
    ++found;
    if (image < told.decisions.size() && told.decisions[image] == kAccepted) continue;
    throw Wrong(fmt::format("frame {} was safe and is lost; {} images were", run.frame(image, of_earlier), safe));
  }
}

void repair_all(const StoredRun& run, const std::filesystem::path& folder) {
  for (const std::string& name : names_in(run, folder)) sink::repair((folder / name).string());
}

/// A refusal must name what it is about.
void expect_name(const std::string& said) {
  if (said.find("_master") == std::string::npos && said.find("journal") == std::string::npos) {
    throw Wrong("is refused without a name: " + said);
  }
}

/// The files that are made of a raw run: whole when that is done, and right whenever they can be repaired.
void check_converted(const StoredRun& run, const Due& due, const std::filesystem::path& folder, std::string& said) {
  const auto look = [&] { return check_contents(run, sink::ImageForm::dense, folder, kConvertedName, due.converted); };
  try {
    if (due.converted) expect_images(run, look(), due.safe, due.which, false);
    try {
      sink::repair((folder / kConvertedName).string());
    } catch (const std::exception& refused) {
      said = refused.what();
      if (due.converted) throw Wrong("cannot be repaired: " + said);
      return expect_name(said);
    }
    const Told told = look();
    if (due.converted) expect_images(run, told, due.safe, due.which, false);
  } catch (const Wrong& wrong) {
    throw Wrong(std::string("converted: ") + wrong.what());
  }
}

std::uint64_t images_of_earlier(const StoredRun& run) {
  std::uint64_t accepted = 0;
  for (std::uint64_t image = 0; image < run.images / 2 + 1; ++image) accepted += run.accepted(image) ? 1U : 0U;
  return accepted;
}

}  // namespace

Due due_at(const Trace& trace, std::size_t cut) {
  Due due;
  for (std::size_t i = 0; i < cut; ++i) {
    if (trace[i].kind != Op::Kind::mark) continue;
    const std::string& what = trace[i].name;
    if (what == kEarlierDone) {
      due = {.earlier = true};
    } else if (what == kBegins && due.earlier) {
      due.earlier_or_own = true;
    } else if (what == kPut || what == kSettled || what == kClosed) {
      if (what == kPut) due.begun = true;
      due.safe = trace[i].at;
      due.which = trace[i].bytes;
      due.closed = what == kClosed;
      due.settled = what != kPut;
    } else if (what == kConverts) {
      due.converting = true;
    } else if (what == kConverted) {
      due.converted = true;
    }
  }
  return due;
}

std::string judge(const StoredRun& run, const Due& due, const std::filesystem::path& folder, std::string& said) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  sink::h5::register_bitshuffle();
  const std::uint64_t safe = due.safe;
  // An earlier raw run goes before the new one has its names: no master may be beside the index of another run.
  const bool goes = due.earlier_or_own && run.form == sink::ImageForm::raw;
  const bool is_due = safe > 0 || due.closed || (due.earlier && !due.begun && !goes);
  try {
    if (due.closed) expect_images(run, contents_of(run, folder, true), safe, due.which, false);  // as it is
    try {
      repair_all(run, folder);
    } catch (const std::exception& refused) {
      said = refused.what();
      if (is_due) throw Wrong("cannot be repaired: " + said);
      expect_name(said);
      return {};
    }
    const Told told = contents_of(run, folder, due.settled);
    if (due.earlier && !due.begun && (told.of_earlier() || !due.earlier_or_own)) {
      expect_images(run, told, images_of_earlier(run), {}, true);
    }
    if (safe > 0) expect_images(run, told, safe, due.which, false);
    if (due.converting) check_converted(run, due, folder, said);
  } catch (const Wrong& wrong) {
    return wrong.what();
  } catch (const std::exception& error) {
    return std::string("a reader throws: ") + error.what();
  }
  return {};
}

}  // namespace rashpa::simulation::power
