// Accepts most slices and misbehaves for the others as misbehaviour.hpp defines. Parameter: seed. Or, if
// `kills` and `hangs` are given, for these two slices alone.
#include "misbehaviour.hpp"
#include <weir/filter.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using weir::system_test::Misbehaviour;

class Misbehaves : public weir::Filter {
 public:
  explicit Misbehaves(weir::FilterSetup& setup)
      : Filter(setup),
        seed_(setup.parameter("seed", std::uint64_t{1})),
        kills_(setup.parameter("kills", std::uint64_t{0})),
        hangs_(setup.parameter("hangs", std::uint64_t{0})) {}

  weir::Decision process(const weir::Slice& slice) override {
    switch (does(slice.id())) {
      case Misbehaviour::none:
        break;
      case Misbehaviour::aborts:
        std::abort();
      case Misbehaviour::writes_wildly:
        *wild_ = 1;
        break;
      case Misbehaviour::exits_well:
        std::_Exit(0);
      case Misbehaviour::dies_once:
        if (slice.attempt() == 0) std::raise(SIGKILL);
        break;
      case Misbehaviour::hangs:
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        break;
      case Misbehaviour::throws:
        throw std::runtime_error("slice " + std::to_string(slice.id()));
      case Misbehaviour::lies:
        return lie();
      case Misbehaviour::overflows:
        for (;;) add_event(1, large_);
      case Misbehaviour::asks_for_strangers:
        return need({1, 4'000'000'000U});
      case Misbehaviour::asks_for_ever:
        return need_all();
    }
    return accept();
  }

 private:
  [[nodiscard]] Misbehaviour does(std::uint64_t slice) const {
    if (kills_ == 0) return weir::system_test::misbehaviour_of(slice, seed_);
    if (slice == kills_) return Misbehaviour::aborts;
    return slice == hangs_ ? Misbehaviour::hangs : Misbehaviour::none;
  }
  static weir::Decision lie() {
    weir::Decision decision = accept();
    decision.verdict = 77;
    return decision;
  }

  std::uint64_t seed_;
  std::uint64_t kills_;
  std::uint64_t hangs_;
  volatile int* wild_ = reinterpret_cast<volatile int*>(8);
  std::vector<std::byte> large_ = std::vector<std::byte>(1U << 20U);
};

}  // namespace

WEIR_FILTER_PLUGIN(Misbehaves, "misbehaves", "1.0", "crashes, hangs and lies")
