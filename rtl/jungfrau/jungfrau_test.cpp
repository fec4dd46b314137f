// SPDX-License-Identifier: Apache-2.0
// The lane against binary32 of this processor: thirty million cases, a word a cycle, of kinds in turn; and the rows of
// the decode table that every backend is tested with.
#include <Vjungfrau.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/testing/cases.hpp"
#include "testing/bench.hpp"

using namespace rashpa::rtl;
namespace software = rashpa::kernel::jungfrau;

namespace {

constexpr std::size_t kStages = 20;
constexpr std::uint32_t kCases = 30'000'000;
constexpr float kLargestFactor = 0x1p125F;
constexpr int kMasked = -32768;
constexpr int kSaturated = 32767;

struct Case {
  std::uint16_t word = 0;
  float pedestal = 0, factor = 1;
  int kind = -1;
};

float bits(std::uint32_t word) { return std::bit_cast<float>(word); }

/// photons = clamp(rint(fl32(fl32(adu − P) · S))), each operation of this processor rounded for itself.
int photons_of(const Case& of) {
  if (of.word >> 14 == 2 || of.word == 0xFFFF || of.word == 0x4000) return kMasked;
  if (!(std::abs(of.pedestal) < 0x1p24F)) return kMasked;
  if (of.word == 0xC000) return kSaturated;
  const volatile float difference = static_cast<float>(of.word & 0x3FFF) - of.pedestal;
  const volatile float product = difference * of.factor;
  return static_cast<int>(std::clamp(std::nearbyint(static_cast<float>(product)), -32767.0F, 32766.0F));
}

class Cases {
 public:
  Case next(std::uint32_t number) {
    Case made;
    made.kind = static_cast<int>(number % 12);
    made.word = static_cast<std::uint16_t>(random_.word());
    switch (made.kind) {
      case 0:  // anything
        made.pedestal = pedestal(bits(random_.word()));
        made.factor = bits(random_.word());
        break;
      case 1:  // what detectors have
        made.pedestal = real(0, 16383);
        made.factor = real(-0.2F, 0.2F);
        break;
      case 2:  // ties of the product: eighths times powers of two
        made.pedestal = static_cast<float>(random_(0, 131064)) / 8;
        made.factor = std::ldexp(random_.chance(50) ? 1.0F : -1.0F, -static_cast<int>(random_(0, 6)));
        break;
      case 3:  // cancellation; of small words down to the last bit that there is
        if (random_.chance(50)) made.word &= 0xC007;
        made.pedestal = near(static_cast<float>(made.word & 0x3FFF), 40);
        made.factor = std::ldexp(real(1, 2), static_cast<int>(random_(0, 60)) - 20);
        break;
      case 4:  // large pedestals of either sign
        made.pedestal = pedestal(std::ldexp(real(-2, 2), static_cast<int>(random_(0, 23))));
        made.factor = std::ldexp(real(-2, 2), -static_cast<int>(random_(0, 24)));
        break;
      case 5:  // small ones, subnormal ones, nothing
        made.pedestal = std::ldexp(real(-2, 2), -static_cast<int>(random_(0, 150)));
        made.factor = std::ldexp(real(-2, 2), static_cast<int>(random_(0, 274)) - 150);
        break;
      case 6:  // the same of words without an ADU
        made.word &= 0xC000;
        made.pedestal = std::ldexp(real(-2, 2), 23 - static_cast<int>(random_(0, 173)));
        made.factor = std::ldexp(real(-2, 2), static_cast<int>(random_(0, 274)) - 150);
        break;
      case 7:  // products beside n + 1/2
      case 8:
        made.pedestal = made.kind == 7 ? static_cast<float>(random_(0, 16383)) : real(0, 16383);
        made.factor = near(factor_for(made, static_cast<float>(random_(0, 33000)) + 0.5F), 2);
        break;
      case 9:  // the ends
        made.pedestal = real(-20000, 20000);
        made.factor = near(factor_for(made, 32764.0F + 0.25F * static_cast<float>(random_(0, 24))), 3);
        break;
      case 10:  // pedestals in the places where bits are lost: between 2^-30 and 2
        made.pedestal = std::ldexp(real(-2, 2), -static_cast<int>(random_(0, 30)));
        made.word = static_cast<std::uint16_t>((made.word & 0xC000) | random_(0, 3));
        made.factor = std::ldexp(real(-2, 2), static_cast<int>(random_(0, 30)));
        break;
      default:  // special words, and no calibration
        made.word = static_cast<std::uint16_t>(random_(0, 3) << 14 | (random_.chance(50) ? 0 : 0x3FFF));
        made.pedestal = random_.chance(50) ? real(0, 16383) : random_.chance(50) ? bits(0x7FC00000) : 0x1p60F;
        made.factor = real(-1, 1);
    }
    if (!(std::abs(made.factor) <= kLargestFactor)) made.factor = real(-1, 1);
    if (random_.chance(30)) made.factor = -made.factor;
    return made;
  }

 private:
  float real(float low, float high) { return low + (high - low) * static_cast<float>(random_.word()) * 0x1p-32F; }
  /// Not what a table cannot have: beyond 2^24 and not NaN.
  static float pedestal(float any) { return std::abs(any) < 0x1p24F ? any : bits(0x7FC00000); }
  /// At most `ulps` away.
  float near(float value, std::uint32_t ulps) {
    return bits(std::bit_cast<std::uint32_t>(value) + random_(0, 2 * ulps) - ulps);
  }
  static float factor_for(const Case& of, float product) {
    const float difference = static_cast<float>(of.word & 0x3FFF) - of.pedestal;
    return difference == 0 ? 1 : product / difference;
  }
  Random random_{7};
};

class Lane {
 public:
  /// One cycle: `in` goes in; what came out of that of kStages cycles before is checked.
  void cycle(const Case& in) {
    lane_->word_i = in.word;
    lane_->pedestal_i = std::bit_cast<std::uint32_t>(in.pedestal);
    lane_->factor_i = std::bit_cast<std::uint32_t>(in.factor);
    under_way_[at_] = in;
    lane_.cycle();
    at_ = (at_ + 1) % kStages;
    const Case& of = under_way_[at_];
    if (of.kind < 0) return;
    const int expected = photons_of(of);
    const int photons = static_cast<std::int16_t>(lane_->photons_o);
    check(photons == expected && lane_->masked_o == (expected == kMasked) &&
              lane_->saturated_o == (expected == kSaturated),
          "kind %d: word %04x, P %a, S %a: %d (masked %d, saturated %d), not %d", of.kind, of.word,
          static_cast<double>(of.pedestal), static_cast<double>(of.factor), photons, lane_->masked_o,
          lane_->saturated_o, expected);
  }
  [[nodiscard]] std::uint64_t cycles() const { return lane_.cycles(); }

 private:
  Clocked<Vjungfrau> lane_;
  std::array<Case, kStages> under_way_{};
  std::size_t at_ = 0;
};

/// The entry of a pixel as software makes it, of the word's gain.
Case of_row(const software::Row& row) {
  const unsigned code = row.word >> 14;
  const unsigned gain = code == 3 ? 2 : code == 2 ? 0 : code;
  const software::Config config = config_of(row, software::Output::photons);
  const float pedestal = config.calibration.pedestal[gain * 64];
  const double adu_per_kev = static_cast<double>(config.calibration.gain[gain * 64]);
  const auto factor = static_cast<float>(1.0 / (adu_per_kev * config.photon_energy_kev));
  const bool valid = (row.mask & software::kMaskBits) == 0 && std::isfinite(adu_per_kev) && adu_per_kev != 0 &&
                     std::isfinite(factor) && std::abs(pedestal) < software::kPedestalLimit &&
                     (gain != 0 || pedestal <= software::kLargestAdu);
  return {row.word, valid ? pedestal : bits(0x7FC00000), valid ? factor : 1, 100};
}

}  // namespace

int main() {
  Lane lane;
  for (const software::Row& row : software::kRows) {
    const Case of = of_row(row);
    check(photons_of(of) == row.photons, "%s: the bench itself says %d", row.what, photons_of(of));
    lane.cycle(of);
  }
  Cases cases;
  for (std::uint32_t i = 0; i < kCases; ++i) lane.cycle(cases.next(i));
  for (std::size_t i = 0; i < kStages; ++i) lane.cycle({});
  return result(lane.cycles());
}
