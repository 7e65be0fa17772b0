// Front-ends for the cost of each build.by: every source has one fragment, or piece, for each slice.
//   by           trigger: sent at each announcement; number, time: sent at `rate_hz`, by count or with a time
//   rate_hz      slices a second (default 500)
//   size_bytes   of a fragment or piece (default 64)
#include <weir/source.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class Ways : public weir::AsyncSource {
 public:
  explicit Ways(weir::SourceSetup& setup)
      : AsyncSource(setup),
        by_(setup.parameter("by", std::string("trigger"))),
        period_ns_(kSecond / setup.parameter("rate_hz", 500U, 1U, 1'000'000U)),
        data_(setup.parameter("size_bytes", 64U)) {
    if (by_ != "trigger" && by_ != "number" && by_ != "time")
      throw std::runtime_error("by is trigger, number or time");
  }

  void begin_run(const weir_source_run& run) override {
    next_ = run.first_slice;
    due_ns_ = utc_ns() / period_ns_ * period_ns_;  // the same moments in all readouts
  }
  void announced(const weir_source_trigger& trigger) override {
    if (by_ == "trigger") send(trigger.slice, {});
  }
  void poll(std::int64_t /*now_ns*/) override {
    if (by_ == "trigger") return;
    const std::int64_t now = utc_ns();
    for (; due_ns_ <= now; due_ns_ += period_ns_) {
      weir::SourceStamp stamp;
      if (by_ == "time") stamp.time_ns = due_ns_;
      send(by_ == "time" ? 0 : next_, stamp);
      ++next_;
    }
    if (by_ != "time") return;
    for (const std::uint32_t source : source_ids()) time_passed(source, now);
  }

 private:
  static std::int64_t utc_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void send(std::uint64_t slice, const weir::SourceStamp& stamp) const {
    for (const std::uint32_t source : source_ids()) {
      weir::SourceBytes bytes{std::span<const std::byte>(data_)};
      bytes.stamp = stamp;
      (void)deliver(source, slice, bytes);
    }
  }

  std::string by_;
  std::int64_t period_ns_;
  std::vector<std::byte> data_;
  std::uint64_t next_ = 0;
  std::int64_t due_ns_ = 0;  // of the next fragment, in UTC
};

}  // namespace

WEIR_SOURCE_PLUGIN(Ways, "ways", "1.0", "front-ends of each build.by")
