// Sources in C++20 over the C ABI of weir_source.h. Derive from weir::SyncSource and make each fragment on
// request, or from weir::AsyncSource and deliver() fragments when they arrive; name the class in
// WEIR_SOURCE_PLUGIN. An exception of a constructor or of begin_run stops the readout with its text; one of
// make() makes the fragment missing; one of poll() is logged. No exception reaches the host. Header only: a
// plugin links no library of Weir.
#pragma once

#include <weir/plugin_border.hpp>
#include <weir/plugin_parameters.hpp>
#include <weir/weir_source.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {
inline namespace source_v1 {

// The arguments of a source's constructor: the parameters, its readout, the host's services.
class SourceSetup : public PluginParameters<weir_source_parameters> {
 public:
  SourceSetup(const weir_source_parameters* parameters, const weir_source_readout* readout,
              const weir_source_host* host)
      : PluginParameters(parameters, "source"), readout_(readout), host_(host) {}

  [[nodiscard]] const weir_source_host* host() const { return host_; }
  [[nodiscard]] const weir_source_readout& readout() const { return *readout_; }
  // Sorted; valid as long as the source.
  [[nodiscard]] std::span<const std::uint32_t> source_ids() const {
    return {readout_->sources, readout_->source_count};
  }

 private:
  const weir_source_readout* readout_;
  const weir_source_host* host_;
};

// A front-end's own counter and clock. The farm file's section `build` says how it is used.
struct SourceStamp {
  std::optional<std::uint64_t> counter;  // of its triggers; wraps at build.counter_bits
  std::optional<std::int64_t> time_ns;   // UTC by its own clock, at the begin of the data
  std::int64_t duration_ns = 0;          // of the data, from time_ns on; 0: a moment
};

// Bytes passed to the host, with their owner.
struct SourceBytes {
  std::span<const std::byte> bytes;
  void (*release)(void* owner) = nullptr;  // null: valid as long as the source
  void* owner = nullptr;
  bool absent = false;  // the source has no data for the slice
  SourceStamp stamp;    // ignored by a host older than these fields

  SourceBytes() = default;
  // The source has no data for this slice: its fragment is missing (`not_produced`), which is not a loss.
  [[nodiscard]] static SourceBytes not_produced() {
    SourceBytes none;
    none.absent = true;
    return none;
  }
  explicit SourceBytes(std::span<const std::byte> of_the_source) : bytes(of_the_source) {}
  // Takes over the vector without a copy.
  explicit SourceBytes(std::vector<std::byte>&& vector) {
    auto held = std::make_unique<std::vector<std::byte>>(std::move(vector));
    bytes = *held;
    release = [](void* any) { delete static_cast<std::vector<std::byte>*>(any); };
    owner = held.release();
  }
};

// A number in the readout's report, `source.NAME`. Made by Source::counter().
class SourceCounter {
 public:
  SourceCounter() = default;
  SourceCounter(const weir_source_host* host, std::uint32_t handle) : host_(host), handle_(handle) {}
  void add(std::uint64_t amount = 1) const {
    if (host_ != nullptr) host_->count(host_, handle_, amount);
  }

 private:
  const weir_source_host* host_ = nullptr;
  std::uint32_t handle_ = WEIR_SOURCE_NO_COUNTER;
};

// The common part of both kinds of source. The host calls all functions on the readout's thread; log(),
// wake() and SourceCounter::add() may be called on any.
class Source {
 public:
  explicit Source(SourceSetup& setup) : host_(setup.host()), readout_(&setup.readout()) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  virtual void begin_run(const weir_source_run& /*run*/) {}
  virtual void end_run() {}

 protected:
  void log(std::int32_t level, const std::string& text) const { host_->log(host_, level, text.c_str()); }
  [[nodiscard]] SourceCounter counter(const char* name) const { return {host_, host_->counter(host_, name)}; }
  // build.by: time. Reports that the source delivers nothing more that begins before `time_ns` of its clock.
  // WEIR_SOURCE_GAP: data since the last report may be lost. Returns false if the host is too old for it.
  bool time_passed(std::uint32_t source, std::int64_t time_ns,
                   std::uint8_t reason = WEIR_SOURCE_NOT_PRODUCED) const {
    if (host_->struct_size < offsetof(weir_source_host, time_passed) + sizeof host_->time_passed)
      return false;
    host_->time_passed(host(), source, time_ns, reason);
    return true;
  }
  // Reports pieces that reached a source, or WEIR_SOURCE_ALL, and how many of them were dropped. A host older
  // than this header does not count them.
  void losses(std::uint32_t source, std::uint64_t reached, std::uint64_t lost, const char* reason) const {
    if (host_has(offsetof(weir_source_host, losses) + sizeof host_->losses))
      host_->losses(host_, source, reached, lost, reason);
  }
  // Reports a fault of the run in one sentence; an older host logs it as an error.
  void fault(const std::string& text) const {
    if (host_has(offsetof(weir_source_host, fault) + sizeof host_->fault)) {
      host_->fault(host_, text.c_str());
    } else {
      log(WEIR_SOURCE_LOG_ERROR, text);
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> source_ids() const {
    return {readout_->sources, readout_->source_count};
  }
  [[nodiscard]] const weir_source_readout& readout() const { return *readout_; }
  [[nodiscard]] const weir_source_host* host() const { return host_; }

 private:
  [[nodiscard]] bool host_has(std::size_t bytes) const { return host_->struct_size >= bytes; }

  const weir_source_host* host_;
  const weir_source_readout* readout_;
};

namespace source_detail {

// Does nothing to a fragment of a host without these fields.
inline void put_stamp(const SourceStamp& stamp, weir_source_fragment& fragment) {
  if (fragment.struct_size < offsetof(weir_source_fragment, duration_ns) + sizeof fragment.duration_ns)
    return;
  if (stamp.counter) {
    fragment.flags |= WEIR_SOURCE_HAS_COUNTER;
    fragment.counter = *stamp.counter;
  }
  if (!stamp.time_ns) return;
  fragment.flags |= WEIR_SOURCE_HAS_TIME;
  fragment.time_ns = *stamp.time_ns;
  fragment.duration_ns = stamp.duration_ns;
}

}  // namespace source_detail

// Makes each fragment when its slice is announced.
class SyncSource : public Source {
 public:
  using Source::Source;
  // Must not wait. SourceBytes::not_produced(): no data exist. An exception is a lost fragment.
  virtual SourceBytes make(std::uint32_t source, const weir_source_trigger& trigger) = 0;
};

// Delivers fragments when they arrive.
class AsyncSource : public Source {
 public:
  using Source::Source;
  // Does a bounded piece of work: see weir_source_plugin::poll.
  virtual void poll(std::int64_t now_ns) = 0;
  [[nodiscard]] virtual int fd() const { return -1; }
  virtual void announced(const weir_source_trigger& /*trigger*/) {}

 protected:
  // Returns WEIR_DELIVER_...; in any case the bytes are passed on.
  std::int32_t deliver(std::uint32_t source, std::uint64_t slice, SourceBytes bytes,
                       std::uint8_t status = WEIR_SOURCE_OK) const {
    weir_source_fragment fragment{};
    fragment.struct_size = sizeof fragment;
    fragment.source = source;
    fragment.slice = slice;
    fragment.status = status;
    fragment.data = bytes.bytes.data();
    fragment.length = static_cast<std::uint32_t>(bytes.bytes.size());
    fragment.release = bytes.release;
    fragment.owner = bytes.owner;
    source_detail::put_stamp(bytes.stamp, fragment);
    return host()->deliver(host(), &fragment);
  }
  // Reports that the fragment will not arrive.
  std::int32_t missing(std::uint32_t source, std::uint64_t slice, std::uint8_t reason) const {
    weir_source_fragment fragment{};
    fragment.struct_size = sizeof fragment;
    fragment.source = source;
    fragment.slice = slice;
    fragment.status = WEIR_SOURCE_MISSING;
    fragment.missing_reason = reason;
    return host()->deliver(host(), &fragment);
  }
  void watermark(std::uint32_t source, std::uint64_t slice,
                 std::uint8_t reason = WEIR_SOURCE_NOT_PRODUCED) const {
    host()->watermark(host(), source, slice, reason);
  }
  // Thread-safe.
  void wake() const { host()->wake(host()); }
};

namespace source_detail {

using plugin_detail::at_border;

template <class S>
struct SourceBoundary {
  static constexpr bool kMakes = std::is_base_of_v<SyncSource, S>;
  static_assert(kMakes || std::is_base_of_v<AsyncSource, S>,
                "a source derives from weir::SyncSource or from weir::AsyncSource");
  struct Instance {
    const weir_source_host* host;
    S source;
    explicit Instance(SourceSetup& setup) : host(setup.host()), source(setup) { setup.refuse_unknown(); }
  };
  static Instance* self(void* instance) { return static_cast<Instance*>(instance); }

  // Runs `body`; an exception is logged.
  template <class Body>
  static void logged(void* instance, Body body) noexcept {
    char error[256] = "";
    const bool good = at_border(error, sizeof error, false, [&] {
      body();
      return true;
    });
    if (!good) self(instance)->host->log(self(instance)->host, WEIR_SOURCE_LOG_ERROR, error);
  }

  static void* create(const weir_source_parameters* parameters, const weir_source_readout* readout,
                      const weir_source_host* host, char* error, std::uint32_t size) noexcept {
    return at_border(error, size, static_cast<void*>(nullptr), [&]() -> void* {
      SourceSetup setup(parameters, readout, host);
      return std::make_unique<Instance>(setup).release();
    });
  }
  static std::int32_t begin_run(void* instance, const weir_source_run* run, char* error,
                                std::uint32_t size) noexcept {
    return at_border(error, size, std::int32_t{1}, [&] {
      self(instance)->source.begin_run(*run);
      return std::int32_t{0};
    });
  }
  static void end_run(void* instance) noexcept {
    logged(instance, [&] { self(instance)->source.end_run(); });
  }
  static void destroy(void* instance) noexcept { delete self(instance); }

  static std::int32_t make(void* instance, std::uint32_t source, const weir_source_trigger* trigger,
                           weir_source_fragment* fragment, char* error, std::uint32_t size) noexcept {
    return at_border(error, size, std::int32_t{1}, [&] {
      const SourceBytes bytes = self(instance)->source.make(source, *trigger);
      fragment->data = bytes.bytes.data();
      fragment->length = static_cast<std::uint32_t>(bytes.bytes.size());
      fragment->release = bytes.release;
      fragment->owner = bytes.owner;
      put_stamp(bytes.stamp, *fragment);
      if (bytes.absent) {
        fragment->status = WEIR_SOURCE_MISSING;
        fragment->missing_reason = WEIR_SOURCE_NOT_PRODUCED;
      }
      return std::int32_t{0};
    });
  }
  static void poll(void* instance, std::int64_t now_ns) noexcept {
    logged(instance, [&] { self(instance)->source.poll(now_ns); });
  }
  static std::int32_t fd(void* instance) noexcept {
    return at_border(nullptr, 0, std::int32_t{-1},
                     [&] { return static_cast<std::int32_t>(self(instance)->source.fd()); });
  }
  static void announced(void* instance, const weir_source_trigger* triggers, std::uint32_t count,
                        std::uint32_t stride) noexcept {
    logged(instance, [&] {
      const auto* bytes = reinterpret_cast<const char*>(triggers);
      for (std::uint32_t i = 0; i < count; ++i) {
        self(instance)->source.announced(
            *reinterpret_cast<const weir_source_trigger*>(bytes + std::size_t{i} * stride));
      }
    });
  }

  static constexpr weir_source_plugin plugin(const char* name, const char* version, const char* description) {
    weir_source_plugin plugin{};
    plugin.struct_size = sizeof(weir_source_plugin);
    plugin.abi_version = WEIR_SOURCE_ABI_VERSION;
    plugin.name = name;
    plugin.version = version;
    plugin.description = description;
    plugin.create = &create;
    plugin.begin_run = &begin_run;
    plugin.end_run = &end_run;
    plugin.destroy = &destroy;
    if constexpr (kMakes) {
      plugin.make = &make;
    } else {
      plugin.poll = &poll;
      plugin.fd = &fd;
      plugin.announced = &announced;
    }
    return plugin;
  }
};

}  // namespace source_detail
}  // namespace source_v1
}  // namespace weir

// Makes a shared library a plugin; to be used once per library, at namespace scope. Class is a
// weir::SyncSource or a weir::AsyncSource with a constructor from (weir::SourceSetup&).
#define WEIR_SOURCE_PLUGIN(Class, name, version, description)                             \
  extern "C" WEIR_SOURCE_EXPORT const weir_source_plugin* weir_source_plugin_v1(void) {   \
    static constexpr weir_source_plugin plugin =                                          \
        ::weir::source_detail::SourceBoundary<Class>::plugin(name, version, description); \
    return &plugin;                                                                       \
  }
