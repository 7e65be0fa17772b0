#include <weir/base/hash.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/plugin_loader/guarded.hpp>

#include <algorithm>

namespace weir::filter_host {

using plugin_loader::kPluginNameMax;
using plugin_loader::kPluginTextMax;

// Called by the plugin: nothing may be thrown through them, and a null pointer or a call outside process() is
// answered, not believed.
struct FilterInstance::Services {
  static FilterInstance& self(const weir_filter_host* host) {
    return *static_cast<FilterInstance*>(host->context);
  }

  // Runs `append` if `allowed` and inside process(). A refusal inside makes the slice a filter_error.
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
      std::string fault = "it booked a histogram of a kind that this Weir lacks";
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
  static void alert(const weir_filter_host* host, std::int64_t before_ms, std::int64_t after_ms,
                    const char* reason) noexcept {
    FilterInstance& instance = self(host);
    if (instance.result_ == nullptr) return;
    constexpr std::int64_t kMax = AlertRequest::kWindowMsMax;
    try {
      instance.alert_ = AlertRequest{std::clamp(before_ms, -kMax, kMax), std::clamp(after_ms, -kMax, kMax),
                                     clean_text(reason == nullptr ? "" : reason, AlertRequest::kReasonMax)};
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
    if (instance.creating_) {
      if (!known && instance.unknown_forward_.empty())
        instance.unknown_forward_ = clean_text(wanted, kPluginNameMax);
      return known && fits ? 0 : 1;
    }
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
    const std::vector<NamedSources>& groups = instance.config_.groups;
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
  static const NamedSources* find(const weir_filter_host* host, std::uint32_t group) {
    const std::vector<NamedSources>& groups = self(host).config_.groups;
    return group < groups.size() ? &groups[group] : nullptr;
  }
  static std::uint32_t group_sources(const weir_filter_host* host, std::uint32_t group,
                                     std::uint32_t* sources, std::uint32_t capacity) noexcept {
    const NamedSources* const found = find(host, group);
    if (found == nullptr) return 0;
    const std::size_t count = std::min<std::size_t>(found->sources.size(), sources == nullptr ? 0 : capacity);
    std::copy_n(found->sources.begin(), count, sources);
    return static_cast<std::uint32_t>(found->sources.size());
  }
  static std::int32_t add_group(const weir_filter_host* host, std::vector<std::uint32_t> FilterResult::*list,
                                std::uint32_t group) noexcept {
    const NamedSources* const found = find(host, group);
    if (found != nullptr)
      return add_sources(host, list, found->sources.data(),
                         static_cast<std::uint32_t>(found->sources.size()));
    self(host).misuse_ = "it named a source group that the farm lacks";
    return 1;
  }
  static std::int32_t need_group(const weir_filter_host* host, std::uint32_t group) noexcept {
    return add_group(host, &FilterResult::need_sources, group);
  }
  static std::int32_t prefetch_group(const weir_filter_host* host, std::uint32_t group) noexcept {
    return add_group(host, &FilterResult::prefetch_sources, group);
  }
};

void FilterInstance::offer_services() {
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
  host_.alert = &Services::alert;
}

}  // namespace weir::filter_host
