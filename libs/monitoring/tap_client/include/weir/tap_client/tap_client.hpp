#pragma once

#include <weir/base/time.hpp>
#include <weir/bus/client.hpp>
#include <weir/storage/slice_record.hpp>
#include <weir/tap/tally.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::tap_client {

struct TapSettings {
  bus::ClientSettings control;         // run control; an observer's key is enough
  std::vector<std::string> streams;    // raw, accepted, default, debug
  std::uint32_t every = 1;             // one in `every` slices of each stream, at each DCM
  std::vector<std::uint32_t> sources;  // wanted fragments; empty: all
  DurationNs answer_ns = 5 * kSecond;  // time limit for run control's answer
  int queue_max = 1000;                // samples waiting here; more are lost, and counted
};

struct SampledSlice {
  std::string stream;
  std::string dcm;
  tap::SampleHead head;
  storage::SliceRecordView record;  // refers to `bytes`
  std::shared_ptr<const std::string> bytes;
};

// Receives samples of all runs as long as it exists. Used from one thread, which has to call take() more
// often than a third of the farm's tap.lease_s; otherwise the tap ends until the next call.
class TapClient {
 public:
  // Throws std::runtime_error if run control does not answer or refuses.
  explicit TapClient(TapSettings settings);
  // Ends the tap.
  ~TapClient();
  TapClient(const TapClient&) = delete;
  TapClient& operator=(const TapClient&) = delete;

  // Returns nothing if no sample arrives within that time, or on a signal. Throws if run control refuses from
  // now on.
  [[nodiscard]] std::optional<SampledSlice> take(DurationNs wait);
  [[nodiscard]] const tap::Tally& tally() const;
  // Returns the DCMs that received the last request; 0: no run.
  [[nodiscard]] std::uint32_t dcms() const;
  // Returns how long run control has not answered.
  [[nodiscard]] DurationNs unanswered_ns() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::tap_client
