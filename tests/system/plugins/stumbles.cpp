// Accepts slices and throws for every n-th one. Parameters:
//   every   n, 0: never (default 0)
//   dies_at the id of a slice that kills its process, whenever it comes (default: none)
//   dies_every  n: each n-th slice does, 0: none (default)
//   ends_once  a path: at the first slice from 700 on its process ends with status 0, unless there is such
//           a file, which it leaves (default: none)
//   to      a group of DCMs: of four slices it accepts one, rejects one and forwards two there, with bytes
//   that
//           depend on the id; without `to`, a slice that comes with bytes of another is an error
//   two_steps  true: requests one source first and all others then; a first step that sees the others, and a
//           second one without the state of the first are errors (default: false)
//   picks   true, with two_steps: rejects about half of the slices, by the fragments of each step
//           (default: false)
//   alerts_every  n: gives a burst alert around each n-th slice, 0: none (default)
//   stumbles_at_end  true: the run cannot be ended (default: false)
//   refuses_while  a path: no run can begin while such a file is there (default: none)
// Fills histogram `last digit` once per slice.
// In a simulation the process that dies is a simulated one.
#include <weir/filter.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t kNone = UINT64_MAX;
constexpr std::uint64_t kEndsFrom = 700;
constexpr std::int64_t kAlertMs = 500;

class Stumbles : public weir::Filter {
 public:
  explicit Stumbles(weir::FilterSetup& setup)
      : Filter(setup),
        every_(setup.parameter("every", std::uint64_t{0})),
        dies_at_(setup.parameter("dies_at", kNone)),
        ends_once_(setup.parameter("ends_once", std::string())),
        dies_every_(setup.parameter("dies_every", std::uint64_t{0})),
        alerts_every_(setup.parameter("alerts_every", std::uint64_t{0})),
        refuses_while_(setup.parameter("refuses_while", std::string())),
        stumbles_at_end_(setup.parameter("stumbles_at_end", false)),
        to_(setup.parameter("to", std::string())),
        two_steps_(setup.parameter("two_steps", false)),
        picks_(setup.parameter("picks", false)),
        last_digits_(book_histogram("last digit", 10, 0, 10)) {}

  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() const override {
    if (!two_steps_) return std::nullopt;
    return std::vector<std::uint32_t>{first_};
  }

  void begin_run(const weir_filter_run& run) override {
    if (run.source_count > 0) first_ = run.sources[0];
    if (!refuses_while_.empty() && std::filesystem::exists(refuses_while_))
      throw std::runtime_error(refuses_while_ + " is there");
  }

  void end_run() override {
    if (stumbles_at_end_) throw std::runtime_error("stumbles at the end");
  }

  weir::Decision process(const weir::Slice& slice) override {
    if (!ends_once_.empty() && slice.id() >= kEndsFrom && !std::filesystem::exists(ends_once_)) {
      std::ofstream(ends_once_).put('\n');
      std::_Exit(0);
    }
    if (slice.step() == 0) last_digits_.fill(static_cast<double>(slice.id() % 10));
    if (alerts_every_ != 0 && slice.id() % alerts_every_ == 0)
      alert(kAlertMs, kAlertMs / 2, "slice " + std::to_string(slice.id()));
    if (slice.id() == dies_at_ || (dies_every_ != 0 && slice.id() % dies_every_ == 0)) die();
    if (every_ != 0 && slice.id() % every_ == 0) {
      throw std::runtime_error("stumbles over slice " + std::to_string(slice.id()));
    }
    if (!two_steps_ || slice.size() == 1) return decide(slice);
    if (slice.step() == 0) return look_first(slice);
    const auto* first = slice.remembered<First>();
    if (first == nullptr || first->id != slice.id())
      throw std::runtime_error("slice " + std::to_string(slice.id()) + " forgot its first step");
    if (picks_) return (first->seen ^ seen(slice)) % 2 == 0 ? accept() : reject();
    return decide(slice);
  }

 private:
  struct First {  // what a first step leaves for the second
    std::uint64_t id = 0;
    std::uint64_t seen = 0;
  };

  weir::Decision look_first(const weir::Slice& slice) {
    const auto other = [&](const weir::Fragment& one) { return one.requested() && one.source() != first_; };
    if (std::any_of(slice.begin(), slice.end(), other))
      throw std::runtime_error("slice " + std::to_string(slice.id()) +
                               " has fragments at its first step that were not asked for");
    (void)slice.remember<First>(slice.id(), seen(slice));
    return need_all();
  }
  static std::uint64_t seen(const weir::Slice& slice) {
    std::uint64_t sum = 0;
    for (const weir::Fragment& one : slice) {
      if (one.requested()) sum = sum * 31 + one.crc32c() + one.bytes().size();
    }
    return sum;
  }
  weir::Decision decide(const weir::Slice& slice) { return to_.empty() ? receive(slice) : select(slice); }

  static std::vector<std::byte> bytes_of(std::uint64_t id) {
    constexpr std::size_t kUnit = 100;
    return std::vector<std::byte>(id % 4 * kUnit, static_cast<std::byte>(id));
  }
  weir::Decision select(const weir::Slice& slice) const {
    switch (slice.id() % 4) {
      case 0:
        return accept();
      case 1:
        return reject();
      default:
        return forward(to_, bytes_of(slice.id()));
    }
  }
  // Of the forwarded ones every second slice is rejected.
  static weir::Decision receive(const weir::Slice& slice) {
    const std::span<const std::byte> bytes = slice.forwarded();
    if (bytes.empty()) return accept();
    const std::vector<std::byte> expected = bytes_of(slice.id());
    if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()))
      throw std::runtime_error("slice " + std::to_string(slice.id()) + " came with bytes of another");
    return slice.id() % 2 == 0 ? accept() : reject();
  }

  static void die() {
    if (void* simulated = ::dlsym(RTLD_DEFAULT, "weir_sim_filter_dies")) {
      reinterpret_cast<void (*)()>(simulated)();
    } else {
      std::raise(SIGKILL);
    }
  }

  std::uint64_t every_;
  std::uint64_t dies_at_;
  std::string ends_once_;
  std::uint64_t dies_every_;
  std::uint64_t alerts_every_;
  std::string refuses_while_;
  bool stumbles_at_end_;
  std::string to_;
  bool two_steps_;
  bool picks_;
  std::uint32_t first_ = 0;
  weir::Histogram1D last_digits_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Stumbles, "stumbles", "1.0", "throws now and then")
