#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/hooks/hook_job.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_history.hpp>

#include <boost/json.hpp>

#include <utility>

namespace weir::hooks {
namespace {

namespace json = boost::json;

json::object object_of(const std::map<std::string, std::string>& texts) {
  json::object object;
  for (const auto& [name, value] : texts) object.emplace(name, value);
  return object;
}

std::string text_of(const json::object& account, const char* key) {
  const json::value* found = account.if_contains(key);
  if (found == nullptr || found->is_null()) return {};
  return found->is_string() ? std::string(found->get_string()) : run_record::one_line(*found);
}

}  // namespace

json::object account_of(const TransitionFacts& facts) {
  return {{"farm", facts.farm},
          {"time", utc_now_ns() / kMillisecond},
          {"state", facts.state},
          {"run", facts.run.value},
          {"fields", object_of(facts.fields)},
          {"settings", object_of(facts.settings)},
          {"folder", facts.folder}};
}

void add_records(const std::string& folder, RunNumber run, json::object& account) {
  const run_record::RecordPaths paths = run_record::record_paths(folder, run);
  account.emplace("records", json::object{{"begin", paths.begin},
                                          {"farm", paths.farm},
                                          {"end", paths.end},
                                          {"histograms", paths.histograms}});
}

void add_end(const v1::FarmView::Run& run, json::object& account) {
  boost::system::error_code bad;
  json::value end = json::parse(run_record::line_of(run), bad);
  account.emplace("end", bad ? json::value(nullptr) : std::move(end));
}

HookJob job_of(const control::Hook& hook, control::HookPoint point, std::uint64_t id, json::object account) {
  WEIR_ASSERT(hook.is_at(point));
  const std::string name(control::name(point));
  const std::string run = text_of(account, "run");
  account.emplace("point", name);
  account.emplace("hook", hook.name);
  HookJob job;
  job.id = id;
  job.name = hook.name;
  // An operator does not wait for the hook's earlier tasks.
  job.lane = (control::may_refuse(point) ? "ask " : "tell ") + hook.name;
  job.occasion = name + (run.empty() || run == "0" ? "" : ", run " + run);
  job.command = hook.run;
  job.environment = {"WEIR_POINT=" + name, "WEIR_FARM=" + text_of(account, "farm"), "WEIR_RUN=" + run,
                     "WEIR_FOLDER=" + text_of(account, "folder")};
  job.input = run_record::one_line(account) + "\n";
  job.limit_ns = hook.limit_ns;
  return job;
}

}  // namespace weir::hooks
