#include "planted.hpp"

#include "seeds.hpp"
#include "shrink.hpp"
#include <weir/base/planted.hpp>

#include <cstdio>
#include <stdexcept>

namespace weir::sim {
namespace {

void set_planted([[maybe_unused]] Planted bug) {
#ifdef WEIR_PLANTED_BUGS
  planted_bug = bug;
#else
  throw std::runtime_error("this build has no planted bugs: configure with -DWEIR_PLANTED_BUGS=ON");
#endif
}

}  // namespace

void plant(const std::string& bug) {
  for (std::size_t i = 0; i < kPlanted; ++i) {
    if (name(static_cast<Planted>(i)) == bug) return set_planted(static_cast<Planted>(i));
  }
  throw std::runtime_error("unknown planted bug '" + bug + "'");
}

int find_planted(const Options& options) {
  bool all = true;
  for (std::size_t i = 1; i < kPlanted; ++i) {
    const auto bug = static_cast<Planted>(i);
    set_planted(bug);
    ScenarioLimits limits = options.limits;
    if (bug >= Planted::mark_named && bug <= Planted::lose_border) limits.front_ends_permille = 1000;
    if (bug >= Planted::move_again) limits.planes_permille = 1000;
    std::uint64_t seed = options.first;
    while (seed <= options.last && !fails(make_scenario(seed, limits))) ++seed;
    const bool found = seed <= options.last;
    all = all && found;
    if (found) {
      std::printf("| `%s` | %llu |\n", std::string(name(bug)).c_str(),
                  static_cast<unsigned long long>(seed - options.first + 1));
    } else {
      std::printf("| `%s` | not found |\n", std::string(name(bug)).c_str());
    }
    std::fflush(stdout);
  }
  return all ? 0 : 1;
}

}  // namespace weir::sim
