#pragma once

#include <weir/base/ids.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weir::node {

// The account of a supervisor's run for run control: sent once, with the node's summary if there is one.
// Pure.
class AccountDelivery {
 public:
  // A run begins.
  void begin() { *this = {}; }
  void set_summary(const v1::RunSummary& summary) { summary_ = summary; }
  // Returns true if the account can be sent before the node has finished.
  [[nodiscard]] bool has_summary() const { return state_ == State::open && summary_.has_value(); }
  [[nodiscard]] bool is_sent() const { return state_ != State::open; }
  // Returns the account to send.
  [[nodiscard]] v1::RunOver take(RunNumber run, const std::string& failure) {
    v1::RunOver over;
    over.set_run(run.value);
    over.set_failure(failure);
    if (summary_) *over.mutable_summary() = std::move(*summary_);
    summary_.reset();
    state_ = State::sent;
    return over;
  }
  // Returns true once, when run control has received the account. `all_received`: run control has all
  // messages.
  [[nodiscard]] bool take_received(bool all_received) {
    if (state_ != State::sent || !all_received) return false;
    state_ = State::received;
    return true;
  }

 private:
  enum class State : std::uint8_t { open, sent, received };
  std::optional<v1::RunSummary> summary_;
  State state_ = State::open;
};

}  // namespace weir::node
