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
  std::vector<std::uint32_t> sources;  // whose bytes are wanted; empty: all
  DurationNs answer_ns = 5 * kSecond;  // run control's time for an answer
  int queue_max = 1000;                // samples that wait here; beyond, they are lost, counted
};

struct SampledSlice {
  std::string stream;
  std::string dcm;
  tap::SampleHead head;
  storage::SliceRecordView record;  // refers to `bytes`
  std::shared_ptr<const std::string> bytes;
};

// Samples of whatever runs are on while it lives. Used from one thread, which has to call take() more often
// than a third of the farm's tap.lease_s, or the tap ends until it does.
class TapClient {
 public:
  // Throws std::runtime_error, a sentence, when run control does not answer or refuses.
  explicit TapClient(TapSettings settings);
  // Ends the tap.
  ~TapClient();
  TapClient(const TapClient&) = delete;
  TapClient& operator=(const TapClient&) = delete;

  // Empty: nothing came within that time, or a signal did. Throws when run control refuses from now on.
  [[nodiscard]] std::optional<SampledSlice> take(DurationNs wait);
  [[nodiscard]] const tap::Tally& tally() const;
  // That heard of it when it was last said; 0: no run is on.
  [[nodiscard]] std::uint32_t dcms() const;
  // How long run control has not answered.
  [[nodiscard]] DurationNs unanswered_ns() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::tap_client
