#pragma once

#include "farm_setup.hpp"
#include "members.hpp"
#include "run_book.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <functional>
#include <string>

namespace weir::run_control {

// Sends orders to processes: the machine's, with all their parameters, and others without an awaited answer.
class Orders {
 public:
  using Send = std::function<void(const std::string& client, const v1::BusMessage& message)>;
  // Requires: all arguments outlive it.
  Orders(const control::FarmMachine& machine, const Members& members, const FarmSetup& setup,
         const RunBook& book, Send send)
      : machine_(machine), members_(members), setup_(setup), book_(book), send_(std::move(send)) {}

  void send(const control::Order& order) const;
  // Sends an order that the farm machine did not give.
  void tell(std::size_t member, v1::Order order);
  // Sends a command to the supervisor of the present run; no effect without one.
  void tell_supervisor(const v1::Command& command);
  // The members that were removed from the farm: a supervisor that was started again in its run would take
  // all back.
  void tell_who_is_out();
  // True if an answer belongs to a tell().
  [[nodiscard]] static bool is_tell(std::uint64_t id) { return id >= kFirst; }

 private:
  static constexpr std::uint64_t kFirst = 1ULL << 62U;

  const control::FarmMachine& machine_;
  const Members& members_;
  const FarmSetup& setup_;
  const RunBook& book_;
  Send send_;
  std::uint64_t told_ = 0;
};

}  // namespace weir::run_control
