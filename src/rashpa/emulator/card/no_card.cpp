// SPDX-License-Identifier: Apache-2.0
/// Stands in for card_player.cpp where the build leaves cards out.
#include "rashpa/core/components.hpp"
#include "rashpa/emulator/card/card_player.hpp"

namespace rashpa::emulator {

std::unique_ptr<Player> make_card_player(const Config& /*config*/, const ModuleFramesStore& /*frames*/) {
  throw_left_out("emulator: engine", "card", "use engine software");
}

}  // namespace rashpa::emulator
