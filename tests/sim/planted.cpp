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

// Returns the kind of farms that have such a bug, as a rate.
std::string_view farms_with(Planted bug) {
  switch (bug) {
    case Planted::mark_named:
      return "front-ends";
    case Planted::close_gaps:
    case Planted::place_anyhow:
    case Planted::tell_once:
      return "by-number";
    case Planted::join_whole:
    case Planted::hide_gap:
    case Planted::lose_border:
      return "by-time";
    case Planted::move_again:
    case Planted::forget_moved:
    case Planted::rush_carrier:
      return "planes";
    default:
      return "normal";
  }
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
  const Planted first = options.planted == "ways" ? Planted::mark_named : Planted::drop_acknowledgement;
  for (auto i = static_cast<std::size_t>(first); i < kPlanted; ++i) {
    const auto bug = static_cast<Planted>(i);
    if (bug == Planted::build_cut_off) continue;  // unit tests of the reach board find it
    const std::string_view farms = farms_with(bug);
    set_planted(bug);
    ScenarioLimits limits = options.limits;
    if (farms != "normal") set_rates(farms, limits);
    std::uint64_t seed = options.first;
    while (seed <= options.last && !fails(make_scenario(seed, limits))) ++seed;
    const bool found = seed <= options.last;
    all = all && found;
    const std::string seeds = found ? std::to_string(seed - options.first + 1) : "not found";
    std::printf("| `%s` | %s | %s |\n", std::string(name(bug)).c_str(), std::string(farms).c_str(),
                seeds.c_str());
    std::fflush(stdout);
  }
  return all ? 0 : 1;
}

}  // namespace weir::sim
