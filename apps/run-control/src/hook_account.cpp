#include "hook_account.hpp"

#include <weir/hooks/hook_job.hpp>

#include <boost/json.hpp>

#include <algorithm>

namespace weir::run_control {
namespace {

namespace json = boost::json;

hooks::TransitionFacts facts_of(const Parts& parts, RunNumber run) {
  hooks::TransitionFacts facts{parts.setup.configured().farm(),
                               std::string(control::name(parts.machine.state())),
                               run,
                               {},
                               {},
                               parts.folder};
  for (const v1::FarmView::Override& one : parts.setup.shown(false)) facts.settings[one.key()] = one.value();
  return facts;
}

}  // namespace

json::object account_before(const Parts& parts, const v1::Request& request) {
  hooks::TransitionFacts facts = facts_of(parts, RunNumber(request.run()));
  facts.fields = {request.fields().begin(), request.fields().end()};
  json::object account = hooks::account_of(facts);
  account.emplace("by", request.by());
  account.emplace("reason", request.reason());
  account.emplace("sets", json::array(request.sets().begin(), request.sets().end()));
  return account;
}

json::object account_after(const Parts& parts, std::optional<RunNumber> ended) {
  const RunNumber run = ended.value_or(parts.machine.run());
  hooks::TransitionFacts facts = facts_of(parts, run);
  facts.fields = parts.book.described(run);
  json::object account = hooks::account_of(facts);
  hooks::add_records(parts.folder, run, account);
  const auto& runs = parts.book.runs();
  const auto entry =
      std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.run() == run.value; });
  if (ended && entry != runs.end()) hooks::add_end(*entry, account);
  return account;
}

}  // namespace weir::run_control
