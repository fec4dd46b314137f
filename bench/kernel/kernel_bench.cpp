// SPDX-License-Identifier: Apache-2.0
/// rashpa_kernel_bench: one JSON document of rows {what, value, unit, against, against_value, ratio} on standard
/// output. All things that a row compares run in turn, in the same run, on the same realistic data; values are medians.
/// One thread.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel {
namespace {

using measured::Row;

struct Options {
  std::string kernel = "jungfrau";
  std::size_t repeats = 31;
  std::size_t stack = 10;
  std::uint32_t modules = 2;
  double switched = 0.001;  // of the pixels, in spots: as in the recorded frames of PSI's module M049 (0.10 %)
  bool given = false;       // stack or switched were: only that case is run
};

// Without --stack and --switched: short and long stacks, recorded and tenfold switching.
constexpr std::array<std::pair<std::size_t, double>, 4> kCases{{{10, 0.001}, {40, 0.001}, {10, 0.01}, {40, 0.01}}};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) throw ConfigError(fmt::format("rashpa_kernel_bench: {} needs a value", name));
    const std::string value = argv[i + 1];
    options.given = options.given || name == "--stack" || name == "--switched";
    if (name == "--kernel")
      options.kernel = value;
    else if (name == "--repeats")
      options.repeats = std::stoul(value);
    else if (name == "--stack")
      options.stack = std::stoul(value);
    else if (name == "--modules")
      options.modules = static_cast<std::uint32_t>(std::stoul(value));
    else if (name == "--switched")
      options.switched = std::stod(value);
    else
      throw ConfigError(fmt::format(
          "rashpa_kernel_bench: unknown option {}; there are --kernel, --repeats, --stack, --modules, --switched",
          name));
  }
  if (options.repeats == 0 || options.stack == 0 || options.modules == 0) {
    throw ConfigError("rashpa_kernel_bench: --repeats, --stack and --modules must be at least 1");
  }
  return options;
}

/// A stack of synthetic images, modules one below the other, and room for every result.
class Bench {
 public:
  explicit Bench(const Options& options)
      : config_(jungfrau::synthetic::config(1024, 512 * options.modules, jungfrau::Output::photons, 1)),
        photons_(config_),
        kev_(with_kev(config_)),
        pixels_(photons_.pixels()),
        raw_memory_(options.stack * pixels_ * 2, memory::MemoryKind::huge),
        out_memory_(options.stack * pixels_ * 4, memory::MemoryKind::huge),
        marks_(options.stack * pixels_ / jungfrau::kGroup),
        counts_(options.stack),
        index_(options.stack * (pixels_ + csr::kSlack)),
        value_(index_.size()) {
    for (std::size_t i = 0; i < options.stack; ++i) {
      auto* raw = reinterpret_cast<std::uint16_t*>(raw_memory_.data()) + i * pixels_;
      const auto frame = jungfrau::synthetic::frame(config_, options.switched, i);
      std::copy(frame.begin(), frame.end(), raw);
      raw_pointers_.push_back(raw);
      out_pointers_.push_back(out_memory_.data() + i * pixels_ * 2);
      kev_pointers_.push_back(out_memory_.data() + i * pixels_ * 4);
      mark_pointers_.push_back(marks_.data() + i * pixels_ / jungfrau::kGroup);
    }
  }

  void copy() {
    for (std::size_t i = 0; i < raw_pointers_.size(); ++i) std::memcpy(out_pointers_[i], raw_pointers_[i], pixels_ * 2);
  }
  void convert(const jungfrau::Taps& taps) { jungfrau::convert(photons_, images(out_pointers_), taps, 0, pixels_); }
  void convert_kev() { jungfrau::convert(kev_, images(kev_pointers_), {}, 0, pixels_); }
  void convert_one_by_one() {
    for (std::size_t i = 0; i < raw_pointers_.size(); ++i) {
      jungfrau::convert(photons_, {1, &raw_pointers_[i], &out_pointers_[i], nullptr, &counts_[i]}, {}, 0, pixels_);
    }
  }
  void compact() {
    entries_ = 0;
    for (std::size_t i = 0; i < raw_pointers_.size(); ++i) {
      const std::size_t at = i * (pixels_ + csr::kSlack);
      entries_ += csr::compact_marked(out_pointers_[i], {PixelType::i16, Masked::minimum}, mark_pointers_[i], pixels_,
                                      {index_.data() + at, value_.data() + at, pixels_});
    }
  }
  [[nodiscard]] double bytes() const { return static_cast<double>(raw_pointers_.size() * pixels_ * 2); }
  [[nodiscard]] double density() const { return static_cast<double>(entries_) / bytes() * 2; }

 private:
  static jungfrau::Config with_kev(jungfrau::Config config) {
    config.output = jungfrau::Output::kev;
    return config;
  }
  jungfrau::Images images(const std::vector<void*>& out) {
    return {raw_pointers_.size(), raw_pointers_.data(), out.data(), mark_pointers_.data(), counts_.data()};
  }

  jungfrau::Config config_;
  jungfrau::Prepared photons_;
  jungfrau::Prepared kev_;
  std::size_t pixels_;
  memory::Buffer raw_memory_;
  memory::Buffer out_memory_;
  std::vector<std::uint64_t> marks_;
  std::vector<jungfrau::Counts> counts_;
  std::vector<std::uint32_t> index_;
  std::vector<std::int16_t> value_;
  std::vector<const std::uint16_t*> raw_pointers_;
  std::vector<void*> out_pointers_;
  std::vector<void*> kev_pointers_;
  std::vector<std::uint64_t*> mark_pointers_;
  std::size_t entries_ = 0;
};

std::int64_t processor_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// Median seconds of each piece of work, run in turn.
std::vector<double> medians(std::size_t repeats, const std::vector<std::function<void()>>& works) {
  std::vector<std::vector<double>> seconds(works.size());
  for (const auto& work : works) work();  // touch everything once
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t w = 0; w < works.size(); ++w) {
      const std::int64_t begin = processor_time_ns();
      works[w]();
      seconds[w].push_back(static_cast<double>(processor_time_ns() - begin) * 1e-9);
    }
  }
  std::vector<double> result;
  for (auto& s : seconds) {
    std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2), s.end());
    result.push_back(s[s.size() / 2]);
  }
  return result;
}

std::vector<Row> rows_of(const Options& options) {
  Bench bench(options);
  const std::string data =
      fmt::format("stack of {}, {} module(s), {:g} % switched", options.stack, options.modules, options.switched * 100);
  const auto speed = [&](double seconds) { return bench.bytes() / seconds * 1e-9; };
  if (options.kernel == "jungfrau") {
    const auto s = medians(options.repeats, {[&] { bench.copy(); }, [&] { bench.convert({}); },
                                             [&] { bench.convert_one_by_one(); }, [&] { bench.convert_kev(); }});
    const auto line = [&](const char* name, double seconds) {
      return Row{fmt::format("{}, {}, raw bytes a second", name, data), speed(seconds), "GB/s",
                 "memcpy of the raw bytes", speed(s[0])};
    };
    return {line("jungfrau to photons", s[1]), line("jungfrau to photons, image by image", s[2]),
            line("jungfrau to keV", s[3])};
  }
  const bool csr = options.kernel == "csr";
  if (!csr && options.kernel != "bragg_count") {
    throw ConfigError(
        fmt::format("rashpa_kernel_bench: no kernel {}; there are jungfrau, bragg_count, csr", options.kernel));
  }
  const jungfrau::Taps taps{!csr, 10, csr, 2};
  const auto s = medians(options.repeats, {[&] { bench.convert({}); },
                                           [&] {
                                             bench.convert(taps);
                                             if (csr) bench.compact();
                                           }});
  const std::string kept = csr ? fmt::format(", {:.2f} % of the pixels kept", bench.density() * 100) : "";
  return {{fmt::format("jungfrau + {}, {}{}, time", options.kernel, data, kept), s[1] * 1e3, "ms", "jungfrau alone",
           s[0] * 1e3}};
}

std::vector<Row> all_rows(Options options) {
  if (options.given) return rows_of(options);
  std::vector<Row> rows;
  for (const auto& [stack, switched] : kCases) {
    options.stack = stack;
    options.switched = switched;
    for (Row& line : rows_of(options)) rows.push_back(std::move(line));
  }
  return rows;
}

}  // namespace
}  // namespace rashpa::kernel

int main(int argc, char** argv) {
  try {
    const auto rows = rashpa::kernel::all_rows(rashpa::kernel::parse(argc, argv));
    rashpa::measured::print_document(rows);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
