#pragma once

#include <weir/http/server.hpp>
#include <weir/page/state.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::page {

struct PageSettings {
  ports::Endpoint listen{"127.0.0.1", 0};
  std::string token;  // the operator's; empty: the page takes no commands
  // Hosts that it is asked by besides loopback names, `listen` and the address a connection came to
  // (http::HostRule): a proxy's name, say.
  std::vector<std::string> names;
  std::size_t log_lines_max = 5000;       // kept; the oldest leave first, counted
  std::size_t log_line_bytes_max = 2000;  // a longer one is cut
  std::size_t history_max = 600;          // states that plots go back
  std::size_t runs_max = 200;             // of the history that is shown, the latest
  // Wrong tokens of one address; beyond: 429 for wrong ones for the rest of the minute.
  unsigned refused_per_minute_max = 10;
  http::Limits limits;
};

struct PageCounters {
  std::uint64_t commands_taken = 0;
  std::uint64_t commands_refused = 0;  // by run control
  std::uint64_t commands_malformed = 0;
  std::uint64_t commands_unauthorised = 0;  // no token, or a wrong one
  std::uint64_t commands_rate_limited = 0;
  std::uint64_t requests_foreign = 0;   // by another host's name, or of another site's page
  std::uint64_t log_lines_dropped = 0;  // the oldest, to make room
};

// Takes a command that came with the operator's token. Called on the page's thread; it must not wait for what
// the command does: it says whether it is taken, and the next states show what becomes of it.
using CommandHandler = std::function<CommandAnswer(const Command&)>;

// The farm's web page and the interface behind it, served in a thread of its own: the page at /, and, as
// JSON, GET /api/state, GET /api/history, GET /api/events (server-sent: `state`, `log`), GET /api/logs, GET
// /api/runs, POST /api/command. libs/page/README.md describes them. GET /metrics has what the page itself
// counts.
class Page {
 public:
  // Listens; throws std::runtime_error when it cannot.
  Page(const PageSettings& settings, CommandHandler commands);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  [[nodiscard]] const ports::Endpoint& endpoint() const;
  // Any thread. The state each second: rates are taken from one to the next.
  void update(const Farm& farm);
  // Any thread.
  void log(const LogLine& line);
  [[nodiscard]] PageCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::page
