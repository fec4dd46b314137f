// SPDX-License-Identifier: Apache-2.0
/// Pipelines and rings that the trigger word cannot start; no GPU is needed.
#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/steps.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/word/watch.hpp"
#include "rashpa/unit/cuda/word/word.hpp"
#endif

namespace rashpa::unit::cuda {
namespace {

#ifdef RASHPA_HAVE_CUDA

kernel::jungfrau::Config calibration() {
  return kernel::jungfrau::synthetic::config(64, 32, kernel::jungfrau::Output::photons, 1, 0.01);
}

class WordRefusal : public ::testing::Test {
 protected:
  [[nodiscard]] std::string refusal(const Pipeline& pipeline) const {
    return word_refusal(steps_of(pipeline, layout_), layout_);
  }
  Layout layout_{.width = 64, .height = 32, .stack = 4, .stacks = 4, .image_stride = 4096, .last_words = {LastWord{}}};
  Pipeline plain_{{calibration(), kernel::bragg_count::Config{10, 100, 100'000}}};
};

TEST_F(WordRefusal, pipelines_without_state_are_started) { EXPECT_EQ(refusal(plain_), ""); }

TEST_F(WordRefusal, a_link_without_last_words_is_refused) {
  layout_.last_words.clear();
  EXPECT_NE(refusal(plain_).find("verify off and credits"), std::string::npos) << refusal(plain_);
}

TEST_F(WordRefusal, more_stacks_than_are_enqueued_ahead_are_refused) {
  layout_.stacks = kMostStacksAhead;
  EXPECT_EQ(refusal(plain_), "");
  layout_.stacks = kMostStacksAhead + 1;
  EXPECT_NE(refusal(plain_).find("257 stacks"), std::string::npos);
}

TEST_F(WordRefusal, kernels_that_need_the_host_or_keep_something_are_refused) {
  Pipeline tracking = plain_;
  kernel::jungfrau::Config config = calibration();
  config.tracking.from = kernel::jungfrau::Tracking::From::darks;
  tracking.kernels[0] = config;
  EXPECT_NE(refusal(tracking).find("keeps something"), std::string::npos) << refusal(tracking);
  Pipeline checking = plain_;
  checking.kernels.insert(checking.kernels.begin(), kernel::checksum::Config{});
  EXPECT_NE(refusal(checking).find("checksum"), std::string::npos) << refusal(checking);
}

TEST_F(WordRefusal, the_choice_says_it_and_never_takes_word_by_itself) {
  const Steps steps = steps_of(plain_, layout_);
  EXPECT_EQ(choose(Trigger::word, steps, layout_).trigger, Trigger::word);
  EXPECT_NE(choose(Trigger::automatic, steps, layout_).trigger, Trigger::word);
  layout_.last_words.clear();
  EXPECT_THROW(static_cast<void>(choose(Trigger::word, steps, layout_)), ConfigError);
}

TEST_F(WordRefusal, small_stacks_of_its_steps_are_for_the_resident_kernel) {
  const auto chosen = [&](const Pipeline& pipeline) {
    return choose(Trigger::word, steps_of(pipeline, layout_), layout_);
  };
  EXPECT_TRUE(chosen(plain_).resident) << chosen(plain_).why;
  Pipeline more = plain_;
  more.kernels.emplace_back(kernel::total_counts::Config{});
  EXPECT_FALSE(chosen(more).resident);
  EXPECT_NE(chosen(more).why.find("total_counts needs a pass of its own"), std::string::npos) << chosen(more).why;
  layout_.stack = 16;
  layout_.last_words.resize(2);
  EXPECT_TRUE(chosen(plain_).resident);
  layout_.last_words.resize(3);  // 48 records
  EXPECT_FALSE(chosen(plain_).resident);
}

TEST(Begun, is_told_for_one_ticket) {
  EXPECT_EQ(begun(start_value(7, Begun::by_word), 7), Begun::by_word);
  EXPECT_EQ(begun(start_value(7, Begun::by_word), 8), Begun::no);
  EXPECT_EQ(begun(start_value(~0U, Begun::alone), ~0U), Begun::alone);
}

#endif

}  // namespace
}  // namespace rashpa::unit::cuda
