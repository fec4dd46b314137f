// SPDX-License-Identifier: Apache-2.0
/// Every unit refuses a pipeline that does not fit in the same words.
#include "rashpa/core/error.hpp"
#include "rashpa/unit/contract/bench.hpp"

namespace rashpa::unit {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

TEST_P(UnitContract, what_does_not_fit_is_refused_alike) {
  Doorbell bell;
  const StackRing ring(kWidth, kHeight, 2, 2, memory::MemoryKind::pageable);
  const auto refusal = [&](const Pipeline& pipeline, const Layout& layout) -> std::string {
    try {
      make_unit(GetParam().choice, pipeline, layout, bell);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  const jungfrau::Config photons = calibration(jungfrau::Output::photons);
  EXPECT_EQ(refusal({{photons, photons}}, ring.layout), "unit: jungfrau is twice in the pipeline; leave one out");
  Layout nothing = ring.layout;
  nothing.stack = 0;
  EXPECT_NE(refusal({{photons}}, nothing).find("give 1 or more of each"), std::string::npos);
  Layout other = ring.layout;
  other.width = kHeight;
  other.height = kWidth;
  EXPECT_NE(refusal({{photons}}, other).find("give maps of its size"), std::string::npos);
}

}  // namespace rashpa::unit
