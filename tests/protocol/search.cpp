#include "search.hpp"

#include <weir/base/hash.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <memory>

namespace weir::protocol_test {
namespace {

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Fingerprint&) const = default;
};

struct LowHalf {
  std::size_t operator()(const Fingerprint& fingerprint) const noexcept { return fingerprint.low; }
};

enum class Mark : std::uint8_t { on_the_way, done };

// One state on the way from the beginning to where the search is.
struct Stop {
  std::unique_ptr<World> world;
  Fingerprint fingerprint;
  std::vector<Move> moves;
  std::size_t next = 0;
};

class Search {
 public:
  Search(const Scenario& scenario, std::uint64_t states_max) : states_max_(states_max) {
    (void)enter(std::make_unique<World>(scenario));
  }

  Found run() {
    while (!way_.empty() && found_.broken.empty()) {
      Stop& here = way_.back();
      if (here.next == here.moves.size()) {
        seen_[here.fingerprint] = Mark::done;
        way_.pop_back();
      } else {
        step(here);
      }
    }
    found_.states = seen_.size();
    if (!found_.broken.empty()) {
      for (const Stop& stop : way_) {
        if (stop.next > 0) found_.way.push_back(stop.moves[stop.next - 1]);
      }
    }
    return std::move(found_);
  }

 private:
  void step(Stop& here) {
    const Move move = here.moves[here.next++];
    ++found_.steps;
    // The last move may have the world itself.
    const bool last = here.next == here.moves.size();
    auto world = last ? std::move(here.world) : std::make_unique<World>(*here.world);
    found_.broken = world->take(move);
    if (found_.broken.empty()) found_.broken = enter(std::move(world));
  }

  std::string enter(std::unique_ptr<World> world) {
    const Fingerprint fingerprint = fingerprint_of(*world);
    const auto [known, fresh] = seen_.emplace(fingerprint, Mark::on_the_way);
    if (!fresh) return known->second == Mark::on_the_way ? "it goes round in circles" : "";
    if (seen_.size() > states_max_) {
      found_.complete = false;
      return {};
    }
    Stop stop{std::move(world), fingerprint, {}, 0};
    stop.world->moves(stop.moves);
    // Faults and time sort last; with only those left, no work remains.
    const bool ends = std::all_of(stop.moves.begin(), stop.moves.end(),
                                  [](const Move& move) { return move.kind >= Move::Kind::dcm_crashes; });
    std::string unsettled;
    if (ends) {
      ++found_.ends;
      const bool waits = !stop.moves.empty() && stop.moves.back().kind == Move::Kind::time_passes;
      unsettled = stop.world->unsettled();
      if (waits && unsettled == "a slice is never settled") unsettled.clear();
    }
    way_.push_back(std::move(stop));
    found_.longest = std::max<std::uint64_t>(found_.longest, way_.size() - 1);
    return unsettled;
  }

  Fingerprint fingerprint_of(const World& world) {
    row_.clear();
    world.append_state(row_);
    Fingerprint hash{row_.size(), 0x9e3779b97f4a7c15ULL};
    for (const std::uint64_t number : row_) {
      hash.low = mix64(hash.low ^ number);
      hash.high = mix64(hash.high + number * 0xd1342543de82ef95ULL);
    }
    return hash;
  }

  std::uint64_t states_max_;
  boost::unordered_flat_map<Fingerprint, Mark, LowHalf> seen_;
  std::vector<Stop> way_;
  std::vector<std::uint64_t> row_;
  Found found_;
};

}  // namespace

Found search(const Scenario& scenario, std::uint64_t states_max) {
  return Search(scenario, states_max).run();
}

std::string describe(const std::vector<Move>& way) {
  std::string text;
  for (std::size_t i = 0; i < way.size(); ++i) text += std::to_string(i + 1) + ". " + describe(way[i]) + '\n';
  return text;
}

}  // namespace weir::protocol_test
