#pragma once

#include "parts.hpp"
#include <weir/v1/bus.pb.h>

#include <boost/json/object.hpp>

#include <optional>
#include <string>

// Accounts of transitions, for the standard input of hooks: docs/hooks.md.
namespace weir::run_control {

// Returns the account before the transition of an operator's or a rule's request.
[[nodiscard]] boost::json::object account_before(const Parts& parts, const v1::Request& request);
// Returns the account after a transition; `ended`: a run with a recorded end.
[[nodiscard]] boost::json::object account_after(const Parts& parts, std::optional<RunNumber> ended);

}  // namespace weir::run_control
