#include <weir/base/crc32c.hpp>
#include <weir/base/text.hpp>
#include <weir/plugin_loader/guarded.hpp>
#include <weir/source_host/instance.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace weir::source_host {
namespace {

using plugin_loader::guarded;
using plugin_loader::kErrorTextSize;
using plugin_loader::kPluginNameMax;
using plugin_loader::kPluginTextMax;
using plugin_loader::text_of;

constexpr std::size_t kCounterNameMax = 64;

// Returns a fragment's bytes to the plugin, and keeps the plugin alive until then.
struct Held {
  std::shared_ptr<SourceInstance> instance;
  void (*release)(void*) = nullptr;
  void* owner = nullptr;

  Held(std::shared_ptr<SourceInstance> of, const weir_source_fragment& raw)
      : instance(std::move(of)), release(raw.release), owner(raw.owner) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (release != nullptr) release(owner);
  }
};

bool good_reason(std::uint8_t reason) {
  return reason == WEIR_SOURCE_DOWN || reason == WEIR_SOURCE_NOT_PRODUCED || reason == WEIR_SOURCE_DROPPED ||
         reason == WEIR_SOURCE_TOO_LARGE || reason == WEIR_SOURCE_GAP;
}

bool well_formed(const weir_source_fragment& raw) {
  if (raw.status > WEIR_SOURCE_SUPPRESSED) return false;
  if (raw.status == WEIR_SOURCE_MISSING) return good_reason(raw.missing_reason);
  return raw.data != nullptr || raw.length == 0;
}

Stamp stamp_of(const weir_source_fragment& raw) {
  Stamp stamp;
  constexpr auto kEnd = offsetof(weir_source_fragment, duration_ns) + sizeof raw.duration_ns;
  if (raw.struct_size < kEnd) return stamp;
  stamp.has_counter = (raw.flags & WEIR_SOURCE_HAS_COUNTER) != 0;
  stamp.has_time = (raw.flags & WEIR_SOURCE_HAS_TIME) != 0;
  if (stamp.has_counter) stamp.counter = raw.counter;
  if (!stamp.has_time) return stamp;
  stamp.time = raw.time_ns;
  stamp.duration = raw.duration_ns;
  return stamp;
}

void give_back(const weir_source_fragment& raw) {
  if (raw.release != nullptr) raw.release(raw.owner);
}

std::int32_t answer_to(source::Delivery outcome) {
  switch (outcome) {
    case source::Delivery::taken:
      return WEIR_DELIVER_TAKEN;
    case source::Delivery::late:
      return WEIR_DELIVER_LATE;
    case source::Delivery::duplicate:
      return WEIR_DELIVER_DUPLICATE;
    case source::Delivery::too_large:
      return WEIR_DELIVER_TOO_LARGE;
    case source::Delivery::full:
      return WEIR_DELIVER_FULL;
    case source::Delivery::unknown_source:
      break;
  }
  return WEIR_DELIVER_UNKNOWN_SOURCE;
}

class MadeSource final : public source::FragmentSource {
 public:
  MadeSource(SourceId id, std::shared_ptr<SourceInstance> instance)
      : id_(id), instance_(std::move(instance)) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override {
    return instance_->make(id_, trigger);
  }
  [[nodiscard]] Stamp stamp(const source::Trigger&) const override { return instance_->made_stamp(); }

 private:
  SourceId id_;
  std::shared_ptr<SourceInstance> instance_;
};

class ArrivingSource final : public source::FragmentSource {
 public:
  explicit ArrivingSource(SourceId id) : id_(id) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::SourceFragment produce(const source::Trigger&) override {
    source::SourceFragment fragment;
    fragment.status = FragmentStatus::missing;
    fragment.reason = MissingReason::not_produced;
    return fragment;
  }
  [[nodiscard]] Timing timing() const override { return Timing::later; }

 private:
  SourceId id_;
};

}  // namespace

// Called by the plugin: no exception may pass through, and invalid arguments are rejected with an error.
struct SourceInstance::Services {
  static SourceInstance& self(const weir_source_host* host) {
    return *static_cast<SourceInstance*>(host->context);
  }
  static void log(const weir_source_host* host, std::int32_t level, const char* text) noexcept {
    try {
      self(host).write_log(level, text == nullptr ? "" : text);
    } catch (...) {
      ++self(host).log_dropped_;
    }
  }
  static std::uint32_t counter(const weir_source_host* host, const char* name) noexcept {
    SourceInstance& instance = self(host);
    if (name == nullptr || std::strlen(name) > kCounterNameMax) return WEIR_SOURCE_NO_COUNTER;
    try {
      const std::string clean = clean_text(name, kPluginNameMax);
      const std::uint32_t count = instance.counter_count_;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (instance.counters_[i].name == clean) return i;
      }
      if (count == kCountersMax) return WEIR_SOURCE_NO_COUNTER;
      instance.counters_[count].name = clean;
      instance.counter_count_.store(count + 1, std::memory_order_release);
      return count;
    } catch (...) {
      return WEIR_SOURCE_NO_COUNTER;
    }
  }
  static void count(const weir_source_host* host, std::uint32_t counter, std::uint64_t amount) noexcept {
    SourceInstance& instance = self(host);
    if (counter >= instance.counter_count_.load(std::memory_order_acquire)) return;
    instance.counters_[counter].value.fetch_add(amount, std::memory_order_relaxed);
  }
  static std::int32_t deliver(const weir_source_host* host, const weir_source_fragment* fragment) noexcept {
    if (fragment == nullptr) return WEIR_DELIVER_BAD;
    try {
      return self(host).deliver(*fragment);
    } catch (...) {
      return WEIR_DELIVER_FULL;
    }
  }
  static void watermark(const weir_source_host* host, std::uint32_t source, std::uint64_t slice,
                        std::uint8_t reason) noexcept {
    SourceInstance& instance = self(host);
    if (!instance.may_tell() || !instance.serves(source)) {
      ++instance.refused_;
      return;
    }
    const auto why = good_reason(reason) ? static_cast<MissingReason>(reason) : MissingReason::not_produced;
    try {
      instance.arrivals_->on_watermark(SourceId(source), SliceId(slice), why);
    } catch (...) {
      ++instance.refused_;
    }
  }
  static void time_passed(const weir_source_host* host, std::uint32_t source, std::int64_t time_ns,
                          std::uint8_t reason) noexcept {
    SourceInstance& instance = self(host);
    if (!instance.may_tell() || !instance.serves(source)) {
      ++instance.refused_;
      return;
    }
    try {
      instance.arrivals_->on_time_passed(SourceId(source), time_ns, reason == WEIR_SOURCE_GAP);
    } catch (...) {
      ++instance.refused_;
    }
  }
  static void losses(const weir_source_host* host, std::uint32_t source, std::uint64_t reached,
                     std::uint64_t lost, const char* reason) noexcept {
    SourceInstance& instance = self(host);
    const bool all = source == WEIR_SOURCE_ALL;
    if (!instance.may_tell() || (!all && !instance.serves(source))) {
      ++instance.refused_;
      return;
    }
    try {
      instance.arrivals_->on_losses(all ? std::nullopt : std::optional(SourceId(source)), reached, lost,
                                    clean_text(reason == nullptr ? "" : reason, kPluginNameMax));
    } catch (...) {
      ++instance.refused_;
    }
  }
  static void fault(const weir_source_host* host, const char* text) noexcept {
    SourceInstance& instance = self(host);
    if (!instance.may_tell() || text == nullptr) {
      ++instance.refused_;
      return;
    }
    try {
      instance.arrivals_->on_fault(clean_text(text, kPluginTextMax));
    } catch (...) {
      ++instance.refused_;
    }
  }
  static void wake(const weir_source_host* host) noexcept {
    SourceInstance& instance = self(host);
    const std::lock_guard lock(instance.wake_mutex_);
    if (instance.config_.wake) instance.config_.wake();
  }
};

SourceInstance::SourceInstance(std::shared_ptr<const SourcePlugin> plugin, InstanceConfig config,
                               Arrivals& arrivals)
    : plugin_(std::move(plugin)),
      config_(std::move(config)),
      arrivals_(&arrivals),
      thread_(std::this_thread::get_id()) {
  for (const SourceId source : config_.sources) sources_.push_back(source.value);
  readout_ = {sizeof readout_,
              config_.readout_index,
              config_.readout_name.c_str(),
              sources_.data(),
              static_cast<std::uint32_t>(sources_.size()),
              config_.fragment_bytes_max};
  host_ = {sizeof host_,       WEIR_SOURCE_ABI_VERSION, this,
           &Services::log,     &Services::counter,      &Services::count,
           &Services::deliver, &Services::watermark,    &Services::wake,
           &Services::losses,  &Services::fault,        &Services::time_passed};
}

Expected<std::shared_ptr<SourceInstance>, SourceError> SourceInstance::create(
    std::shared_ptr<const SourcePlugin> plugin, InstanceConfig config, Arrivals& arrivals) {
  const std::shared_ptr<SourceInstance> instance(
      new SourceInstance(std::move(plugin), std::move(config), arrivals));
  if (auto opened = instance->open(); !opened) return Unexpected<SourceError>(std::move(opened.error()));
  return instance;
}

Expected<void, SourceError> SourceInstance::open() {
  std::vector<weir_source_parameter> table;
  for (const auto& [name, value] : config_.parameters) table.push_back({name.c_str(), value.c_str()});
  const weir_source_parameters parameters{sizeof parameters, static_cast<std::uint32_t>(table.size()),
                                          sizeof(weir_source_parameter), 0, table.data()};
  char error[kErrorTextSize] = "";
  const weir_source_plugin& functions = plugin_->functions();
  guarded(error,
          [&] { instance_ = functions.create(&parameters, &readout_, &host_, error, kErrorTextSize); });
  if (instance_ == nullptr) {
    return Unexpected<SourceError>(SourceError{SourceErrorCode::create_failed,
                                               "source plugin '" + plugin_->name() + "': " + text_of(error)});
  }
  if (functions.fd != nullptr) guarded(error, [&] { fd_ = functions.fd(instance_); });
  return {};
}

SourceInstance::~SourceInstance() {
  if (instance_ == nullptr) return;
  char error[kErrorTextSize] = "";
  guarded(error, [&] { plugin_->functions().destroy(instance_); });
}

Expected<void, SourceError> SourceInstance::begin_run(RunNumber run, SliceId first_slice) {
  {
    const std::lock_guard lock(wake_mutex_);
    log_lines_ = 0;
  }
  in_run_ = true;
  if (plugin_->functions().begin_run == nullptr) return {};
  const weir_source_run begin{sizeof begin, run.value, first_slice.value};
  char error[kErrorTextSize] = "";
  std::int32_t status = 1;
  guarded(error, [&] { status = plugin_->functions().begin_run(instance_, &begin, error, kErrorTextSize); });
  if (status == 0) return {};
  in_run_ = false;
  return Unexpected<SourceError>(
      SourceError{SourceErrorCode::begin_run_failed,
                  "source plugin '" + plugin_->name() + "' refuses the run: " + text_of(error)});
}

void SourceInstance::end_run() {
  if (!in_run_) return;
  char error[kErrorTextSize] = "";
  const auto set_ending = [this](bool on) {
    const std::lock_guard lock(wake_mutex_);
    return std::exchange(ending_, on) ? end_error_ : std::exchange(end_error_, {});
  };
  (void)set_ending(true);
  if (plugin_->functions().end_run != nullptr &&
      !guarded(error, [&] { plugin_->functions().end_run(instance_); })) {
    write_log(WEIR_SOURCE_LOG_ERROR, text_of(error));
  }
  const std::string why = set_ending(false);
  if (!why.empty() && arrivals_ != nullptr)
    arrivals_->on_fault("source plugin '" + plugin_->name() + "' could not end the run: " + why);
  in_run_ = false;
}

void SourceInstance::detach() {
  end_run();
  arrivals_ = nullptr;
  const std::lock_guard lock(wake_mutex_);
  config_.wake = nullptr;
}

void SourceInstance::poll(TimeNs now_ns) {
  if (!in_run_ || plugin_->functions().poll == nullptr) return;
  char error[kErrorTextSize] = "";
  if (guarded(error, [&] { plugin_->functions().poll(instance_, now_ns); })) return;
  write_log(WEIR_SOURCE_LOG_ERROR, text_of(error));
}

void SourceInstance::announced(std::span<const source::Trigger> triggers) {
  if (!in_run_ || plugin_->functions().announced == nullptr || triggers.empty()) return;
  triggers_.clear();
  for (const source::Trigger& trigger : triggers) {
    triggers_.push_back({trigger.slice.value, trigger.time, trigger.duration, trigger.type.value, 0});
  }
  char error[kErrorTextSize] = "";
  const bool good = guarded(error, [&] {
    plugin_->functions().announced(instance_, triggers_.data(), static_cast<std::uint32_t>(triggers_.size()),
                                   sizeof(weir_source_trigger));
  });
  if (!good) write_log(WEIR_SOURCE_LOG_ERROR, text_of(error));
}

source::SourceFragment SourceInstance::make(SourceId source, const source::Trigger& trigger) {
  weir_source_fragment raw{};
  raw.struct_size = sizeof raw;
  raw.source = source.value;
  raw.slice = trigger.slice.value;
  const weir_source_trigger asked{trigger.slice.value, trigger.time, trigger.duration, trigger.type.value, 0};
  char error[kErrorTextSize] = "";
  std::int32_t status = 1;
  guarded(error, [&] {
    status = plugin_->functions().make(instance_, source.value, &asked, &raw, error, kErrorTextSize);
  });
  made_stamp_ = stamp_of(raw);
  if (status == 0 && well_formed(raw)) return fragment_of(raw);
  if (status == 0) {
    give_back(raw);
    ++refused_;
  } else {
    ++make_failed_;
    ++make_failed_of_[source];
    write_log(WEIR_SOURCE_LOG_ERROR, "slice " + std::to_string(trigger.slice.value) + ", source " +
                                         std::to_string(source.value) + ": " + text_of(error));
  }
  source::SourceFragment none;
  none.status = FragmentStatus::missing;
  none.reason = MissingReason::not_produced;
  return none;
}

source::SourceFragment SourceInstance::fragment_of(const weir_source_fragment& raw) {
  source::SourceFragment fragment;
  fragment.status = static_cast<FragmentStatus>(raw.status);
  // Made first, so that the bytes are returned in any case.
  fragment.owner = std::make_shared<const Held>(shared_from_this(), raw);
  if (fragment.status == FragmentStatus::missing) {
    fragment.reason = static_cast<MissingReason>(raw.missing_reason);
    fragment.owner.reset();
    return fragment;
  }
  fragment.bytes = {static_cast<const std::byte*>(raw.data), raw.length};
  if (!config_.checksums) return fragment;
  fragment.crc32c = (raw.flags & WEIR_SOURCE_HAS_CRC32C) != 0 ? raw.crc32c : crc32c(fragment.bytes);
  return fragment;
}

std::int32_t SourceInstance::deliver(const weir_source_fragment& raw) {
  std::int32_t refusal = WEIR_DELIVER_TAKEN;
  if (makes() || !may_tell()) {
    refusal = WEIR_DELIVER_NOT_NOW;
  } else if (!well_formed(raw)) {
    refusal = WEIR_DELIVER_BAD;
  } else if (!serves(raw.source)) {
    refusal = WEIR_DELIVER_UNKNOWN_SOURCE;
  }
  if (refusal != WEIR_DELIVER_TAKEN) {
    give_back(raw);
    ++refused_;
    return refusal;
  }
  return answer_to(
      arrivals_->on_fragment(SourceId(raw.source), SliceId(raw.slice), fragment_of(raw), stamp_of(raw)));
}

bool SourceInstance::may_tell() const {
  // The thread first: the rest belongs to it.
  return std::this_thread::get_id() == thread_ && in_run_ && arrivals_ != nullptr;
}

bool SourceInstance::serves(std::uint32_t source) const {
  return std::binary_search(sources_.begin(), sources_.end(), source);
}

void SourceInstance::write_log(std::int32_t level, std::string_view text) {
  if (!config_.log) return;
  const std::lock_guard lock(wake_mutex_);
  if (ending_ && level >= WEIR_SOURCE_LOG_ERROR && end_error_.empty())
    end_error_ = clean_text(text, kPluginTextMax);
  if (log_lines_ >= config_.log_lines_max) {
    ++log_dropped_;
    return;
  }
  ++log_lines_;
  config_.log(level, clean_text(text, kPluginTextMax));
}

std::map<std::string, std::uint64_t> SourceInstance::counters() const {
  std::map<std::string, std::uint64_t> all;
  for (std::uint32_t i = 0; i < counter_count_; ++i) all[counters_[i].name] += counters_[i].value;
  if (refused_ > 0) all["refused"] = refused_;
  if (make_failed_ > 0) all["make_failed"] = make_failed_;
  if (log_dropped_ > 0) all["log_dropped"] = log_dropped_;
  return all;
}

std::vector<std::unique_ptr<source::FragmentSource>> make_sources(
    const std::shared_ptr<SourceInstance>& instance, std::span<const SourceId> sources) {
  std::vector<std::unique_ptr<source::FragmentSource>> list;
  for (const SourceId id : sources) {
    if (instance->makes()) {
      list.push_back(std::make_unique<MadeSource>(id, instance));
    } else {
      list.push_back(std::make_unique<ArrivingSource>(id));
    }
  }
  return list;
}

}  // namespace weir::source_host
