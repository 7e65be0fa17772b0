// Front-ends that run by their own clocks (build.by: time). Each source sees the same signals, one every
// `signal_us` of UTC, and noise of its own, and delivers them out of order some time later.
//   signal_us    between two signals (default 700)
//   noise_us     between two noise pieces of the even sources (default 900); the odd ones have three times as
//   many offset_us    of the odd sources' clocks (default 0) offset_of    of the sources: those from this one
//   on are "odd" (default: none are) late_us      from a signal to its delivery, at least (default 2000)
// A piece is the number of its signal as a u64; noise is 0.
#include <weir/source.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr std::int64_t kUs = 1000;

class Clocks : public weir::AsyncSource {
 public:
  explicit Clocks(weir::SourceSetup& setup)
      : AsyncSource(setup),
        signal_ns_(kUs * setup.parameter("signal_us", 700U)),
        noise_ns_(kUs * setup.parameter("noise_us", 900U)),
        offset_ns_(kUs * setup.parameter("offset_us", 0U)),
        offset_of_(setup.parameter("offset_of", UINT32_MAX)),
        late_ns_(kUs * setup.parameter("late_us", 2000U)) {}

  void begin_run(const weir_source_run&) override { done_ = utc_ns() - late_ns_; }

  void poll(std::int64_t /*now_ns*/) override {
    const std::int64_t until = utc_ns() - late_ns_;
    if (until <= done_) return;
    for (const std::uint32_t source : source_ids()) {
      pieces_.clear();
      const bool odd = source >= offset_of_;
      add(signal_ns_, 0, until, true);
      add(odd ? noise_ns_ / 3 : noise_ns_, source * 137 * kUs, until, false);
      std::shuffle(pieces_.begin(), pieces_.end(), random_);
      for (const Piece& piece : pieces_) {
        std::vector<std::byte> bytes(sizeof piece.signal);
        std::memcpy(bytes.data(), &piece.signal, bytes.size());
        weir::SourceBytes data(std::move(bytes));
        data.stamp.time_ns = piece.time + (odd ? offset_ns_ : 0);
        deliver(source, 0, std::move(data));
      }
      time_passed(source, until + (odd ? offset_ns_ : 0));
    }
    done_ = until;
  }

 private:
  struct Piece {
    std::int64_t time;
    std::uint64_t signal;
  };
  static std::int64_t utc_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  // The moments of [done_, until) at multiples of `every` and `shift` later.
  void add(std::int64_t every, std::int64_t shift, std::int64_t until, bool signals) {
    std::int64_t number = (done_ - shift + every - 1) / every;
    for (; number * every + shift < until; ++number)
      pieces_.push_back({number * every + shift, signals ? static_cast<std::uint64_t>(number) : 0});
  }

  std::int64_t signal_ns_;
  std::int64_t noise_ns_;
  std::int64_t offset_ns_;
  std::uint32_t offset_of_;
  std::int64_t late_ns_;
  std::int64_t done_ = 0;
  std::vector<Piece> pieces_;
  std::mt19937 random_{1};
};

}  // namespace

WEIR_SOURCE_PLUGIN(Clocks, "clocks", "1.0", "front-ends with clocks, and common signals")
