#pragma once

#include <weir/slice_rows/words.hpp>

#include <cstdint>
#include <string>

namespace weir::assignment {

using namespace slice_rows;

enum class AssignmentError : std::uint8_t { unknown_name, bad_setting };

// An expected failure, with a message for the operator.
struct AssignmentFailure {
  AssignmentError error = AssignmentError::bad_setting;
  std::string message;
};

}  // namespace weir::assignment
