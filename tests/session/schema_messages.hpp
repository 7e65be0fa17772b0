#pragma once

#include "random_messages.hpp"

#include <string>
#include <vector>

// Messages that no honest peer sends, made from the schema: a body or a field that is added is covered at
// once.
namespace weir::session_test {

// Names of all bodies of Control, in the schema's order.
[[nodiscard]] const std::vector<std::string>& control_bodies();
// Makes a message with this body: fields are missing, huge, repeated, negative, or beyond the range of an
// enum; some have plausible slices, and lists of equal length, so that they pass the first checks.
[[nodiscard]] v1::Control hostile_control(Random& random, const Surroundings& around,
                                          const std::string& body);

}  // namespace weir::session_test
