#pragma once

#include "event_log.hpp"
#include "farm_setup.hpp"
#include "members.hpp"
#include "orders.hpp"
#include "run_book.hpp"
#include <weir/base/time.hpp>
#include <weir/control/farm_machine.hpp>

namespace weir::run_control {

// What commands, rules and reception work on, for operators, by themselves and for processes: each part keeps
// its own state, and `actions` gathers what the machine wants done about it, until the turn's end.
struct Parts {
  FarmSetup& setup;
  EventLog& log;
  RunBook& book;
  control::FarmMachine& machine;
  Members& members;
  Orders& orders;
  control::Actions actions = {};
  TimeNs now_ns = 0;
};

}  // namespace weir::run_control
