#pragma once

#include <weir/base/expected.hpp>
#include <weir/slice_codec/bad_row.hpp>
#include <weir/wire/frame.hpp>

namespace weir::node {

// Logs why a message is refused, and returns the error of its frame handler: the connection ends, and is
// counted as a protocol error.
[[nodiscard]] Unexpected<wire::WireError> refused(const slice_codec::BadRow& bad);

}  // namespace weir::node
