#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/plugin_loader/guarded.hpp>

#include <algorithm>

namespace weir::filter_host {
namespace {

using plugin_loader::guarded;
using plugin_loader::kErrorTextSize;
using plugin_loader::kPluginTextMax;
using plugin_loader::text_of;

// A traceback has several lines; a lane carries as much (LaneLayout::kErrorMax).
constexpr std::uint32_t kStepErrorSize = 4000;

// As text_of(), but line feeds stay.
std::string lines_of(char* error) {
  error[kStepErrorSize - 1] = 0;
  std::string text;
  for (std::string_view rest = error; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    text += (text.empty() ? "" : "\n") + clean_text(line, kPluginTextMax);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return text.empty() ? "it gave no reason" : text;
}

void sort_unique(std::vector<std::uint32_t>& sources) {
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
}

}  // namespace

FilterInstance::FilterInstance(std::shared_ptr<const FilterPlugin> plugin, FilterConfig config,
                               FilterMetrics& metrics)
    : plugin_(std::move(plugin)),
      config_(std::move(config)),
      shared_metrics_(metrics),
      metrics_(metrics.add_instance()) {
  offer_services();
}

Expected<std::unique_ptr<FilterInstance>, FilterError> FilterInstance::create(
    std::shared_ptr<const FilterPlugin> plugin, FilterConfig config, FilterMetrics& metrics) {
  std::unique_ptr<FilterInstance> instance(new FilterInstance(std::move(plugin), std::move(config), metrics));
  if (auto created = instance->call_create(); !created) return Unexpected<FilterError>(created.error());
  return instance;
}

Expected<void, FilterError> FilterInstance::call_create() {
  std::vector<weir_filter_parameter> table;
  table.reserve(config_.parameters.size());
  for (const auto& [name, value] : config_.parameters) table.push_back({name.c_str(), value.c_str()});
  weir_filter_parameters parameters{};
  parameters.struct_size = sizeof parameters;
  parameters.count = static_cast<std::uint32_t>(table.size());
  parameters.stride = sizeof(weir_filter_parameter);
  parameters.table = table.data();
  char error[kErrorTextSize] = "";
  creating_ = true;
  guarded(error,
          [&] { instance_ = plugin_->functions().create(&parameters, &host_, error, kErrorTextSize); });
  creating_ = false;
  layout_ = shared_metrics_.layout();
  if (!booking_fault_.empty())
    return Unexpected<FilterError>(
        {FilterErrorCode::create_failed, "filter '" + plugin_->name() + "': " + booking_fault_});
  if (instance_ != nullptr) return {};
  std::string text = "filter '" + plugin_->name() + "': " + text_of(error);
  if (!unknown_group_.empty())
    text += ". The farm has no source group '" + unknown_group_ + "' in source.groups; " + group_names();
  if (!unknown_forward_.empty())
    text += ". This group of DCMs may not forward to '" + unknown_forward_ + "': " + forward_names();
  return Unexpected<FilterError>({FilterErrorCode::create_failed, std::move(text)});
}

std::string FilterInstance::forward_names() const {
  if (config_.forward_groups.empty()) return "its 'forward' in dcm.groups is empty";
  std::string names;
  for (const auto& [name, number] : config_.forward_groups) names += (names.empty() ? "" : ", ") + name;
  return "its 'forward' in dcm.groups has " + names;
}

std::string FilterInstance::group_names() const {
  if (config_.groups.empty()) return "it has none";
  std::string names = "its groups are ";
  for (const NamedSources& group : config_.groups)
    names += (&group == config_.groups.data() ? "" : ", ") + group.name;
  return names;
}

FilterInstance::~FilterInstance() {
  char error[kErrorTextSize] = "";
  if (instance_ == nullptr || guarded(error, [&] { plugin_->functions().destroy(instance_); })) return;
  host_.log(&host_, WEIR_LOG_ERROR, error);
}

Expected<void, FilterError> FilterInstance::begin_run(const RunInfo& run) {
  run_ = run;
  {
    const std::lock_guard lock(log_mutex_);
    log_lines_ = 0;
  }
  if (plugin_->functions().begin_run == nullptr) return {};
  weir_filter_run view{};
  view.struct_size = sizeof view;
  view.run = run_.run.value;
  view.start_time_utc_ns = run_.start_time;
  view.source_count = static_cast<std::uint32_t>(run_.sources.size());
  view.sources = run_.sources.data();
  char error[kErrorTextSize] = "";
  std::int32_t status = 1;
  guarded(error, [&] { status = plugin_->functions().begin_run(instance_, &view, error, kErrorTextSize); });
  if (status == 0) return {};
  return Unexpected<FilterError>(
      {FilterErrorCode::begin_run_failed, "filter '" + plugin_->name() + "' refuses run " +
                                              std::to_string(run_.run.value) + ": " + text_of(error)});
}

std::string FilterInstance::end_run() {
  char error[kErrorTextSize] = "";
  if (plugin_->functions().end_run == nullptr) return {};
  {
    const std::lock_guard lock(log_mutex_);
    end_error_.clear();
    ending_ = true;
  }
  if (!guarded(error, [&] { plugin_->functions().end_run(instance_); })) {
    host_.log(&host_, WEIR_LOG_ERROR, error);
  }
  const std::lock_guard lock(log_mutex_);
  ending_ = false;
  return end_error_;
}

void FilterInstance::process(const weir_filter_slice& slice, FilterResult& result) {
  WEIR_ASSERT(slice_ == nullptr && instance_ != nullptr);  // one slice at a time
  result.clear();
  slice_ = &slice;
  result_ = &result;
  limit_reached_ = misuse_ = {};
  random_drawn_ = 0;
  forwarded_ = false;
  weir_filter_decision decision{};
  decision.struct_size = sizeof decision;
  decision.streams = WEIR_STREAM_DEFAULT;
  decision.prescale = 1;
  char error[kStepErrorSize];
  error[0] = 0;
  std::int32_t status = 1;
  guarded(error, [&] {
    status = plugin_->functions().process(instance_, &slice, &decision, error, kStepErrorSize);
  });
  slice_ = nullptr;
  result_ = nullptr;
  decide(status, error, decision, slice, result);
  if (alert_) {
    if (result.verdict != StepVerdict::error) result.alert = std::move(alert_);
    alert_.reset();
  }
  if (fills_.empty()) return;
  if (result.verdict == StepVerdict::error) return fills_.clear();
  fills_.take(result.fills);
}

void FilterInstance::decide(std::int32_t status, char* error, const weir_filter_decision& decision,
                            const weir_filter_slice& slice, FilterResult& result) {
  if (status != 0) {
    fail(result, lines_of(error));
  } else if (!misuse_.empty()) {
    fail(result, misuse_);
  } else if (!limit_reached_.empty()) {
    fail(result, "it reached the limit of its " + std::string(limit_reached_));
  } else {
    take_decision(decision, slice, result);
  }
}

void FilterInstance::take_decision(const weir_filter_decision& decision, const weir_filter_slice& slice,
                                   FilterResult& result) {
  switch (decision.verdict) {
    case WEIR_FILTER_REJECT:
      result.clear();
      result.verdict = StepVerdict::reject;
      return;
    case WEIR_FILTER_ACCEPT:
      return take_accept(decision, slice, result);
    case WEIR_FILTER_NEED_MORE:
      return take_need_more(decision, slice, result);
    case WEIR_FILTER_FORWARD:
      return take_forward(result);
    case WEIR_FILTER_UNDECIDED:
      return fail(result, "it left the slice undecided");
    default:
      return fail(result, "verdict " + std::to_string(decision.verdict) + " is none of ABI 1");
  }
}

void FilterInstance::take_accept(const weir_filter_decision& decision, const weir_filter_slice& slice,
                                 FilterResult& result) {
  if (decision.streams == 0) return fail(result, "it accepted into no stream");
  if ((decision.streams & ~config_.streams.mask()) != 0) {
    return fail(result, "it accepted into a stream that the farm does not have");
  }
  if (decision.keep > WEIR_KEEP_NONE) {
    return fail(result, "keep " + std::to_string(decision.keep) + " is none of ABI 1");
  }
  result.verdict = StepVerdict::accept;
  result.keep = static_cast<Keep>(decision.keep);
  result.streams = decision.streams;
  result.prescale = std::max(decision.prescale, std::uint32_t{1});
  result.prescale_counter = decision.prescale_counter;
  result.need_sources.clear();
  result.prefetch_sources.clear();
  if (result.keep == Keep::listed) {
    sort_unique(result.keep_sources);
    const auto has = [&slice](std::uint32_t source) { return weir_filter_find(&slice, source) != nullptr; };
    // Of a list, masked sources may be missing.
    if (!result.keep_sources.empty() && std::ranges::none_of(result.keep_sources, has)) {
      return fail(result, "it keeps raw data only of sources that the slice does not have, such as " +
                              std::to_string(result.keep_sources.front()));
    }
  } else {
    result.keep_sources.clear();
  }
}

void FilterInstance::take_forward(FilterResult& result) {
  if (!forwarded_) return fail(result, "it forwards the slice and names no group");
  std::vector<std::byte> bytes = std::move(result.filter_result);
  const std::uint32_t group = result.forward_group;
  result.clear();
  result.filter_result = std::move(bytes);
  result.forward_group = group;
  result.verdict = StepVerdict::forward;
}

void FilterInstance::take_need_more(const weir_filter_decision& decision, const weir_filter_slice& slice,
                                    FilterResult& result) {
  std::vector<std::uint32_t> needed = std::move(result.need_sources);
  std::vector<std::uint32_t> ahead = std::move(result.prefetch_sources);
  result.clear();
  result.need_all = decision.need_all != 0;
  const auto is_requested = [&slice](std::uint32_t source) {
    const weir_filter_fragment* fragment = weir_filter_find(&slice, source);
    return fragment == nullptr || fragment->status != WEIR_FRAGMENT_NOT_REQUESTED;
  };
  bool news = false;
  if (result.need_all) {
    for (std::uint32_t i = 0; i < slice.fragment_count && !news; ++i) {
      news = weir_filter_fragment_at(&slice, i)->status == WEIR_FRAGMENT_NOT_REQUESTED;
    }
  } else {
    std::erase_if(needed, is_requested);
    sort_unique(needed);
    news = !needed.empty();
    result.need_sources = std::move(needed);
    std::erase_if(ahead, [&](std::uint32_t source) {
      return is_requested(source) || std::ranges::binary_search(result.need_sources, source);
    });
    sort_unique(ahead);
    result.prefetch_sources = std::move(ahead);
  }
  // Without this a filter that always needs more would keep a slice forever.
  if (!news) return fail(result, "it needs more, but of no source that was not asked for already");
  result.verdict = StepVerdict::need_more;
}

void FilterInstance::fail(FilterResult& result, std::string_view why) {
  std::string text = "filter '" + plugin_->name() + "': " + std::string(why);
  result.clear();
  result.error = std::move(text);
  metrics_.count(FilterMetrics::kFilterError, 1);
}

std::optional<std::vector<std::uint32_t>> FilterInstance::first_sources() {
  const auto ask = plugin_->functions().first_sources;
  if (ask == nullptr) return std::nullopt;
  std::vector<std::uint32_t> sources(run_.sources.size());
  std::uint32_t count = WEIR_ALL_SOURCES;
  char error[kErrorTextSize] = "";
  // More than the run has would be a wish with repetitions: asked for once more, then cut.
  for (int round = 0; round < 2; ++round) {
    const auto capacity = static_cast<std::uint32_t>(sources.size());
    const bool good = guarded(error, [&] { count = ask(instance_, sources.data(), capacity); });
    if (!good || count == WEIR_ALL_SOURCES) return std::nullopt;
    if (count <= capacity) break;
    constexpr std::uint32_t kWishMax = 1 << 20;
    sources.resize(std::min(count, kWishMax));
  }
  sources.resize(std::min<std::size_t>(count, sources.size()));
  sort_unique(sources);
  return sources;
}

void FilterInstance::write_log(int level, std::string_view text) {
  const std::lock_guard lock(log_mutex_);
  if (ending_ && level >= WEIR_LOG_ERROR && end_error_.empty()) end_error_ = clean_text(text, kPluginTextMax);
  if (!config_.log || log_lines_ == config_.limits.log_lines_max) {
    metrics_.count(FilterMetrics::kLogDropped, 1);
    return;
  }
  ++log_lines_;
  config_.log(level, clean_text(text, kPluginTextMax));
}

}  // namespace weir::filter_host
