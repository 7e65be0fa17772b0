// The parts of a filter in C++: the views that it reads, the decision that it returns, its base class. Part
// of weir/filter.hpp.
#pragma once

#include <weir/filter_setup.hpp>
#include <weir/weir_filter.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {
inline namespace filter_v1 {

// Reads an unsigned little-endian number at a byte offset. Errors: std::out_of_range beyond the end.
template <class T>
[[nodiscard]] T read_le(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_unsigned_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    throw std::out_of_range("a field at byte " + std::to_string(offset) + " is outside of " +
                            std::to_string(bytes.size()) + " bytes");
  }
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>((static_cast<std::uint64_t>(value) << 8) |
                           std::to_integer<std::uint64_t>(bytes[offset + i]));
  }
  return value;
}

// Builds an output event or a filter result from unsigned little-endian numbers. Reuse one: clear() keeps
// memory.
class ByteWriter {
 public:
  template <class T>
  ByteWriter& put(T value) {
    static_assert(std::is_unsigned_v<T>);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff));
    }
    return *this;
  }
  void clear() { bytes_.clear(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// One source's fragment of the slice. A view; false if the slice has no such source (Slice::find).
class Fragment {
 public:
  explicit Fragment(const weir_filter_fragment* raw) : raw_(raw) {}
  explicit operator bool() const { return raw_ != nullptr; }
  [[nodiscard]] std::uint32_t source() const { return raw_->source; }
  [[nodiscard]] std::uint8_t status() const { return raw_->status; }  // WEIR_FRAGMENT_...
  [[nodiscard]] bool ok() const { return raw_->status == WEIR_FRAGMENT_OK; }
  [[nodiscard]] bool missing() const { return raw_->status == WEIR_FRAGMENT_MISSING; }
  [[nodiscard]] bool requested() const { return raw_->status != WEIR_FRAGMENT_NOT_REQUESTED; }
  [[nodiscard]] std::uint8_t missing_reason() const { return raw_->missing_reason; }  // WEIR_MISSING_...
  [[nodiscard]] std::uint32_t total() const { return raw_->total; }
  [[nodiscard]] std::uint32_t crc32c() const { return raw_->crc32c; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(raw_->data), raw_->data == nullptr ? 0 : raw_->length};
  }

 private:
  const weir_filter_fragment* raw_;
};

// One slice at one step: a range of Fragments, sorted by source. A view, valid inside process().
class Slice {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Fragment;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Fragment;
    Iterator(const weir_filter_slice* raw, std::uint32_t index) : raw_(raw), index_(index) {}
    Fragment operator*() const { return Fragment(weir_filter_fragment_at(raw_, index_)); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const weir_filter_slice* raw_;
    std::uint32_t index_;
  };

  explicit Slice(const weir_filter_slice* raw) : raw_(raw) {}
  [[nodiscard]] std::uint32_t run() const { return raw_->run; }
  [[nodiscard]] std::uint64_t id() const { return raw_->slice; }
  [[nodiscard]] std::uint32_t attempt() const { return raw_->attempt; }
  [[nodiscard]] std::uint32_t step() const { return raw_->step; }
  [[nodiscard]] std::int64_t trigger_time_utc_ns() const { return raw_->trigger_time_utc_ns; }
  [[nodiscard]] std::int64_t duration_ns() const { return raw_->duration_ns; }
  [[nodiscard]] std::uint32_t trigger_type() const { return raw_->trigger_type; }
  [[nodiscard]] std::span<const std::byte> trigger_payload() const {
    return {static_cast<const std::byte*>(raw_->trigger_payload), raw_->trigger_payload_size};
  }
  // Returns the bytes that the filter of an earlier group of DCMs passed to forward(); empty in the first
  // group.
  [[nodiscard]] std::span<const std::byte> forwarded() const {
    constexpr std::size_t kKnown = offsetof(weir_filter_slice, forwarded_size) + sizeof(raw_->forwarded_size);
    if (raw_->struct_size < kKnown || raw_->forwarded == nullptr) return {};
    return {static_cast<const std::byte*>(raw_->forwarded), raw_->forwarded_size};
  }
  [[nodiscard]] bool incomplete() const { return (raw_->flags & WEIR_SLICE_INCOMPLETE) != 0; }

  [[nodiscard]] std::uint32_t size() const { return raw_->fragment_count; }
  [[nodiscard]] Iterator begin() const { return {raw_, 0}; }
  [[nodiscard]] Iterator end() const { return {raw_, raw_->fragment_count}; }
  [[nodiscard]] Fragment find(std::uint32_t source) const { return Fragment(weir_filter_find(raw_, source)); }
  // Returns the bytes of all received fragments.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Fragment fragment : *this) sum += fragment.bytes().size();
    return sum;
  }

  // Stores a T for this slice's next steps, in place of an earlier one.
  template <class T, class... Args>
  T& remember(Args&&... args) const {
    auto fresh = std::make_unique<T>(std::forward<Args>(args)...);
    if (raw_->state->destroy != nullptr) raw_->state->destroy(raw_->state->data);
    raw_->state->destroy = [](void* data) { delete static_cast<T*>(data); };
    raw_->state->data = fresh.get();
    return *fresh.release();
  }
  // Returns the object that remember<T>() made at an earlier step, or null.
  template <class T>
  [[nodiscard]] T* remembered() const {
    return static_cast<T*>(raw_->state->data);
  }

  [[nodiscard]] const weir_filter_slice* raw() const { return raw_; }

 private:
  const weir_filter_slice* raw_;
};

// The result of process(); made by Filter::accept() and its siblings. Setters return *this, to be chained.
struct Decision {
  std::uint8_t verdict = WEIR_FILTER_UNDECIDED;
  std::uint8_t keep = WEIR_KEEP_ALL;
  bool need_all = false;
  std::uint64_t streams = 0;  // none set: the default stream
  std::uint32_t prescale = 1;
  std::uint64_t prescale_counter = 0;
  std::vector<std::uint32_t> sources;  // to keep (accept) or needed (need more)

  // Goes to these streams instead of the default one.
  Decision& to(std::uint64_t stream_bits) {
    streams |= stream_bits;
    return *this;
  }
  Decision& keep_no_raw_data() {
    keep = WEIR_KEEP_NONE;
    return *this;
  }
  Decision& keep_raw_data_of(std::vector<std::uint32_t> which) {
    keep = WEIR_KEEP_LISTED;
    sources = std::move(which);
    return *this;
  }
  // Marks the slice as accepted as one of `n`; `counter` is its number, from 1.
  Decision& prescaled(std::uint32_t n, std::uint64_t counter) {
    prescale = n;
    prescale_counter = counter;
    return *this;
  }
};

// A number that all instances add to. Made by Filter::counter().
class Counter {
 public:
  Counter() = default;
  Counter(const weir_filter_host* host, std::uint32_t handle) : host_(host), handle_(handle) {}
  void add(std::uint64_t amount = 1) const { host_->count(host_, handle_, amount); }

 private:
  const weir_filter_host* host_ = nullptr;
  std::uint32_t handle_ = WEIR_NO_METRIC;
};

// A distribution that all instances fill. Made by Filter::histogram().
class Histogram {
 public:
  Histogram() = default;
  Histogram(const weir_filter_host* host, std::uint32_t handle) : host_(host), handle_(handle) {}
  void record(double value) const { host_->record(host_, handle_, value); }

 private:
  const weir_filter_host* host_ = nullptr;
  std::uint32_t handle_ = WEIR_NO_METRIC;
};

// Bins of equal width over [low, high).
struct Axis {
  std::uint32_t bins = 0;
  double low = 0;
  double high = 0;
};

// A histogram of the run. Made by Filter::book_histogram() in the constructor, filled inside process().
class Histogram1D {
 public:
  Histogram1D() = default;
  Histogram1D(const weir_filter_host* host, std::uint32_t handle) : host_(host), handle_(handle) {}
  void fill(double x, double weight = 1) const {
    if (host_ != nullptr) host_->fill(host_, handle_, x, 0, weight);
  }

 private:
  const weir_filter_host* host_ = nullptr;
  std::uint32_t handle_ = WEIR_NO_METRIC;
};

// A histogram over two axes, or a profile: the mean of y in bins of x. Made by Filter::book_histogram() and
// Filter::book_profile().
class Histogram2D {
 public:
  Histogram2D() = default;
  Histogram2D(const weir_filter_host* host, std::uint32_t handle) : host_(host), handle_(handle) {}
  void fill(double x, double y, double weight = 1) const {
    if (host_ != nullptr) host_->fill(host_, handle_, x, y, weight);
  }

 private:
  const weir_filter_host* host_ = nullptr;
  std::uint32_t handle_ = WEIR_NO_METRIC;
};
using Profile = Histogram2D;

// A group of the farm's sources. Made by Filter::group().
class SourceGroup {
 public:
  SourceGroup() = default;
  SourceGroup(const weir_filter_host* host, std::uint32_t handle) : host_(host), handle_(handle) {}
  [[nodiscard]] std::uint32_t handle() const { return handle_; }
  // Returns the run's sources, ascending, without masked ones.
  [[nodiscard]] std::vector<std::uint32_t> sources() const {
    if (host_ == nullptr) return {};
    std::vector<std::uint32_t> sources(host_->group_sources(host_, handle_, nullptr, 0));
    host_->group_sources(host_, handle_, sources.data(), static_cast<std::uint32_t>(sources.size()));
    return sources;
  }

 private:
  const weir_filter_host* host_ = nullptr;
  std::uint32_t handle_ = WEIR_NO_GROUP;
};

// The base of every filter. One instance per processing unit; its functions never run concurrently.
class Filter {
 public:
  explicit Filter(FilterSetup& setup) : host_(setup.host()) {}
  virtual ~Filter() = default;
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  virtual Decision process(const Slice& slice) = 0;
  virtual void begin_run(const weir_filter_run& /*run*/) {}
  virtual void end_run() {}
  // Returns the sources of step 0; nullopt: those of the farm file, which defaults to all.
  [[nodiscard]] virtual std::optional<std::vector<std::uint32_t>> first_sources() const {
    return std::nullopt;
  }

 protected:
  [[nodiscard]] static Decision accept() { return with_verdict(WEIR_FILTER_ACCEPT); }
  [[nodiscard]] static Decision reject() { return with_verdict(WEIR_FILTER_REJECT); }
  [[nodiscard]] static Decision need(std::vector<std::uint32_t> sources) {
    Decision decision = with_verdict(WEIR_FILTER_NEED_MORE);
    decision.sources = std::move(sources);
    return decision;
  }
  // Inside process() only: needs all sources of these groups.
  template <class... Groups>
  [[nodiscard]] Decision need(const SourceGroup& first, const Groups&... others) const {
    for (const std::uint32_t handle : {first.handle(), others.handle()...}) {
      if (host_->need_group(host_, handle) != 0)
        throw std::invalid_argument("it needs a source group that it did not get from group()");
    }
    return need(std::vector<std::uint32_t>{});
  }
  // Inside process() only, before need(): a hint that the step after the next one will probably need these
  // sources. The host may request them while the next step runs.
  void prefetch(const SourceGroup& group) const {
    if (knows_groups(host_)) host_->prefetch_group(host_, group.handle());
  }
  void prefetch(std::span<const std::uint32_t> sources) const {
    if (knows_groups(host_))
      host_->prefetch_sources(host_, sources.data(), static_cast<std::uint32_t>(sources.size()));
  }
  [[nodiscard]] static Decision need_all() {
    Decision decision = with_verdict(WEIR_FILTER_NEED_MORE);
    decision.need_all = true;
    return decision;
  }

  // Forwards the slice to a DCM of that group; its filter receives the bytes. In the constructor it throws
  // for a group that the farm does not allow. Requires: called in the constructor or in process().
  [[nodiscard]] Decision forward(const std::string& group, std::span<const std::byte> bytes = {}) const {
    constexpr std::size_t kKnown = offsetof(weir_filter_host, forward) + sizeof(host_->forward);
    if (host_->struct_size < kKnown) throw std::invalid_argument("this Weir forwards no slices: update it");
    if (host_->forward(host_, group.c_str(), bytes.data(), bytes.size()) != 0)
      throw std::invalid_argument("it cannot forward " + std::to_string(bytes.size()) + " bytes to group '" +
                                  group + "'");
    return with_verdict(WEIR_FILTER_FORWARD);
  }

  // Gives a burst alert for the slices from `before_ms` before this slice to `after_ms` after it; 0 and 0:
  // the window of the farm file. The farm takes one per burst.filter_alert_s (10 s). Inside
  // process() only.
  void alert(std::int64_t before_ms, std::int64_t after_ms, const std::string& reason) const {
    constexpr std::size_t kKnown = offsetof(weir_filter_host, alert) + sizeof(host_->alert);
    if (host_->struct_size < kKnown)
      throw std::invalid_argument("this Weir takes no alerts of filters: update it");
    host_->alert(host_, before_ms, after_ms, reason.c_str());
  }

  void log(std::int32_t level, const std::string& text) const { host_->log(host_, level, text.c_str()); }
  [[nodiscard]] Counter counter(const char* name) const { return {host_, host_->counter(host_, name)}; }
  [[nodiscard]] Histogram histogram(const char* name) const { return {host_, host_->histogram(host_, name)}; }
  // Books a histogram of the run, in the constructor. Instances and processes add up under one name. The run
  // is refused if the name has another binning elsewhere.
  [[nodiscard]] Histogram1D book_histogram(const char* name, std::uint32_t bins, double low,
                                           double high) const {
    return {host_, book(WEIR_HISTOGRAM_1D, name, {bins, low, high}, {})};
  }
  [[nodiscard]] Histogram2D book_histogram(const char* name, const Axis& x, const Axis& y) const {
    return {host_, book(WEIR_HISTOGRAM_2D, name, x, y)};
  }
  // Books the mean and deviation of y in bins of x.
  [[nodiscard]] Profile book_profile(const char* name, std::uint32_t bins, double low, double high) const {
    return {host_, book(WEIR_HISTOGRAM_PROFILE, name, {bins, low, high}, {})};
  }
  // Returns the farm's source group of this name. Errors: throws if the farm has none. Requires: called in
  // the constructor.
  [[nodiscard]] SourceGroup group(const std::string& name) const {
    if (!knows_groups(host_))
      throw std::invalid_argument("this Weir has no source groups: update it, or name sources by number");
    const std::uint32_t handle = host_->group(host_, name.c_str());
    if (handle == WEIR_NO_GROUP) throw std::invalid_argument("it needs source group '" + name + "'");
    return {host_, handle};
  }
  // Returns the stream's bit. Errors: throws if the farm has no stream of this name.
  [[nodiscard]] std::uint64_t stream(const std::string& name) const {
    const std::uint64_t bit = host_->stream(host_, name.c_str());
    if (bit == 0)
      throw std::invalid_argument("the farm has no stream '" + name + "': add it to its list of streams");
    return bit;
  }

  // Inside process() only. The random sequence is the same whenever and wherever this step of this slice
  // runs.
  [[nodiscard]] std::uint64_t random() const { return host_->random(host_); }
  [[nodiscard]] double uniform() const {  // in [0, 1)
    return static_cast<double>(random() >> 11) * 0x1.0p-53;
  }
  void add_event(std::uint64_t id, std::span<const std::byte> bytes) const {
    if (host_->add_event(host_, id, bytes.data(), bytes.size()) != 0) {
      throw std::length_error("more output events than the farm allows");
    }
  }
  void set_result(std::span<const std::byte> bytes) const {
    if (host_->set_result(host_, bytes.data(), bytes.size()) != 0) {
      throw std::length_error("a filter result of " + std::to_string(bytes.size()) +
                              " bytes is more than the farm allows");
    }
  }
  [[nodiscard]] const weir_filter_host* host() const { return host_; }

 private:
  [[nodiscard]] std::uint32_t book(std::uint32_t kind, const char* name, const Axis& x, const Axis& y) const {
    if (host_->struct_size < offsetof(weir_filter_host, fill) + sizeof(host_->fill))
      throw std::invalid_argument("this Weir has no binned histograms: update it, or use histogram()");
    const weir_filter_booking booking{
        sizeof booking, kind, name, {x.bins, 0, x.low, x.high}, {y.bins, 0, y.low, y.high}};
    return host_->book_histogram(host_, &booking);
  }
  // Whether the host is of a release that has source groups and prefetch hints.
  static bool knows_groups(const weir_filter_host* host) {
    return host->struct_size >= offsetof(weir_filter_host, prefetch_group) + sizeof(host->prefetch_group);
  }
  static Decision with_verdict(std::uint8_t verdict) {
    Decision decision;
    decision.verdict = verdict;
    return decision;
  }

  const weir_filter_host* host_;
};

}  // namespace filter_v1
}  // namespace weir
