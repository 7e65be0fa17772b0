#include <weir/node/refused.hpp>

#include <spdlog/spdlog.h>

namespace weir::node {

Unexpected<wire::WireError> refused(const slice_codec::BadRow& bad) {
  spdlog::error("message refused message={} column={} row={}", bad.message, bad.column, bad.row);
  return Unexpected<wire::WireError>(wire::WireError::bad_payload);
}

}  // namespace weir::node
