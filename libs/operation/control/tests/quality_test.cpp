#include "weir_catch.hpp"
#include <weir/control/quality.hpp>
#include <weir/histograms/contents.hpp>

#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::control;
using Catch::ContainsSubstring;
using histograms::View;

namespace {

// One histogram of 10 bins from 0 to 10, filled with values.
struct Filled {
  explicit Filled(const std::vector<double>& values, double weight = 1, double high = 10) {
    (void)*layout.book({"h", histograms::Kind::one_dimension, {10, 0, high}, {}});
    contents.set_layout(layout);
    histograms::Fills fills;
    std::vector<histograms::Addition> added;
    for (const double value : values) {
      fills.fill(layout.all()[0], value, 0, weight);
      fills.take(added);
      contents.add(added);
    }
  }
  [[nodiscard]] View view() const { return contents.view(0); }
  histograms::Layout layout;
  histograms::Contents contents;
};

// So many in each bin.
std::vector<double> flat(std::size_t each) {
  std::vector<double> values;
  for (std::size_t bin = 0; bin < 10; ++bin)
    values.insert(values.end(), each, static_cast<double>(bin) + 0.5);
  return values;
}

std::vector<double> without(std::vector<double> values, double one) {
  std::erase(values, one);
  return values;
}

QualityVerdict judged(const QualityCheck& check, const Filled& filled, const Filled* reference = nullptr,
                      DurationNs running = 0) {
  const View view = filled.view();
  if (reference == nullptr) return judge(check, &view, nullptr, running);
  const View other = reference->view();
  return judge(check, &view, &other, running);
}

QualityCheck a_check() {
  QualityCheck check;
  check.name = "c";
  check.histogram = "h";
  check.entries_min = 100;
  return check;
}

}  // namespace

TEST_CASE("a mean outside its limits fails, and one inside is good") {
  QualityCheck check = a_check();
  check.mean_min = 4.9;
  check.mean_max = 5.1;
  CHECK(judged(check, Filled(flat(10))).result == QualityResult::good);
  const QualityVerdict low = judged(check, Filled(std::vector<double>(100, 2.5)));
  CHECK(low.result == QualityResult::failed);
  CHECK(low.reason == "mean 2.5, at least 4.9 is expected");
  CHECK(judged(check, Filled(std::vector<double>(100, 7.5))).reason == "mean 7.5, at most 5.1 is expected");
}

TEST_CASE("a check with too few entries is never good") {
  QualityCheck check = a_check();
  check.mean_min = 0;
  CHECK(judged(check, Filled(flat(9))) ==
        QualityVerdict{QualityResult::not_judged, "fewer than 100 entries"});
  CHECK(judge(check, nullptr, nullptr, 0) == QualityVerdict{QualityResult::not_judged, "no histogram 'h'"});
  // Values that are not numbers do not count.
  std::vector<double> values = flat(9);
  values.insert(values.end(), 50, std::nan(""));
  CHECK(judged(check, Filled(values)).result == QualityResult::not_judged);
}

TEST_CASE("entries that do not come in time fail the check") {
  QualityCheck check = a_check();
  check.entries_by_ns = 60 * kSecond;
  CHECK(judged(check, Filled(flat(9)), nullptr, 59 * kSecond).result == QualityResult::not_judged);
  CHECK(judged(check, Filled(flat(9)), nullptr, 60 * kSecond) ==
        QualityVerdict{QualityResult::failed, "fewer than 100 entries after 60 s"});
  CHECK(judge(check, nullptr, nullptr, 60 * kSecond).result == QualityResult::failed);
  CHECK(judged(check, Filled(flat(10)), nullptr, 60 * kSecond).result == QualityResult::good);
}

TEST_CASE("empty bins fail beyond their number, with a reference only where it predicts entries") {
  QualityCheck check = a_check();
  check.empty_bins_max = 1;
  CHECK(judged(check, Filled(without(flat(20), 3.5))).result == QualityResult::good);
  const Filled two(without(without(flat(20), 3.5), 4.5));
  CHECK(judged(check, two).reason == "2 empty bins, at most 1 expected");
  check.reference_run = 7;
  const Filled same(without(without(flat(50), 3.5), 4.5));  // these bins are always empty
  CHECK(judged(check, two, &same).result == QualityResult::good);
  const Filled full(flat(50));
  CHECK(judged(check, two, &full).result == QualityResult::failed);
  check.entries_min = 10;
  const Filled few(flat(2));
  CHECK(judged(check, few, &full).result == QualityResult::not_judged);
}

TEST_CASE("a ratio fails beyond its limit, and is not judged where entries are too few for it") {
  QualityCheck check = a_check();
  check.reference_run = 7;
  check.ratio_max = 0.5;
  const Filled reference(flat(10000));
  CHECK(judged(check, Filled(flat(1000)), &reference).result == QualityResult::good);
  std::vector<double> values = flat(1000);
  values.insert(values.end(), 2000, 6.5);
  const QualityVerdict hot = judged(check, Filled(values), &reference);
  CHECK(hot.result == QualityResult::failed);
  CHECK_THAT(hot.reason, ContainsSubstring("1 bin beyond 0.5 of run 7, the worst at 6 with ratio 2.5"));
  CHECK(judged(check, Filled(values, 0.01), &reference).result == QualityResult::failed);  // weighted
  CHECK(judged(check, Filled(flat(10)), &reference).result == QualityResult::not_judged);
}

TEST_CASE("a reference that is missing, has other bins or few entries is not compared") {
  QualityCheck check = a_check();
  check.reference_run = 7;
  check.ratio_max = 0.5;
  const Filled mine(flat(1000));
  CHECK(judged(check, mine) == QualityVerdict{QualityResult::not_judged, "run 7 has no histogram 'h'"});
  const Filled other(flat(1000), 1, 20);
  CHECK(judged(check, mine, &other).reason == "run 7 has other bins: 10 bins from 0 to 20");
  const Filled small(flat(5));
  CHECK(judged(check, mine, &small).reason == "run 7 has fewer than 100 entries");
}

TEST_CASE(
    "histograms that follow their reference fail in none of 2,000 tries, and twice the limit is found") {
  QualityCheck check = a_check();
  check.reference_run = 7;
  check.ratio_max = 0.3;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(0, 10);
  const auto drawn = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& one : values) one = any(random);
    return values;
  };
  const Filled reference(drawn(5000));
  int failures = 0;
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values = drawn(5000);
    if (judged(check, Filled(values), &reference).result == QualityResult::failed) ++failures;
    if (i % 10 != 0) continue;
    std::erase_if(values, [&, kept = 0](double one) mutable { return one < 1 && ++kept % 5 != 0; });
    if (judged(check, Filled(values), &reference).result == QualityResult::failed) ++found;
  }
  CHECK(failures == 0);
  CHECK(found == 200);
}

TEST_CASE("a run is good only if every check is, and bad if a grave one fails") {
  std::vector<QualityCheck> checks(2, a_check());
  checks[1].gravity = Gravity::error;
  const QualityVerdict good{QualityResult::good, {}};
  const QualityVerdict open{QualityResult::not_judged, "x"};
  const QualityVerdict failed{QualityResult::failed, "x"};
  const auto of = [&](const QualityVerdict& one, const QualityVerdict& two) {
    return quality_of(checks, std::vector<QualityVerdict>{one, two});
  };
  CHECK(of(good, good) == "good");
  CHECK(of(good, open) == std::nullopt);
  CHECK(of(failed, open) == "questionable");
  CHECK(of(failed, failed) == "bad");
  CHECK(of(open, failed) == "bad");
  CHECK(quality_of({}, {}) == std::nullopt);
}
