// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tests of whole pipelines on a device against unit cpu, with all results of many stacks in flight. The common part of
/// units that learn from dark images is here; each unit has its own choices.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/contract/bench.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit::contract {

class Pipelines {
 protected:
  static constexpr std::uint32_t kStack = 4, kStacks = 3, kRun = 22;  // the last stack is not full
  struct Outcome {
    std::vector<StackImage> images;
    std::vector<std::vector<std::byte>> pixels;
    std::vector<std::vector<std::uint32_t>> index;
    std::vector<std::vector<Scalar>> tables;
    struct Window {
      std::uint64_t window, first, end, images;
      std::vector<std::byte> sum;
      friend bool operator==(const Window&, const Window&) = default;
    };
    std::vector<Window> windows;
    std::string notice;
  };

  static void keep(const Output& output, const AccumulatedView& view, Outcome& all) {
    if (!view.ended()) return;
    const Accumulation& facts = output.results.accumulations[0];
    const std::size_t bytes = facts.elements() * bytes_of(facts.quantities[0].type);
    all.windows.push_back({view.window, view.first, view.end, view.images, {view.values[0], view.values[0] + bytes}});
  }
  static void keep(const Output& output, const StackImage& image, Outcome& all) {
    all.images.push_back(image);
    all.pixels.emplace_back();
    all.index.emplace_back();
    all.tables.emplace_back();
    const bool accepted = image.decision == Decision::accepted;
    if (accepted && image.pixels != nullptr) {
      all.pixels.back().assign(image.pixels,
                               image.pixels + std::size_t{output.width} * output.height * pixel_bytes(output.pixel));
    }
    if (accepted) all.index.back().assign(image.sparse.index, image.sparse.index + image.sparse.count);
    for (std::size_t t = 0; accepted && t < output.results.tables.size(); ++t) {
      const TableView& table = image.tables[t];
      const std::size_t values = table.rows * output.results.tables[t].columns.size();
      all.tables.back().insert(all.tables.back().end(), table.values, table.values + values);
    }
  }
  /// Runs a pipeline. `dark_every` is the distance between dark images; 0: none is dark. `cells` has the storage cells
  /// of images, in turn; empty: all are of cell 0.
  static Outcome run(const Choice& choice, const Pipeline& pipeline, const kernel::jungfrau::Config& calibration,
                     std::uint32_t dark_every = 0, const std::vector<std::uint32_t>& cells = {}) {
    StackRing ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable);
    Doorbell bell;
    const auto unit = make_unit(choice, pipeline, ring.layout, bell);
    Outcome all;
    const std::uint32_t stacks = (kRun + kStack - 1) / kStack;
    std::uint32_t submitted = 0;
    for (std::uint32_t taken = 0; taken < stacks; ++taken) {
      for (; submitted < stacks && submitted < taken + kStacks; ++submitted) {
        Stack& stack = ring.all[submitted % kStacks];
        stack.number = submitted;
        stack.count = std::min(kStack, kRun - submitted * kStack);
        for (std::uint32_t i = 0; i < stack.count; ++i) {
          const std::uint32_t number = submitted * kStack + i;
          const auto frame = kernel::jungfrau::synthetic::frame(calibration, number % 3 == 0 ? 0.0 : 0.03, number);
          std::memcpy(stack.images[i].raw, frame.data(), kPixels * 2);
          const bool dark = dark_every != 0 && number % dark_every == 1;
          stack.images[i].flags = dark ? FrameRecord::dark : 0U;
          if (!cells.empty()) stack.images[i].flags |= flags_of_cell(cells[number % cells.size()]);
          if (!cells.empty() && number == kDiffers) stack.images[i].flags |= kCellsDiffer;
          stack.images[i].completeness = number == 5 ? Completeness::missing : Completeness::complete;
        }
        unit->submit(&stack);
      }
      Stack* back = nullptr;
      while ((back = unit->take()) == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
      for (const StackImage& image : back->view()) keep(unit->output(), image, all);
      keep(unit->output(), back->accumulated[0], all);
    }
    all.notice = notice_of(*unit);
    keep(unit->output(), concluded(*unit)[0], all);
    EXPECT_EQ(unit->error(), "");
    return all;
  }
  static std::size_t accepted_of(const Outcome& all) {
    return static_cast<std::size_t>(std::count_if(all.images.begin(), all.images.end(), [](const StackImage& one) {
      return one.decision == Decision::accepted;
    }));
  }
  static void expect_same(const Outcome& found, const Outcome& truth) {
    ASSERT_EQ(found.images.size(), truth.images.size());
    for (std::size_t i = 0; i < truth.images.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(found.images[i].decision, truth.images[i].decision);
      EXPECT_EQ(found.images[i].reason, truth.images[i].reason);
      EXPECT_EQ(found.images[i].failed_in, truth.images[i].failed_in);
      EXPECT_EQ(found.images[i].scalars, truth.images[i].scalars);
      EXPECT_EQ(found.images[i].measured, truth.images[i].measured);
    }
    EXPECT_TRUE(found.pixels == truth.pixels);
    EXPECT_TRUE(found.index == truth.index);
    EXPECT_TRUE(found.tables == truth.tables);
    EXPECT_EQ(found.notice, truth.notice);
    EXPECT_TRUE(found.windows == truth.windows) << found.windows.size() << " windows, " << truth.windows.size();
  }

  /// The distance between dark images, for pedestals that follow the detector. Words are 30 ADU above the calibration's
  /// pedestals.
  static constexpr std::uint32_t kDarkEvery = 5;
  using From = kernel::jungfrau::Tracking::From;
  static kernel::jungfrau::Config words() { return calibration(kernel::jungfrau::Output::photons); }
  static kernel::jungfrau::Config tracked(From from, kernel::jungfrau::Output output) {
    kernel::jungfrau::Config config = words();
    for (std::size_t p = 0; p < kPixels; ++p) config.calibration.pedestal[p] -= 30;
    config.output = output;
    config.calibration.rms.assign(kPixels, 24.0F);
    config.calibration.rms[77] = 0;
    config.tracking = {from, 12, 3.0, 0.2};
    return config;
  }
  static void expect_pedestals_to_follow(const Choice& choice) {
    for (const From from : {From::darks, From::empty, From::next, From::every}) {
      for (const bool keep_darks : {false, true}) {
        SCOPED_TRACE(testing::Message() << "track " << static_cast<int>(from) << (keep_darks ? ", kept" : ""));
        const auto output = keep_darks ? kernel::jungfrau::Output::kev : kernel::jungfrau::Output::photons;
        const Pipeline pipeline{.kernels = {tracked(from, output)}, .keep_darks = keep_darks};
        const Outcome truth = run({}, pipeline, words(), kDarkEvery);
        EXPECT_EQ(accepted_of(truth), keep_darks ? 21U : 16U) << "of 22, one missing";
        const auto& numbers = truth.images[20].scalars;
        EXPECT_GT(numbers[2].real(), 0.2);
        EXPECT_GT(numbers[3].real(), numbers[2].real());
        EXPECT_NE(truth.notice, "");
        expect_same(run(choice, pipeline, words(), kDarkEvery), truth);
      }
    }
  }
  /// The image in which the modules' cells differ, for storage cells 3, 0 and 15 with pedestals 100 ADU apart. The
  /// images are of these and of cell 7.
  static constexpr std::uint32_t kDiffers = 9;
  static void expect_cells_to_have_their_pedestals(const Choice& choice) {
    for (const auto output : {kernel::jungfrau::Output::photons, kernel::jungfrau::Output::kev}) {
      SCOPED_TRACE(output == kernel::jungfrau::Output::kev ? "kev" : "photons");
      kernel::jungfrau::Config config = words();
      config.output = output;
      kernel::jungfrau::Calibration& maps = config.calibration;
      const std::vector<float> first = maps.pedestal;
      for (const float more : {100.0F, 200.0F}) {
        for (const float pedestal : first) maps.pedestal.push_back(pedestal + more);
      }
      config.cells = {3, 0, 15};
      Pipeline pipeline{.kernels = {config}};
      if (output == kernel::jungfrau::Output::photons) {
        pipeline.kernels.emplace_back(kernel::bragg_count::Config{3, 0, 1'000'000});
        pipeline.kernels.emplace_back(kernel::csr::Config{1, 1.0});
        pipeline.kernels.emplace_back(kernel::accumulate::Config{.window = 8});
      }
      const std::vector<std::uint32_t> cells{0, 15, 7, 3, 15};
      const Outcome truth = run({}, pipeline, words(), 0, cells);
      EXPECT_EQ(accepted_of(truth), 16U) << "of 22, one missing, one differs and four are of cell 7";
      EXPECT_EQ(truth.images[2].decision, Decision::errored);
      EXPECT_EQ(truth.images[kDiffers].decision, Decision::errored);
      expect_same(run(choice, pipeline, words(), 0, cells), truth);
    }
  }
  /// Each cell has dark images of its own, and one has none.
  static void expect_pedestals_of_cells_to_follow(const Choice& choice) {
    for (const From from : {From::darks, From::empty}) {
      for (const bool keep_darks : {false, true}) {
        SCOPED_TRACE(testing::Message() << (from == From::darks ? "darks" : "empty") << (keep_darks ? ", kept" : ""));
        const auto output = keep_darks ? kernel::jungfrau::Output::kev : kernel::jungfrau::Output::photons;
        kernel::jungfrau::Config config = tracked(from, output);
        kernel::jungfrau::Calibration& maps = config.calibration;
        const std::vector<float> first = maps.pedestal;
        const std::vector<float> rms = maps.rms;
        for (const float more : {20.0F, 40.0F, 60.0F}) {
          for (const float pedestal : first) maps.pedestal.push_back(pedestal + more);
          for (const float one : rms) maps.rms.push_back(one + more / 10);
        }
        config.cells = {3, 0, 15, 1};
        const Pipeline pipeline{.kernels = {config}, .keep_darks = keep_darks};
        const std::vector<std::uint32_t> cells{15, 0, 3, 7};  // cell 1 does not come, cell 7 has no set
        const Outcome truth = run({}, pipeline, words(), kDarkEvery, cells);
        EXPECT_EQ(truth.images[7].decision, Decision::errored);
        const auto& of_cell_0 = truth.images[17].scalars;
        EXPECT_EQ(truth.images[17].decision, Decision::accepted);
        EXPECT_GT(of_cell_0[2].real(), 0.0);
        EXPECT_GT(of_cell_0[3].real(), of_cell_0[2].real());
        EXPECT_NE(of_cell_0[3], truth.images[18].scalars[3]) << "which is of cell 3";
        expect_same(run(choice, pipeline, words(), kDarkEvery, cells), truth);
      }
    }
  }
  static void expect_darks_to_be_learned_from(const Choice& choice) {
    const auto config = tracked(From::darks, kernel::jungfrau::Output::photons);
    // Of raw words, 2450 or so a pixel. One refuses all images, one those with spots.
    const kernel::total_counts::Config refuses{.min_counts = 4'000'000'000};
    const Pipeline none{{refuses, config}};
    const Outcome of_none = run({}, none, words(), kDarkEvery);
    EXPECT_EQ(accepted_of(of_none), 0U);
    expect_same(run(choice, none, words(), kDarkEvery), of_none);
    const kernel::total_counts::Config some{.max_counts = 35'000'000};
    const Pipeline pipeline{{some, config, kernel::bragg_count::Config{3, 0, 1'000'000}, kernel::csr::Config{1, 1.0}}};
    const Outcome truth = run({}, pipeline, words(), kDarkEvery);
    EXPECT_GT(accepted_of(truth), 0U);
    expect_same(run(choice, pipeline, words(), kDarkEvery), truth);
  }
  static void expect_rules_on_the_drift(const Choice& choice) {
    const auto config = tracked(From::darks, kernel::jungfrau::Output::photons);
    const Pipeline pipeline{
        {config, kernel::veto::Config{"pedestal_drift < 0.25", "drifted"}, kernel::accumulate::Config{.window = 8}}};
    const Outcome truth = run({}, pipeline, words(), kDarkEvery);
    EXPECT_TRUE(accepted_of(truth) > 0 && accepted_of(truth) < 17) << accepted_of(truth);
    expect_same(run(choice, pipeline, words(), kDarkEvery), truth);
  }
};

}  // namespace rashpa::unit::contract
