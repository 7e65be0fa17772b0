#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_host/lane.hpp>
#include <weir/v1/worker.pb.h>
#include <weir/worker_pool/worker_pool.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir::filter_host {

// One life of a filter worker, as its DCM sees it. Its lane is its own; slices lent to it are free when end()
// has a value, and not before.
class WorkerProcess {
 public:
  virtual ~WorkerProcess() = default;

  [[nodiscard]] virtual const LaneView& lane() const = 0;
  // Over the control connection. A message that does not arrive shows as silence.
  virtual void send(const v1::WorkerMessage& message) = 0;
  // The next message; false: none has arrived.
  [[nodiscard]] virtual bool receive(v1::WorkerMessage& message) = 0;
  // It has slices, or room for results.
  virtual void wake() = 0;
  // The worker destroys its filter and exits. It is killed if that takes longer than a few seconds.
  virtual void end_in_order() = 0;
  virtual void kill(bool hard) = 0;
  // How it ended; empty while it may live.
  [[nodiscard]] virtual std::optional<worker_pool::WorkerEnd> end() = 0;
  [[nodiscard]] virtual std::int64_t pid() const = 0;
};

// Where workers come from: processes of this machine, or a simulation.
class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  // An error is a sentence.
  [[nodiscard]] virtual Expected<std::unique_ptr<WorkerProcess>, std::string> start(
      const LaneLayout& layout) = 0;
  // Limits the memory of each worker that is started from now on. Returns why the host cannot: the workers
  // then limit themselves.
  [[nodiscard]] virtual std::string limit_memory(std::uint64_t /*bytes*/) { return "no control groups"; }
  // Hands each worker that is started from now on a copy of these bytes: its plugin's library. Returns why
  // the host cannot; empty: it can.
  [[nodiscard]] virtual std::string share_library(const std::string& /*bytes*/) { return {}; }
  // Returns when a message or an end may have come in, and after `patience_ns` at the latest.
  virtual void wait(DurationNs patience_ns) = 0;
  // False when nothing has come in since the last call, at the price of at most one system call.
  [[nodiscard]] virtual bool has_news() = 0;
  [[nodiscard]] virtual TimeNs now_ns() const = 0;
};

}  // namespace weir::filter_host
