#include "web.hpp"

#include <weir/base/figures.hpp>
#include <weir/page/view.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/source_table.hpp>
#include <weir/security/keys.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace weir::run_control {
namespace {

using page::kTokenBytesMin;  // for a token written by a person
constexpr std::string_view kField = "field.";
constexpr DurationNs kCertificateSoon = 14 * 24 * 3600 * kSecond;

// Adds the run number and the operator's fields. Returns an error for people; empty: none.
std::string add_run(const page::RequestedCommand& command, v1::Request& wish) {
  for (const auto& [key, value] : command.parameters) {
    if (key.starts_with(kField)) (*wish.mutable_fields())[key.substr(kField.size())] = value;
    if (key != "run" || value.empty()) continue;
    std::uint32_t run = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), run);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size())
      return "'" + value + "' is not a run number";
    wish.set_run(run);
  }
  return {};
}

// For logs and records: "Ada, the page, from 10.0.0.7".
std::string asker_of(const page::RequestedCommand& command) {
  return (command.person.empty() ? "" : command.person + ", ") + "the page, from " + command.peer;
}

}  // namespace

std::string page_token(const std::string& file) {
  // The file belongs to another member of the group that shares the folder.
  if (::access(file.c_str(), R_OK) != 0 && errno == EACCES) ::unlink(file.c_str());
  if (!std::filesystem::exists(file)) {
    std::string token;
    for (const std::byte byte : security::make_farm_key("page").secret) token += fmt::format("{:02x}", byte);
    const std::string failure = security::write_new_file(file, token + "\n", true);
    if (!failure.empty()) throw std::runtime_error(failure);
    return token;
  }
  std::ifstream in(file);
  std::string token;
  std::getline(in, token);
  if (token.empty())
    throw std::runtime_error("'" + file + "' has no token: remove the file, and a new one is created");
  if (token.size() < kTokenBytesMin) {
    throw std::runtime_error(
        fmt::format("'{}' has a token of less than {} characters, which can be guessed: remove the file, and "
                    "a new one is created",
                    file, kTokenBytesMin));
  }
  return token;
}

Web::Web(page::PageSettings settings, std::string out, const HistoryKeeper& history) : desk_(out) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), HOST_NAME_MAX) == 0) settings.names.emplace_back(host.data());
  settings.recorded_histograms = [folder = std::move(out)](std::uint32_t run) {
    std::ifstream file(run_record::record_paths(folder, RunNumber(run)).histograms, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  settings.find_runs = [this](const RunDesk::Query& query) { return desk_.find(query); };
  settings.show_run = [this](const RunDesk::Query& query) { return desk_.show(query); };
  settings.documents["/api/series"] = [&history](const RunDesk::Query& query) { return history.find(query); };
  settings.documents["/api/trend"] = [this](const RunDesk::Query& query) { return desk_.trend(query); };
  page_.emplace(settings, [this](const page::RequestedCommand& command) { return ask(command); });
}

std::optional<control::Finding> Web::finding(UtcNs utc) const {
  const http::TlsState tls = page_->tls();
  if (tls.ends_utc_ns == 0) return std::nullopt;
  constexpr const char* kWord = "page certificate";
  if (!tls.problem.empty())
    return control::Finding{control::Gravity::warning, kWord,
                            tls.problem + ": the earlier certificate stays in use"};
  const DurationNs left = tls.ends_utc_ns - utc;
  if (left > kCertificateSoon) return std::nullopt;
  return control::Finding{
      control::Gravity::warning, kWord,
      (left <= 0 ? "has ended on " : "ends on ") + utc_text(tls.ends_utc_ns) +
          ": renew control.page_certificate and control.page_key, which are read again by "
          "themselves"};
}

page::CommandAnswer Web::alert(const page::RequestedCommand& command) {
  v1::Request wish;
  wish.set_command(std::string(control::name(control::RequestKind::burst)));
  wish.set_reason("from " + command.peer);
  wish.set_by(asker_of(command));
  for (const auto& [key, value] : command.parameters) {
    if (key == "before_s") wish.set_before_s(std::stod(value));
    if (key == "after_s") wish.set_after_s(std::stod(value));
    if (key == "reason") wish.set_reason(value);
  }
  const std::string error = commands_.ask(std::move(wish));
  return {error.empty(), error.empty() ? "alert accepted" : error};
}

page::CommandAnswer Web::annotate(const page::RequestedCommand& command) {
  v1::Request wish;
  wish.set_command(std::string(control::name(control::RequestKind::annotate)));
  wish.set_by(asker_of(command));
  if (const std::string wrong = add_run(command, wish); !wrong.empty()) return {false, wrong};
  const std::string error = commands_.ask(std::move(wish));
  return {error.empty(), error.empty() ? "the annotation is in the records" : error};
}

page::CommandAnswer Web::alarm(const page::RequestedCommand& command) {
  v1::Request wish;
  wish.set_command(std::string(control::name(control::RequestKind::alarm)));
  wish.set_by(asker_of(command));
  wish.mutable_alarm()->set_what(command.alarm);
  wish.mutable_alarm()->set_person(command.person);
  for (const auto& [key, value] : command.parameters) {
    if (key == "alarm") wish.mutable_alarm()->set_alarm(value);
    if (key == "person" && command.person.empty()) wish.mutable_alarm()->set_person(value);
    if (key == "for_s") wish.mutable_alarm()->set_for_s(std::stod(value));
  }
  const std::string error = commands_.ask(std::move(wish));
  return {error.empty(), error.empty() ? command.alarm + " is done" : error};
}

page::CommandAnswer Web::act(const page::RequestedCommand& command) {
  v1::Request wish;
  wish.set_command(command.action);
  wish.set_by(asker_of(command));
  for (const std::string& one : command.nodes) wish.add_nodes(one);
  for (const std::string& one : command.sets) wish.add_sets(one);
  wish.set_all(command.all);
  wish.set_last(command.last);
  if (const auto level = command.parameters.find("level"); level != command.parameters.end())
    wish.set_level(level->second);
  const std::string error = commands_.ask(std::move(wish));
  if (!error.empty()) return {false, error};
  if (command.action == control::name(control::RequestKind::form)) return {true, {}, tried_};
  if (command.action == control::name(control::RequestKind::try_settings))
    return {true, tried_.empty() ? "nothing would change" : tried_};
  return {true, command.action + " is accepted"};
}

page::CommandAnswer Web::ask(const page::RequestedCommand& command) {
  if (!command.action.empty()) return act(command);
  if (!command.alarm.empty()) return alarm(command);
  if (command.burst) return alert(command);
  if (command.annotation) return annotate(command);
  v1::Request wish;
  wish.set_command(std::string(control::name(command.kind)));
  wish.set_by(asker_of(command));
  if (const std::string wrong = add_run(command, wish); !wrong.empty()) return {false, wrong};
  for (const auto& [key, value] : command.parameters) {
    if (key == "slices" && !value.empty()) wish.add_sets("run.slices=" + value);
    if (key == "duration_s" && !value.empty()) wish.add_sets("run.duration_s=" + value);
    if (key == "set") {
      std::istringstream lines(value);
      for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) wish.add_sets(line);
      }
    }
  }
  const std::string error = commands_.ask(std::move(wish));
  return {error.empty(), error.empty() ? std::string(control::name(command.kind)) + " is under way" : error};
}

void Web::answer(const std::function<std::string(const v1::Request&)>& carry_out) {
  commands_.answer(carry_out);
}

void Web::show(const v1::FarmView& view, const v1::RunSummary* last) {
  // The last reports before a run's end lack its last slices.
  if (last != nullptr && last->run() == view.run() && last->run() != account_taken_) {
    account_taken_ = last->run();
    histograms_.take(last->run(), last->histograms());
  }
  if (histograms_.version() != histograms_shown_) page_->show_histograms(histograms_.document());
  histograms_shown_ = histograms_.version();
  show_sources(view, last);
  page::Farm farm = page::farm_of(view, last);
  farm.histograms = histograms_shown_;
  page_->update(farm);
}

void Web::show_sources(const v1::FarmView& view, const v1::RunSummary* last) {
  const bool ended = view.over() || view.run_begin_utc_ns() == 0;
  const v1::Report* report = nullptr;
  for (const v1::FarmView::Node& node : view.nodes()) {
    if (node.report().role() == v1::ROLE_SUPERVISOR) report = &node.report();
  }
  if (last != nullptr && ended && last->run() == view.run() && last->nodes_size() > 0)
    report = &last->nodes(0);
  if (report == nullptr || report->now_ns() == sources_shown_ns_) return;
  sources_shown_ns_ = report->now_ns();
  boost::json::object document = run_record::sources_json(report->sources());
  document.emplace("groups", run_record::losing_groups(report->sources(), groups_));
  page_->show_sources(run_record::one_line(document) + "\n");
}

void Web::log(const std::string& process, const v1::FarmView::Line& line) {
  page::LogLine shown;
  shown.utc_ns = line.utc_ns();
  shown.process = process;
  shown.level = page::log_level(line.level()).value_or(page::LogLevel::info);
  shown.text = line.text();
  page_->log(shown);
}

}  // namespace weir::run_control
