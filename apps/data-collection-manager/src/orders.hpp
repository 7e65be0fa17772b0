#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/base/expected.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/frame.hpp>

#include <vector>

namespace weir::dcm {

// One row of the supervisor's confirmations.
struct ConfirmedSlice {
  SliceId slice;
  Attempt attempt;
  v1::Confirmation code = v1::CONFIRMATION_REFUSED;
  StoreEpoch epoch;
  NodeIndex writer;
};

// The error of a frame handler for unexpected contents.
[[nodiscard]] inline Unexpected<wire::WireError> bad_payload() {
  return Unexpected<wire::WireError>(wire::WireError::bad_payload);
}

// Converts the supervisor's columns to rows. Errors: bad_payload if columns differ in length. The values are
// not checked.
[[nodiscard]] Expected<std::vector<assembly::AssignedSlice>, wire::WireError> assignments_of(
    const v1::Assign& assign);
[[nodiscard]] Expected<std::vector<ConfirmedSlice>, wire::WireError> confirmations_of(
    const v1::Confirm& confirm);

}  // namespace weir::dcm
