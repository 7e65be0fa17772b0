#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>
#include <weir/wire/frame.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weir::capture {

// A frame described for people, and the facts that a decoder needs.
struct FrameText {
  std::string line;             // "request entries=2 slices=17,18"
  std::string message;          // of a control frame: the whole message on one line; empty for other frames
  std::vector<SliceId> slices;  // all slices that the frame mentions, in its order
  std::string name;             // of a hello: the sender's name; empty for other frames
};

// Describes a frame. `payload` is empty for fragments and records. Errors in the payload are described, too.
[[nodiscard]] FrameText describe(const wire::FrameHeader& header, ConstBytes payload);
// Describes a control message that may have been sent in several frames. `frames`: their number.
[[nodiscard]] FrameText describe_control(ConstBytes message, std::size_t frames);

}  // namespace weir::capture
