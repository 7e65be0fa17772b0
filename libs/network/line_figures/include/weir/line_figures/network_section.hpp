#pragma once

#include <optional>
#include <string>

namespace weir::line_figures {

// The measured properties of a line that a farm file states.
struct LineFigures {
  double rate_bits_per_s = 0;  // 0: unknown
  bool rate_is_lower_bound = false;
  std::optional<double> buffer_bytes;
  bool buffer_of_sender = false;  // the queue was the sender's own
  double round_trip_us = 0;       // 0: unknown
};

// Returns the `network:` section of a farm file, with its keys port_rate, port_buffer and round_trip_us. A
// bound, or a queue of the sender itself, becomes a comment.
[[nodiscard]] std::string network_yaml(const LineFigures& figures);

// Returns four digits of a rate in the farm file's form: "199.8mbit".
[[nodiscard]] std::string rate_text(double bits_per_s);
// Returns a buffer in the farm file's form, in whole steps of 1024 bytes from 20 KiB on: "97k".
[[nodiscard]] std::string buffer_text(double bytes);

}  // namespace weir::line_figures
