#pragma once

#include <weir/base/time.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>
#include <string_view>

namespace weir::v1 {
class Report;
}

namespace weir::page {

// What a member's report counts, by its role.
struct Totals {
  std::uint64_t slices = 0;  // triggered, made, assigned, stored
  std::uint64_t bytes = 0;   // of fragments sent or built, or stored
  std::uint64_t lost = 0;    // slices discarded, fragments dropped or missing, dead copies
  std::uint64_t stored = 0;  // the supervisor's
  std::uint64_t rejected = 0;
};
[[nodiscard]] Totals totals_of(const v1::Report& report);
[[nodiscard]] std::uint64_t counter_of(const v1::Report& report, std::string_view key);
// A counter that has the reason in its name: "discarded." -> the sum over all reasons.
[[nodiscard]] std::uint64_t sum_of(const v1::Report& report, std::string_view prefix);
// Empty when there is none of that name, or when it is malformed.
[[nodiscard]] metrics::Histogram histogram_of(const v1::Report& report, std::string_view name);

// Rates of one member, from one of its reports to the next. Pure.
class MemberRates {
 public:
  // The member's last report, which may be the one of the time before. A report that is not renewed for
  // kUpdatesStale calls, or is final, has no rates any more.
  void take(const v1::Report& report);
  // There is none, or it counts no more.
  void clear();

  static constexpr unsigned kUpdatesStale = 5;

  [[nodiscard]] bool measured() const { return measured_; }
  [[nodiscard]] double slices_per_s() const { return per_s(slices_); }
  [[nodiscard]] double bytes_per_s() const { return per_s(bytes_); }
  [[nodiscard]] double stored_per_s() const { return per_s(stored_); }
  [[nodiscard]] double rejected_per_s() const { return per_s(rejected_); }
  // Of the slices built between the last two reports, us.
  [[nodiscard]] const metrics::Histogram& built_us() const { return built_us_; }

 private:
  [[nodiscard]] double per_s(std::uint64_t count) const;
  void measure(const Totals& totals, const metrics::Histogram& built_us, TimeNs now_ns);

  bool known_ = false;
  bool measured_ = false;
  unsigned unchanged_ = 0;
  std::uint64_t incarnation_ = 0;
  TimeNs now_ns_ = 0;
  DurationNs passed_ns_ = 0;
  Totals totals_;
  metrics::Histogram built_us_total_;
  std::uint64_t slices_ = 0;  // in passed_ns_, like the others
  std::uint64_t bytes_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t rejected_ = 0;
  metrics::Histogram built_us_;
};

}  // namespace weir::page
