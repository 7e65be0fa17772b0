#include "run_desk.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>
#include <weir/run_database/moment.hpp>
#include <weir/run_database/run_comparison.hpp>
#include <weir/run_database/run_document.hpp>
#include <weir/run_database/run_table.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

namespace weir::run_control {
namespace {

constexpr std::size_t kShown = 200;
constexpr std::size_t kShownMax = 2000;
constexpr std::size_t kTrendMax = 500;
constexpr std::size_t kQuotedMax = 64;

std::string value_of(const RunDesk::Query& query, const char* key) {
  const auto found = query.find(key);
  return found == query.end() ? std::string() : found->second;
}

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Unexpected<std::string> wrong(const std::string& text, const char* what) {
  return Unexpected<std::string>("'" + clean_text(text, kQuotedMax) + "' is not " + what);
}

}  // namespace

RunDesk::Answer RunDesk::find(const Query& query) {
  run_database::RunQuery wanted;
  wanted.limit = kShown;
  for (const auto& [key, moment] : {std::pair("since", &wanted.since), {"until", &wanted.until}}) {
    const std::string text = value_of(query, key);
    if (text.empty()) continue;
    *moment = run_database::read_moment(text, utc_now_ns());
    if (!*moment) return wrong(text, "a moment: use 2026-03-01, '2026-03-01 10:00', 12h or 7d");
  }
  std::istringstream outcomes(value_of(query, "outcome"));
  for (std::string one; std::getline(outcomes, one, ',');) wanted.outcomes.push_back(one);
  wanted.type = value_of(query, "type");
  wanted.shifter = value_of(query, "shifter");
  wanted.quality = value_of(query, "quality");
  wanted.text = value_of(query, "text");
  if (const std::string limit = value_of(query, "limit"); !limit.empty()) {
    const auto number = number_of<std::size_t>(limit);
    if (!number || *number == 0) return wrong(limit, "a number of runs");
    wanted.limit = std::min(*number, kShownMax);
  }
  WEIR_ASSERT(wanted.limit > 0 && wanted.limit <= kShownMax);
  if (std::string why = database_.update(); !why.empty()) return Unexpected<std::string>(std::move(why));
  const auto list = database_.find(wanted);
  if (!list) return Unexpected<std::string>(list.error());
  return run_record::one_line(run_database::to_json(*list));
}

Expected<run_database::RunRow, std::string> RunDesk::row(const Query& query, const char* key) const {
  const std::string text = value_of(query, key);
  const auto number = number_of<std::uint32_t>(text);
  if (!number) return wrong(text, "a run number");
  auto row = database_.run(*number);
  if (!row) return Unexpected<std::string>(row.error());
  if (!*row) return Unexpected<std::string>("there is no run " + text);
  return std::move(**row);
}

RunDesk::Answer RunDesk::show(const Query& query) {
  if (std::string why = database_.update(); !why.empty()) return Unexpected<std::string>(std::move(why));
  const auto shown = row(query, "number");
  if (!shown) return Unexpected<std::string>(shown.error());
  if (value_of(query, "with").empty()) {
    const auto said = database_.annotations(shown->run);
    if (!said) return Unexpected<std::string>(said.error());
    const auto good = database_.good_before(*shown);
    if (!good) return Unexpected<std::string>(good.error());
    return run_record::one_line(run_database::document_of(database_.folder(), *shown, *said, *good));
  }
  const auto other = row(query, "with");
  if (!other) return Unexpected<std::string>(other.error());
  return run_record::one_line(
      run_database::to_json(run_database::compare(database_.folder(), *other, *shown)));
}

RunDesk::Answer RunDesk::trend(const Query& query) {
  namespace json = boost::json;
  if (std::string why = database_.update(); !why.empty()) return Unexpected<std::string>(std::move(why));
  const std::string key = value_of(query, "key");
  if (key.empty()) {
    const auto keys = run_database::trend_keys(database_);
    if (!keys) return Unexpected<std::string>(keys.error());
    return run_record::one_line(json::object{{"keys", json::array(keys->begin(), keys->end())}});
  }
  std::size_t count = kShown;
  if (const std::string last = value_of(query, "last"); !last.empty()) {
    const auto number = number_of<std::size_t>(last);
    if (!number || *number == 0) return wrong(last, "a number of runs");
    count = std::min(*number, kTrendMax);
  }
  const auto found = trend_.find(database_, key, count);
  if (!found) return Unexpected<std::string>(found.error());
  json::array list;
  for (const run_database::TrendPoint& one : found->points)
    list.push_back({{"run", one.run},
                    {"begin", static_cast<double>(one.begin_utc_ns / kMillisecond)},
                    {"value", one.value}});
  return run_record::one_line(
      json::object{{"key", clean_text(key, kQuotedMax)}, {"points", std::move(list)}, {"more", found->more}});
}

}  // namespace weir::run_control
