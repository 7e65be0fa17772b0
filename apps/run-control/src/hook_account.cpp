#include "hook_account.hpp"

#include <weir/clock/clock.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_history.hpp>

#include <boost/json.hpp>

#include <algorithm>

namespace weir::run_control {
namespace {

namespace json = boost::json;

template <class Fields>
json::object object_of(const Fields& fields) {
  json::object object;
  for (const auto& [name, value] : fields) object.emplace(name, value);
  return object;
}

json::object account_of(const Parts& parts, RunNumber run) {
  json::object settings;
  for (const v1::FarmView::Override& one : parts.setup.shown(false)) settings[one.key()] = one.value();
  return {{"farm", parts.setup.configured().farm()},
          {"time", utc_now_ns() / kMillisecond},
          {"state", json::string(control::name(parts.machine.state()))},
          {"run", run.value},
          {"settings", std::move(settings)},
          {"folder", parts.folder}};
}

}  // namespace

json::object account_before(const Parts& parts, const v1::Request& request) {
  json::object account = account_of(parts, RunNumber(request.run()));
  account.emplace("by", request.by());
  account.emplace("reason", request.reason());
  account.emplace("fields", object_of(request.fields()));
  account.emplace("sets", json::array(request.sets().begin(), request.sets().end()));
  return account;
}

json::object account_after(const Parts& parts, std::optional<RunNumber> ended) {
  const RunNumber run = ended.value_or(parts.machine.run());
  json::object account = account_of(parts, run);
  account.emplace("fields", object_of(parts.book.described(run)));
  const run_record::RecordPaths paths = run_record::record_paths(parts.folder, run);
  account.emplace("records", json::object{{"begin", paths.begin},
                                          {"farm", paths.farm},
                                          {"end", paths.end},
                                          {"histograms", paths.histograms}});
  const auto& runs = parts.book.runs();
  const auto entry =
      std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.run() == run.value; });
  if (!ended || entry == runs.end()) return account;
  boost::system::error_code bad;
  json::value end = json::parse(run_record::line_of(*entry), bad);
  account.emplace("end", bad ? json::value(nullptr) : std::move(end));
  return account;
}

}  // namespace weir::run_control
