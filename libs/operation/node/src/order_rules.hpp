#pragma once

#include <weir/base/ids.hpp>
#include <weir/control/states.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::node {

// The process that receives an order.
struct OrderContext {
  std::string_view name;
  std::string_view quits;  // why the process ends; empty: it does not
  control::State state = control::State::idle;
  std::optional<RunNumber> prepared;  // the run that the node prepares
  std::optional<RunNumber> run;       // the run of the node, if it has one
};

struct OrderVerdict {
  enum class Action : std::uint8_t {
    hold,        // until the node has prepared its run
    relay,       // to the node
    set_level,   // of the log
    restart,     // of the process
    join_start,  // answered with the `start` that is being carried out
    reply,       // with `error`; empty: it was carried out before
    carry_out,   // `command`
  };
  Action action = Action::reply;
  control::Command command = control::Command::init;
  std::string error = {};
};

// Judges an order of run control, which repeats orders after its restart. Pure.
[[nodiscard]] OrderVerdict judge(const v1::Order& order, const OrderContext& process);

}  // namespace weir::node
