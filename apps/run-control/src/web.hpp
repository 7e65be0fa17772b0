#pragma once

#include "command_queue.hpp"
#include "history_keeper.hpp"
#include "run_desk.hpp"
#include <weir/config/source_groups.hpp>
#include <weir/page/page.hpp>
#include <weir/reports/filter_histograms.hpp>
#include <weir/v1/bus.pb.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// The farm's page: shows views, and hands the operator's wishes from its thread to run control's.
class Web {
 public:
  // `settings`: address, tokens, names besides this machine's, and files for HTTPS. `out`: the folder of the
  // runs' records. `history` outlives it. Throws std::runtime_error.
  Web(page::PageSettings settings, std::string out, const HistoryKeeper& history);

  // Readable while a wish waits.
  [[nodiscard]] int descriptor() const { return commands_.descriptor(); }
  // Each turn: `carry_out` answers a wish with an error, empty when it is taken.
  void answer(const std::function<std::string(const v1::Request&)>& carry_out);
  // Within `carry_out`: the result of a try of settings.
  void set_tried(const std::string& text) { tried_ = text; }
  void show(const v1::FarmView& view, const v1::RunSummary* last);
  // Sets the farm's groups of sources.
  void set_groups(std::vector<config::SourceGroupPlan> groups) { groups_ = std::move(groups); }
  // Takes a run's histograms: as its supervisor reports them, or from its account.
  void take_histograms(std::uint32_t run, const reports::FilterHistogramList& list) {
    histograms_.take(run, list);
  }
  void log(const std::string& process, const v1::FarmView::Line& line);
  // "https://127.0.0.1:8080/"
  [[nodiscard]] std::string url() const { return page_->url(); }
  // Reports a certificate that ends soon, and renewed files that cannot be used.
  [[nodiscard]] std::optional<control::Finding> finding(UtcNs utc) const;

 private:
  page::CommandAnswer ask(const page::RequestedCommand& command);
  page::CommandAnswer act(const page::RequestedCommand& command);
  page::CommandAnswer alarm(const page::RequestedCommand& command);
  page::CommandAnswer alert(const page::RequestedCommand& command);
  page::CommandAnswer annotate(const page::RequestedCommand& command);
  void show_sources(const v1::FarmView& view, const v1::RunSummary* last);

  reports::RunHistograms histograms_;
  std::uint64_t histograms_shown_ = 0;  // version
  std::uint32_t account_taken_ = 0;     // run
  TimeNs sources_shown_ns_ = 0;         // time of the report with them
  std::vector<config::SourceGroupPlan> groups_;
  CommandQueue commands_{std::chrono::seconds(5)};
  std::string tried_;  // written before the answer that the page's thread waits for
  RunDesk desk_;
  std::optional<page::Page> page_;  // its thread ends first
};

// Returns a new token in a file that only its owner may read, or the existing one, at least 16 characters.
// Errors: an exception with a message.
[[nodiscard]] std::string page_token(const std::string& file);

}  // namespace weir::run_control
