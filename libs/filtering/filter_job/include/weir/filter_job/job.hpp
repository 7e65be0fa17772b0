#pragma once

#include <weir/base/time.hpp>
#include <weir/histograms/layout.hpp>
#include <weir/weir_filter.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::filter_job {

// One step of one slice for a filter. The view, its table, its fragments and its state belong to the caller
// and stay as they are until the result has been drained.
struct Job {
  const weir_filter_slice* slice = nullptr;
  std::uint64_t token = 0;  // the caller's own
  std::uint32_t kills = 0;  // of earlier attempts, for units that are isolated
};

enum class StepVerdict : std::uint8_t {
  error = 0,  // filter_error: the plugin failed, or decided what cannot be done
  reject = WEIR_FILTER_REJECT,
  accept = WEIR_FILTER_ACCEPT,
  need_more = WEIR_FILTER_NEED_MORE,
  forward = WEIR_FILTER_FORWARD,
  // Of isolated units alone:
  poison,  // it ended its worker as often as a slice may: `error` says how
  restart  // what the filter remembered of it is gone: again from step 0
};

enum class Keep : std::uint8_t { all = WEIR_KEEP_ALL, listed = WEIR_KEEP_LISTED, none = WEIR_KEEP_NONE };

struct EventSpan {
  std::uint64_t id = 0;      // the filter's own
  std::uint32_t offset = 0;  // into FilterResult::event_bytes
  std::uint32_t size = 0;
};

// A burst alert that a filter gives with a step. Both times 0: the farm file's window.
struct AlertRequest {
  static constexpr std::int64_t kWindowMsMax = 10LL * 24 * 3600 * 1000;  // ten days
  static constexpr std::size_t kReasonMax = 100;

  std::int64_t before_ms = 0;
  std::int64_t after_ms = 0;
  std::string reason;
};

// The result of a filter for one job. Which fields mean something depends on the verdict.
struct FilterResult {
  std::uint64_t token = 0;
  StepVerdict verdict = StepVerdict::error;
  // accept:
  Keep keep = Keep::all;
  std::uint64_t streams = 0;  // at least one bit, all of them streams of the farm
  std::uint32_t prescale = 1;
  std::uint64_t prescale_counter = 0;
  std::vector<std::uint32_t> keep_sources;  // sorted, each once; Keep::listed
  std::vector<EventSpan> events;
  std::vector<std::byte> event_bytes;
  std::vector<std::byte> filter_result;
  // forward: the number of the group of DCMs; filter_result has the bytes
  std::uint32_t forward_group = 0;
  // need_more: sources of the slice not requested before; none when need_all
  bool need_all = false;
  std::vector<std::uint32_t> need_sources;  // sorted, each once
  // A hint: sources of the slice that were not asked for and that a later step may need; none with need_all.
  std::vector<std::uint32_t> prefetch_sources;  // sorted, each once, none of need_sources
  // accept, reject, forward, need_more: entries of booked histograms; each cell once
  std::vector<histograms::Addition> fills;
  std::optional<AlertRequest> alert;  // with any of them
  // error, poison:
  std::string error;

  DurationNs wall_ns = 0;  // 0 of a job that ran inside drain()
  DurationNs cpu_ns = 0;   // of the unit's thread; 0 unless asked for

  // Ready for the next job; keeps memory, except what an unusually large result took.
  void clear();
};

}  // namespace weir::filter_job
