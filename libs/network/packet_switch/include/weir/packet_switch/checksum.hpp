#pragma once

#include <weir/base/bytes.hpp>

namespace weir::packet_switch {

// Returns whether the sender of an IPv4 frame left the checksum of TCP or UDP to a card: the checksum's field
// has the sum of the pseudo header only (as in Linux' CHECKSUM_PARTIAL), and the whole is wrong. Pure.
[[nodiscard]] bool lacks_checksum(ConstBytes frame);

}  // namespace weir::packet_switch
