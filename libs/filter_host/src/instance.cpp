#include <weir/base/hash.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/plugin_loader/guarded.hpp>

#include <algorithm>
#include <cstring>
#include <exception>

namespace weir::filter_host {
namespace {

using plugin_loader::guarded;
using plugin_loader::kErrorTextSize;
using plugin_loader::kPluginNameMax;
using plugin_loader::kPluginTextMax;
using plugin_loader::text_of;

constexpr std::size_t kKeepCapacityMax = std::size_t{1} << 20;
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

template <class T>
void clear_and_trim(std::vector<T>& items) {
  items.clear();
  if (items.capacity() * sizeof(T) > kKeepCapacityMax) items.shrink_to_fit();
}

}  // namespace

void FilterResult::clear() {
  verdict = Verdict::error;
  keep = Keep::all;
  streams = 0;
  prescale = 1;
  prescale_counter = 0;
  clear_and_trim(keep_sources);
  clear_and_trim(events);
  clear_and_trim(event_bytes);
  clear_and_trim(filter_result);
  forward_group = 0;
  need_all = false;
  clear_and_trim(need_sources);
  clear_and_trim(prefetch_sources);
  if (!fills.empty()) clear_and_trim(fills);
  error.clear();
  wall_ns = 0;
  cpu_ns = 0;
}

// Called by the plugin: nothing may be thrown through them, and a null pointer or a call outside process() is
// answered, not believed.
struct FilterInstance::Services {
  static FilterInstance& self(const weir_filter_host* host) {
    return *static_cast<FilterInstance*>(host->context);
  }

  // Runs `append` unless there is no slice or `allowed` is false; a refusal becomes the slice's filter_error.
  template <class Append>
  static std::int32_t bounded(FilterInstance& instance, bool allowed, std::string_view limit,
                              Append append) noexcept {
    if (instance.result_ == nullptr) return 1;
    if (allowed) {
      try {
        append(*instance.result_);
        return 0;
      } catch (...) {
        limit = "memory";
      }
    }
    instance.limit_reached_ = limit;
    return 1;
  }

  static void log(const weir_filter_host* host, std::int32_t level, const char* text) noexcept {
    try {
      self(host).write_log(level, text == nullptr ? "" : text);
    } catch (...) {
      self(host).metrics_.count(FilterMetrics::kLogDropped, 1);
    }
  }
  static std::uint64_t stream(const weir_filter_host* host, const char* name) noexcept {
    return name == nullptr ? 0 : self(host).config_.streams.bit(name);
  }
  static std::uint32_t counter(const weir_filter_host* host, const char* name) noexcept {
    try {
      return name == nullptr ? WEIR_NO_METRIC : self(host).metrics_.counter(clean_text(name, kPluginNameMax));
    } catch (...) {
      return WEIR_NO_METRIC;
    }
  }
  static void count(const weir_filter_host* host, std::uint32_t counter, std::uint64_t amount) noexcept {
    self(host).metrics_.count(counter, amount);
  }
  static std::uint32_t histogram(const weir_filter_host* host, const char* name) noexcept {
    try {
      return name == nullptr ? WEIR_NO_METRIC
                             : self(host).metrics_.histogram(clean_text(name, kPluginNameMax));
    } catch (...) {
      return WEIR_NO_METRIC;
    }
  }
  static void record(const weir_filter_host* host, std::uint32_t histogram, double value) noexcept {
    self(host).metrics_.record(histogram, value);
  }
  static histograms::Booking booking_of(const weir_filter_booking& from) {
    histograms::Booking booking;
    booking.name = from.name == nullptr ? "" : from.name;
    booking.kind = static_cast<histograms::Kind>(from.kind);
    booking.x = {from.x.bins, from.x.low, from.x.high};
    if (booking.has_y()) booking.y = {from.y.bins, from.y.low, from.y.high};
    return booking;
  }
  static std::uint32_t book_histogram(const weir_filter_host* host,
                                      const weir_filter_booking* booking) noexcept {
    FilterInstance& instance = self(host);
    try {
      const bool known = booking != nullptr && booking->struct_size >= sizeof *booking &&
                         booking->kind >= WEIR_HISTOGRAM_1D && booking->kind <= WEIR_HISTOGRAM_PROFILE;
      std::string fault = "it booked a histogram of a kind that this Weir does not have";
      if (!instance.creating_) {
        instance.metrics_.count(FilterMetrics::kMetricRefused, 1);
        return WEIR_NO_METRIC;
      }
      if (known) {
        auto booked = instance.shared_metrics_.book(booking_of(*booking));
        if (booked) return *booked;
        fault = std::move(booked.error());
      }
      if (instance.booking_fault_.empty()) instance.booking_fault_ = std::move(fault);
    } catch (...) {
      if (instance.creating_) instance.booking_fault_ = "no memory for its histograms";
    }
    return WEIR_NO_METRIC;
  }
  static void fill(const weir_filter_host* host, std::uint32_t histogram, double x, double y,
                   double weight) noexcept {
    FilterInstance& instance = self(host);
    if (instance.result_ == nullptr || histogram >= instance.layout_.all().size()) return;
    try {
      instance.fills_.fill(instance.layout_.all()[histogram], x, y, weight);
    } catch (...) {
      instance.limit_reached_ = "memory";
    }
  }
  static std::uint64_t random(const weir_filter_host* host) noexcept {
    FilterInstance& instance = self(host);
    if (instance.slice_ == nullptr) return 0;
    if (instance.random_drawn_ == 0) {
      const weir_filter_slice& slice = *instance.slice_;
      instance.random_seed_ = mix64(mix64(mix64(slice.run) ^ slice.slice) ^ slice.step);
    }
    return mix64(instance.random_seed_ ^ mix64(++instance.random_drawn_));
  }
  static std::int32_t add_event(const weir_filter_host* host, std::uint64_t id, const void* bytes,
                                std::uint64_t size) noexcept {
    FilterInstance& instance = self(host);
    const FilterLimits& limits = instance.config_.limits;
    if (instance.result_ == nullptr) return 1;
    const std::size_t used = instance.result_->event_bytes.size();
    const bool fits = instance.result_->events.size() < limits.events_max &&
                      (bytes != nullptr || size == 0) &&
                      size <= limits.event_bytes_max - std::min<std::uint64_t>(used, limits.event_bytes_max);
    return bounded(instance, fits, "output events", [&](FilterResult& result) {
      result.events.push_back({id, static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(size)});
      const auto* from = static_cast<const std::byte*>(bytes);
      result.event_bytes.insert(result.event_bytes.end(), from, from + size);
    });
  }
  static std::int32_t set_result(const weir_filter_host* host, const void* bytes,
                                 std::uint64_t size) noexcept {
    FilterInstance& instance = self(host);
    const bool fits =
        size <= instance.config_.limits.filter_result_bytes_max && (bytes != nullptr || size == 0);
    return bounded(instance, fits, "filter result", [&](FilterResult& result) {
      const auto* from = static_cast<const std::byte*>(bytes);
      result.filter_result.assign(from, from + size);
    });
  }
  // A list longer than the slice's table is allowed to repeat itself, within reason.
  static std::int32_t add_sources(const weir_filter_host* host,
                                  std::vector<std::uint32_t> FilterResult::*list,
                                  const std::uint32_t* sources, std::uint32_t count) noexcept {
    constexpr std::size_t kListMax = std::size_t{1} << 20;
    FilterInstance& instance = self(host);
    if (instance.result_ == nullptr) return 1;
    const bool fits =
        (sources != nullptr || count == 0) && (instance.result_->*list).size() + count <= kListMax;
    return bounded(instance, fits, "listed sources", [&](FilterResult& result) {
      (result.*list).insert((result.*list).end(), sources, sources + count);
    });
  }
  static std::int32_t keep_sources(const weir_filter_host* host, const std::uint32_t* sources,
                                   std::uint32_t count) noexcept {
    return add_sources(host, &FilterResult::keep_sources, sources, count);
  }
  static std::int32_t need_sources(const weir_filter_host* host, const std::uint32_t* sources,
                                   std::uint32_t count) noexcept {
    return add_sources(host, &FilterResult::need_sources, sources, count);
  }
  static std::int32_t forward(const weir_filter_host* host, const char* group, const void* bytes,
                              std::uint64_t size) noexcept {
    FilterInstance& instance = self(host);
    const std::string_view wanted = group == nullptr ? std::string_view() : std::string_view(group);
    const auto& groups = instance.config_.forward_groups;
    const auto to =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == wanted; });
    const bool known = to != groups.end() || instance.config_.forwards_anywhere;
    const bool fits = size <= WEIR_FORWARD_BYTES_MAX && (bytes != nullptr || size == 0);
    const std::string_view limit = known ? "forwarded bytes" : "groups to forward to (dcm.groups)";
    return bounded(instance, known && fits, limit, [&](FilterResult& result) {
      const auto* from = static_cast<const std::byte*>(bytes);
      result.filter_result.assign(from, from + size);
      result.forward_group = to != groups.end() ? to->second : 0;
      instance.forwarded_ = true;
    });
  }
  static std::int32_t prefetch_sources(const weir_filter_host* host, const std::uint32_t* sources,
                                       std::uint32_t count) noexcept {
    return add_sources(host, &FilterResult::prefetch_sources, sources, count);
  }

  static std::uint32_t group(const weir_filter_host* host, const char* name) noexcept {
    FilterInstance& instance = self(host);
    const std::vector<SourceGroup>& groups = instance.config_.groups;
    if (name == nullptr) return WEIR_NO_GROUP;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].name == name) return static_cast<std::uint32_t>(i);
    }
    try {
      if (instance.unknown_group_.empty()) instance.unknown_group_ = clean_text(name, kPluginNameMax);
    } catch (...) {
      return WEIR_NO_GROUP;
    }
    return WEIR_NO_GROUP;
  }
  static const SourceGroup* find(const weir_filter_host* host, std::uint32_t group) {
    const std::vector<SourceGroup>& groups = self(host).config_.groups;
    return group < groups.size() ? &groups[group] : nullptr;
  }
  static std::uint32_t group_sources(const weir_filter_host* host, std::uint32_t group,
                                     std::uint32_t* sources, std::uint32_t capacity) noexcept {
    const SourceGroup* const found = find(host, group);
    if (found == nullptr) return 0;
    const std::size_t count = std::min<std::size_t>(found->sources.size(), sources == nullptr ? 0 : capacity);
    std::copy_n(found->sources.begin(), count, sources);
    return static_cast<std::uint32_t>(found->sources.size());
  }
  static std::int32_t add_group(const weir_filter_host* host, std::vector<std::uint32_t> FilterResult::*list,
                                std::uint32_t group) noexcept {
    const SourceGroup* const found = find(host, group);
    if (found != nullptr)
      return add_sources(host, list, found->sources.data(),
                         static_cast<std::uint32_t>(found->sources.size()));
    self(host).misuse_ = "it named a source group that the farm does not have";
    return 1;
  }
  static std::int32_t need_group(const weir_filter_host* host, std::uint32_t group) noexcept {
    return add_group(host, &FilterResult::need_sources, group);
  }
  static std::int32_t prefetch_group(const weir_filter_host* host, std::uint32_t group) noexcept {
    return add_group(host, &FilterResult::prefetch_sources, group);
  }
};

FilterInstance::FilterInstance(std::shared_ptr<const FilterPlugin> plugin, FilterConfig config,
                               FilterMetrics& metrics)
    : plugin_(std::move(plugin)),
      config_(std::move(config)),
      shared_metrics_(metrics),
      metrics_(metrics.add_instance()) {
  host_.struct_size = sizeof host_;
  host_.abi_version = WEIR_FILTER_ABI_VERSION;
  host_.context = this;
  host_.log = &Services::log;
  host_.stream = &Services::stream;
  host_.counter = &Services::counter;
  host_.count = &Services::count;
  host_.histogram = &Services::histogram;
  host_.record = &Services::record;
  host_.random = &Services::random;
  host_.add_event = &Services::add_event;
  host_.set_result = &Services::set_result;
  host_.keep_sources = &Services::keep_sources;
  host_.need_sources = &Services::need_sources;
  host_.forward = &Services::forward;
  host_.group = &Services::group;
  host_.group_sources = &Services::group_sources;
  host_.need_group = &Services::need_group;
  host_.prefetch_sources = &Services::prefetch_sources;
  host_.prefetch_group = &Services::prefetch_group;
  host_.book_histogram = &Services::book_histogram;
  host_.fill = &Services::fill;
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
  return Unexpected<FilterError>({FilterErrorCode::create_failed, std::move(text)});
}

std::string FilterInstance::group_names() const {
  if (config_.groups.empty()) return "it has none";
  std::string names = "its groups are ";
  for (const SourceGroup& group : config_.groups)
    names += (&group == config_.groups.data() ? "" : ", ") + group.name;
  return names;
}

FilterInstance::~FilterInstance() {
  char error[kErrorTextSize] = "";
  if (instance_ == nullptr || guarded(error, [&] { plugin_->functions().destroy(instance_); })) return;
  Services::log(&host_, WEIR_LOG_ERROR, error);
}

Expected<void, FilterError> FilterInstance::begin_run(const RunInfo& run) {
  run_ = run;
  log_lines_ = 0;
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

void FilterInstance::end_run() {
  char error[kErrorTextSize] = "";
  if (plugin_->functions().end_run == nullptr) return;
  if (!guarded(error, [&] { plugin_->functions().end_run(instance_); })) {
    Services::log(&host_, WEIR_LOG_ERROR, error);
  }
}

void FilterInstance::process(const weir_filter_slice& slice, FilterResult& result) {
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
  if (fills_.empty()) return;
  if (result.verdict == Verdict::error) return fills_.clear();
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
      result.verdict = Verdict::reject;
      return;
    case WEIR_FILTER_ACCEPT:
      return take_accept(decision, result);
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

void FilterInstance::take_accept(const weir_filter_decision& decision, FilterResult& result) {
  if (decision.streams == 0) return fail(result, "it accepted into no stream");
  if ((decision.streams & ~config_.streams.mask()) != 0) {
    return fail(result, "it accepted into a stream that the farm does not have");
  }
  if (decision.keep > WEIR_KEEP_NONE) {
    return fail(result, "keep " + std::to_string(decision.keep) + " is none of ABI 1");
  }
  result.verdict = Verdict::accept;
  result.keep = static_cast<Keep>(decision.keep);
  result.streams = decision.streams;
  result.prescale = std::max(decision.prescale, std::uint32_t{1});
  result.prescale_counter = decision.prescale_counter;
  result.need_sources.clear();
  result.prefetch_sources.clear();
  if (result.keep == Keep::listed) {
    sort_unique(result.keep_sources);
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
  result.verdict = Verdict::forward;
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
  // Without this a filter that always needs more would keep a slice for ever.
  if (!news) return fail(result, "it needs more, but of no source that was not asked for already");
  result.verdict = Verdict::need_more;
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
  if (!config_.log || log_lines_ == config_.limits.log_lines_max) {
    metrics_.count(FilterMetrics::kLogDropped, 1);
    return;
  }
  ++log_lines_;
  config_.log(level, clean_text(text, kPluginTextMax));
}

}  // namespace weir::filter_host
