#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/base/expected.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/frame.hpp>

#include <vector>

namespace weir::dcm {

// One row of what the supervisor confirms.
struct ConfirmedSlice {
  SliceId slice;
  Attempt attempt;
  v1::Confirmation code = v1::CONFIRMATION_REFUSED;
  StoreEpoch epoch;
  NodeIndex writer;
};

// What a frame's handler answers to contents that are not what was agreed.
[[nodiscard]] inline Unexpected<wire::WireError> bad_payload() {
  return Unexpected<wire::WireError>(wire::WireError::bad_payload);
}

// The supervisor's columns as rows; bad_payload where columns differ in length. What a row says may still be
// nonsense.
[[nodiscard]] Expected<std::vector<assembly::Assignment>, wire::WireError> assignments_of(
    const v1::Assign& assign);
[[nodiscard]] Expected<std::vector<ConfirmedSlice>, wire::WireError> confirmations_of(
    const v1::Confirm& confirm);

}  // namespace weir::dcm
