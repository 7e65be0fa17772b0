#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/stamp.hpp>
#include <weir/base/time.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/source_host/plugin.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace weir::source_host {

// Receives a plugin's fragments and its reports on front-ends. Called from inside poll(), announced(),
// begin_run(), make() and end_run().
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  virtual source::Delivery on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                                       const Stamp& stamp) = 0;
  virtual void on_watermark(SourceId source, SliceId slice, MissingReason reason) = 0;
  // The source delivers nothing more that begins before `time` of its clock. `gap`: it may have lost some.
  virtual void on_time_passed(SourceId /*source*/, UtcNs /*time*/, bool /*gap*/) {}
  // Pieces that reached a source (none: an unknown one), and how many of them the plugin dropped.
  virtual void on_losses(std::optional<SourceId> /*source*/, std::uint64_t /*reached*/,
                         std::uint64_t /*lost*/, std::string_view /*reason*/) {}
  // One line of text.
  virtual void on_fault(std::string_view /*text*/) {}
};

struct InstanceConfig {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<SourceId> sources;  // sorted
  std::string readout_name;
  std::uint32_t readout_index = 0;
  std::uint32_t fragment_bytes_max = UINT32_MAX;
  bool checksums = true;
  std::function<void()> wake;                                          // called on any thread
  std::function<void(std::int32_t level, std::string_view text)> log;  // WEIR_SOURCE_LOG_..., any thread
  std::uint32_t log_lines_max = 1000;                                  // per run; further ones are counted
};

// One instance of a plugin: the front-end of one readout. Not thread-safe, except as stated in
// InstanceConfig. Fragments being sent keep it alive: it is destroyed, and the library unloaded, with the
// last one.
class SourceInstance : public std::enable_shared_from_this<SourceInstance> {
 public:
  static constexpr std::size_t kCountersMax = 256;

  // Requires: `arrivals` is valid until detach().
  [[nodiscard]] static Expected<std::shared_ptr<SourceInstance>, SourceError> create(
      std::shared_ptr<const SourcePlugin> plugin, InstanceConfig config, Arrivals& arrivals);
  ~SourceInstance();
  SourceInstance(const SourceInstance&) = delete;
  SourceInstance& operator=(const SourceInstance&) = delete;

  [[nodiscard]] const SourcePlugin& plugin() const { return *plugin_; }
  // Returns true if the plugin makes fragments on request instead of delivering them.
  [[nodiscard]] bool makes() const { return plugin_->functions().make != nullptr; }
  // Returns a descriptor to wait on for reading; -1: none.
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool in_run() const { return in_run_; }

  [[nodiscard]] Expected<void, SourceError> begin_run(RunNumber run, SliceId first_slice);
  void end_run();
  void poll(TimeNs now_ns);
  void announced(std::span<const source::Trigger> triggers);
  // Makes a fragment; one that the plugin cannot make is missing, not_produced. Requires: makes().
  [[nodiscard]] source::SourceFragment make(SourceId source, const source::Trigger& trigger);
  // Returns the stamp of the fragment that make() returned last.
  [[nodiscard]] const Stamp& made_stamp() const { return made_stamp_; }
  // The readout ends: no more deliveries or wake-ups. Ends a current run.
  void detach();

  // Returns the plugin's counters by name, and: log_dropped (lines beyond log_lines_max), refused (wrong
  // deliveries), make_failed.
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;
  // Returns the fragments that the plugin could not make, by source; sources without any are left out.
  [[nodiscard]] const std::map<SourceId, std::uint64_t>& make_failed() const { return make_failed_of_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Services;
  SourceInstance(std::shared_ptr<const SourcePlugin> plugin, InstanceConfig config, Arrivals& arrivals);
  [[nodiscard]] Expected<void, SourceError> open();
  void write_log(std::int32_t level, std::string_view text);
  [[nodiscard]] std::int32_t deliver(const weir_source_fragment& fragment);
  [[nodiscard]] source::SourceFragment fragment_of(const weir_source_fragment& raw);
  [[nodiscard]] bool serves(std::uint32_t source) const;
  [[nodiscard]] bool may_tell() const;  // on this thread, at this time

  std::shared_ptr<const SourcePlugin> plugin_;
  InstanceConfig config_;
  Arrivals* arrivals_;
  std::vector<std::uint32_t> sources_;
  weir_source_readout readout_{};
  weir_source_host host_{};
  void* instance_ = nullptr;
  int fd_ = -1;
  bool in_run_ = false;
  std::thread::id thread_;
  struct NamedCount {
    std::string name;
    std::atomic<std::uint64_t> value{0};
  };
  // Fixed in size: threads of the plugin count while the readout's thread adds a name.
  std::unique_ptr<NamedCount[]> counters_ = std::make_unique<NamedCount[]>(kCountersMax);
  std::atomic<std::uint32_t> counter_count_{0};
  std::atomic<std::uint64_t> refused_{0};  // also counted on threads that may not deliver
  std::uint64_t make_failed_ = 0;
  std::atomic<std::uint64_t> log_dropped_{0};
  std::map<SourceId, std::uint64_t> make_failed_of_;
  std::uint32_t log_lines_ = 0;  // guarded by wake_mutex_, as are the next two
  bool ending_ = false;          // end_run() is under way
  std::string end_error_;        // the first error that it logged
  std::vector<weir_source_trigger> triggers_;
  Stamp made_stamp_;
  std::mutex wake_mutex_;  // guards what other threads call: config_.wake and config_.log
};

// Makes one source::Source for each of the instance's sources: with fragments made by the plugin, or
// arriving.
[[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> make_sources(
    const std::shared_ptr<SourceInstance>& instance, std::span<const SourceId> sources);

}  // namespace weir::source_host
