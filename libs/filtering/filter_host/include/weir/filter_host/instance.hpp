#pragma once

#include <weir/base/expected.hpp>
#include <weir/filter_host/error.hpp>
#include <weir/filter_host/filter_metrics.hpp>
#include <weir/filter_host/job.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/streams.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::filter_host {

// Limits of the output of one step, and of the lines that one run may log. Beyond the first three the slice
// is a filter_error; lines beyond the last are counted as `filter_log_dropped`.
struct FilterLimits {
  std::uint64_t event_bytes_max = std::uint64_t{16} << 20;
  std::uint32_t events_max = 65536;
  std::uint64_t filter_result_bytes_max = std::uint64_t{1} << 16;
  std::uint32_t log_lines_max = 100;  // per instance and run
};

// A named set of the farm's sources.
struct NamedSources {
  std::string name;
  std::vector<std::uint32_t> sources;  // ascending, each once
};

// Converts the farm file's groups, as config::source_groups() returns them.
template <class Groups>
[[nodiscard]] std::vector<NamedSources> filter_groups(const Groups& from) {
  std::vector<NamedSources> groups;
  for (const auto& group : from) {
    groups.push_back({group.name, {}});
    for (const auto source : group.sources) groups.back().sources.push_back(source.value);
  }
  return groups;
}

struct FilterConfig {
  std::vector<std::pair<std::string, std::string>> parameters;  // each name once
  StreamTable streams;
  // The groups of DCMs that the filter may forward to, and their numbers.
  std::vector<std::pair<std::string, std::uint32_t>> forward_groups;
  bool forwards_anywhere = false;    // to groups of any name, as number 0: without a farm
  std::vector<NamedSources> groups;  // a filter knows a group by its place here
  FilterLimits limits;
  // WEIR_LOG_... and a line; called on any thread, of each instance one at a time. May be empty.
  std::function<void(int level, std::string_view line)> log;
};

// One instance of a plugin, and the host services it sees. Calls must not overlap. The ABI forbids
// exceptions; one that the plugin throws all the same is caught and becomes an error.
class FilterInstance {
 public:
  // `metrics` outlives the instance.
  [[nodiscard]] static Expected<std::unique_ptr<FilterInstance>, FilterError> create(
      std::shared_ptr<const FilterPlugin> plugin, FilterConfig config, FilterMetrics& metrics);
  ~FilterInstance();
  FilterInstance(const FilterInstance&) = delete;
  FilterInstance& operator=(const FilterInstance&) = delete;

  [[nodiscard]] Expected<void, FilterError> begin_run(const RunInfo& run);
  // Returns why the filter could not end the run: its exception, or the first error that it logged meanwhile;
  // empty: it did.
  std::string end_run();
  // True if begin_batch() may come before the process() calls of several slices.
  [[nodiscard]] bool has_batches() const { return plugin_->has_batches(instance_); }
  // The next process() calls are for these slices, in their order, with their states in place.
  void begin_batch(std::span<const weir_filter_slice> slices) { plugin_->begin_batch(instance_, slices); }
  // Decides on the slice; `result` is cleared first, its token stays as it is.
  void process(const weir_filter_slice& slice, FilterResult& result);
  // The sources that step 0 wants, sorted; nothing: no wish. After begin_run.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources();

  [[nodiscard]] const FilterPlugin& plugin() const { return *plugin_; }

 private:
  struct Services;  // the C functions of weir_filter_host

  FilterInstance(std::shared_ptr<const FilterPlugin> plugin, FilterConfig config, FilterMetrics& metrics);
  void offer_services();  // fills host_
  [[nodiscard]] Expected<void, FilterError> call_create();
  void decide(std::int32_t status, char* error, const weir_filter_decision& decision,
              const weir_filter_slice& slice, FilterResult& result);
  void take_decision(const weir_filter_decision& decision, const weir_filter_slice& slice,
                     FilterResult& result);
  void take_accept(const weir_filter_decision& decision, const weir_filter_slice& slice,
                   FilterResult& result);
  void take_forward(FilterResult& result);
  void take_need_more(const weir_filter_decision& decision, const weir_filter_slice& slice,
                      FilterResult& result);
  void fail(FilterResult& result, std::string_view why);
  void write_log(int level, std::string_view text);
  [[nodiscard]] std::string group_names() const;
  [[nodiscard]] std::string forward_names() const;

  std::shared_ptr<const FilterPlugin> plugin_;
  FilterConfig config_;
  FilterMetrics& shared_metrics_;
  FilterMetrics::Cells& metrics_;
  weir_filter_host host_{};
  void* instance_ = nullptr;
  RunInfo run_;
  std::mutex log_mutex_;         // guards what a filter's own threads reach through log()
  std::uint32_t log_lines_ = 0;  // guarded, as are the next two and calls of config_.log
  bool ending_ = false;          // end_run() is under way
  std::string end_error_;        // of the last one

  // Set while process() runs.
  const weir_filter_slice* slice_ = nullptr;
  FilterResult* result_ = nullptr;
  std::string unknown_group_;    // the first that create() asked for
  std::string unknown_forward_;  // the first group of DCMs that create() may not forward to
  bool creating_ = false;
  std::string booking_fault_;  // the first of create()
  histograms::Layout layout_;  // as shared by all instances, after create()
  histograms::Fills fills_;    // of this step
  std::optional<AlertRequest> alert_;
  std::string_view limit_reached_;
  bool forwarded_ = false;
  std::string_view misuse_;  // of a host service; empty: none
  std::uint64_t random_drawn_ = 0;
  std::uint64_t random_seed_ = 0;
};

}  // namespace weir::filter_host
