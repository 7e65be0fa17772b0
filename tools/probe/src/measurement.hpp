#pragma once

#include "client.hpp"
#include <weir/line_figures/flood.hpp>
#include <weir/line_figures/network_section.hpp>
#include <weir/line_figures/paused.hpp>
#include <weir/line_figures/samples.hpp>
#include <weir/probe/probe.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weir::probe {

struct NamedSeries {
  std::string name;
  Series series;
};

struct SpacedStream {
  std::uint16_t payload_bytes = 0;
  double spacing_us = 0;  // wanted
  double load = 0;        // of the line's rate, as sent
  line_figures::DatagramCounts counts;
};

// The tries to fill the port's buffer while the port was paused.
struct PausedTries {
  std::uint16_t payload_bytes = 0;
  line_figures::FrameSizes frame;
  std::vector<line_figures::PausedFigures> tries;
};

struct MessagePoint {
  std::uint32_t bytes = 0;
  MessageTimes times;
};

// All that a probe has measured.
struct Measurement {
  std::string server;
  std::size_t servers = 1;
  std::vector<double> round_trip_us;  // of echoes, without the server's own time
  std::uint32_t echoes = 0;
  double handshake_us = 0;  // the kernel's least round trip of the connection; 0: unknown
  std::uint16_t payload_bytes = 0;
  line_figures::FrameSizes frame;
  std::optional<line_figures::FloodFigures> flood;
  std::optional<line_figures::FloodFigures> own_queue;  // of a flood that may fill the server's output queue
  std::uint16_t small_payload_bytes = 0;
  std::optional<line_figures::FloodFigures> small_flood;  // of short frames
  std::uint64_t dropped_here = 0;                         // in all floods
  std::vector<PausedTries> paused;                        // of full and of short frames
  std::string pause_refusal;                              // why this host sends no pause frames
  std::vector<SpacedStream> spaced;
  std::vector<NamedSeries> series;
  IdleRestart idle_restart = IdleRestart::unknown;
  bool changed_idle_restart = false;
  std::vector<MessagePoint> messages;
};

// Measures the line from the first server. Throws PeerError, with the server's address before the reason, and
// std::invalid_argument.
[[nodiscard]] Measurement measure(const ProbeOptions& options);

// Returns the buffer of full frames that pausing the port shows.
[[nodiscard]] std::optional<double> paused_buffer(const Measurement& measurement);
// Returns the measured properties for a farm file.
[[nodiscard]] line_figures::LineFigures line_of(const Measurement& measurement);

}  // namespace weir::probe
