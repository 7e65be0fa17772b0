#pragma once

#include <weir/base/expected.hpp>
#include <weir/slice_codec/bad_row.hpp>
#include <weir/wire/frame.hpp>

namespace weir::node {

// The error of a frame handler for a message with a bad row.
[[nodiscard]] inline Unexpected<wire::WireError> refused(const slice_codec::BadRow&) {
  return Unexpected<wire::WireError>(wire::WireError::bad_payload);
}

}  // namespace weir::node
