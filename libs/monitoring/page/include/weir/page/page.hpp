#pragma once

#include <weir/base/expected.hpp>
#include <weir/http/server.hpp>
#include <weir/page/people.hpp>
#include <weir/page/state.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::page {

using RunQuery = std::map<std::string, std::string>;  // of a request

struct PageSettings {
  ports::Endpoint listen{"127.0.0.1", 0};
  std::string token;           // the operator's; empty: the page accepts no commands
  std::vector<Person> people;  // further tokens, with names and roles
  // Host names under which it may be addressed besides loopback names, `listen` and the address that a
  // connection reached (http::HostRule): a proxy's name, for example.
  std::vector<std::string> names;
  std::size_t log_lines_max = 5000;       // kept; the oldest are dropped first, counted
  std::size_t log_line_bytes_max = 2000;  // a longer one is cut
  std::size_t history_max = 600;          // number of states in the plots
  std::size_t runs_max = 200;             // number of past runs shown
  // Wrong tokens of one address per minute; beyond, wrong ones get 429 for the rest of the minute.
  unsigned refused_per_minute_max = 10;
  // Returns the histograms of a past run as JSON, for the ratio to it; empty: not recorded. Called on the
  // page's thread. May be empty.
  std::function<std::string(std::uint32_t run)> recorded_histograms;
  // Returns the document of /api/runs for a query, or of /api/run for the run of that number, as JSON; the
  // error is a sentence. Called on the page's thread. Without them /api/runs has the runs of update().
  std::function<Expected<std::string, std::string>(const RunQuery& query)> find_runs;
  std::function<Expected<std::string, std::string>(const RunQuery& query)> show_run;
  // Further JSON documents, by path: "/api/series". Called on the page's thread; the error is a sentence.
  std::map<std::string, std::function<Expected<std::string, std::string>(const RunQuery& query)>> documents;
  http::Limits limits;
  http::TlsFiles tls;  // for HTTPS
};

struct PageCounters {
  std::uint64_t commands_taken = 0;
  std::uint64_t commands_refused = 0;  // by run control
  std::uint64_t commands_malformed = 0;
  std::uint64_t commands_unauthorised = 0;  // no token, or a wrong one
  std::uint64_t commands_rate_limited = 0;
  std::uint64_t requests_foreign = 0;   // under another host's name, or from another site's page
  std::uint64_t log_lines_dropped = 0;  // the oldest, to make room
};

// Accepts a command that came with the operator's token. Called on the page's thread; must not wait for the
// command's effect. Returns whether the command is accepted; the effect appears in later states.
using CommandHandler = std::function<CommandAnswer(const RequestedCommand&)>;

// The farm's web page and its interface, served in its own thread: the page at /, and, as JSON, GET
// /api/state, GET /api/history, GET /api/events (server-sent: `state`, `log`), GET /api/logs, GET /api/runs,
// POST /api/command. libs/monitoring/page/README.md describes them. GET /metrics has the page's own counters.
class Page {
 public:
  // Listens; throws std::runtime_error if it cannot.
  Page(const PageSettings& settings, CommandHandler commands);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  [[nodiscard]] const ports::Endpoint& endpoint() const;
  [[nodiscard]] std::string url() const;  // "https://127.0.0.1:8080/"
  [[nodiscard]] http::TlsState tls() const;
  // Takes the state of each second; rates are computed from one to the next. Thread-safe.
  void update(const Farm& farm);
  // Takes the current histograms as JSON (reports::RunHistograms::document()). Thread-safe.
  void show_histograms(std::string document);
  // Sets the document of /api/sources: run_record::sources_json().
  void show_sources(std::string document);
  // Thread-safe.
  void log(const LogLine& line);
  [[nodiscard]] PageCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::page
