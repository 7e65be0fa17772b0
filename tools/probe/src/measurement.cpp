#include "measurement.hpp"

#include "handshake.hpp"
#include "port_pause.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>

#include <algorithm>
#include <poll.h>

namespace weir::probe {
namespace {

using line_figures::Echo;
using line_figures::FloodFigures;
using line_figures::FloodLimit;
using line_figures::FloodPart;

constexpr DurationNs kEchoSpacingNs = 2 * kMillisecond;
constexpr std::uint32_t kEchoesOfOthers = 50;
constexpr std::uint32_t kEchoesAfterFlood = 20;
constexpr std::uint32_t kFloodLengthsUs[] = {200'000, 600'000, 3'000'000};
constexpr std::uint32_t kStreamCount = kStreamCountMax;
constexpr std::uint16_t kSmallPayload = 365;  // ANTARES 2002, table B.1
constexpr std::size_t kPausedTries = 5;       // as there
constexpr std::uint32_t kPausedLengthsUs[] = {40'000, 200'000, 1'000'000};
constexpr DurationNs kPauseMarginNs = 60 * kMillisecond;  // for the request, and for a server that is late
constexpr int kPauseBeginMs = 2;
constexpr std::uint16_t kSpacedPayloads[] = {64, 512};
constexpr double kSpacedLoads[] = {0.5, 0.9};
constexpr std::uint32_t kSpacedCountMax = 2000;
constexpr double kSpacedSeconds = 0.25;
constexpr std::uint32_t kMessageSizes[] = {64, 1024, 4096, 16384};
constexpr std::uint32_t kMessagesMin = 100;
constexpr std::uint32_t kMessagesOfPoint = 4000;
constexpr double kMessageSeconds = 0.2;
constexpr DurationNs kReconnectNs = 3 * kSecond;
constexpr int kRetryMs = 20;
constexpr double kBitsPerByte = 8;

std::vector<std::unique_ptr<ProbeClient>> connect_all(const std::vector<Address>& servers,
                                                      const ports::Authenticator* key, int receive_buffer) {
  std::vector<std::unique_ptr<ProbeClient>> clients;
  for (const Address& server : servers) {
    // The server may not have noticed yet that our last session has ended.
    const TimeNs until = monotonic_now_ns() + kReconnectNs;
    for (bool connected = false; !connected;) {
      try {
        clients.push_back(std::make_unique<ProbeClient>(ProbeClientSettings{server, key, receive_buffer}));
        connected = true;
      } catch (const PeerError& error) {
        const bool busy = std::string(error.what()).find("busy") != std::string::npos;
        if (!busy || monotonic_now_ns() > until) throw PeerError(server.text() + " " + error.what());
        ::poll(nullptr, 0, kRetryMs);
      }
    }
  }
  return clients;
}

class Measuring {
 public:
  Measuring(const ProbeOptions& options, std::vector<Address> servers,
            std::shared_ptr<const ports::Authenticator> key)
      : options_(options), servers_(std::move(servers)), key_(std::move(key)) {}

  Measurement run() {
    WEIR_ASSERT(!servers_.empty());
    result_.server = servers_.front().text();
    result_.servers = servers_.size();
    clients_ = connect_all(servers_, key_.get(), 0);
    measure_round_trip();
    if (!result_.round_trip_us.empty()) {
      measure_flood();
      if (options_.pause_port) measure_paused();
      if (!options_.line_only) measure_spaced();
    }
    clients_.clear();
    if (options_.line_only) return std::move(result_);
    measure_series();
    measure_messages();
    return std::move(result_);
  }

 private:
  ProbeClient& first() { return *clients_.front(); }

  void measure_round_trip() {
    result_.echoes = options_.echoes;
    idle_transit_ns_.clear();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const std::vector<Echo> echoes =
          clients_[i]->exchange_echoes(i == 0 ? options_.echoes : kEchoesOfOthers, kEchoSpacingNs);
      if (i > 0 && echoes.empty())
        throw PeerError(servers_[i].text() + " answered no datagram: is UDP open?");
      if (!echoes.empty()) idle_transit_ns_.push_back(line_figures::least_transit_ns(echoes));
      for (const Echo& echo : echoes) {
        const DurationNs round_trip = line_figures::round_trip_ns(echo);
        if (i == 0 && round_trip >= 0)
          result_.round_trip_us.push_back(static_cast<double>(round_trip) / kMicrosecond);
      }
    }
    result_.idle_restart = first().welcome().idle_restart;
    result_.handshake_us = first().least_round_trip_us();
  }

  FloodFigures flood(const StreamRequest& stream, const line_figures::FrameSizes& sizes) {
    std::vector<FloodPart> parts = receive_streams(clients_, stream);
    WEIR_ASSERT(parts.size() == idle_transit_ns_.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      // Again, in case that a clock drifts or was disturbed before.
      const std::vector<Echo> echoes = clients_[i]->exchange_echoes(kEchoesAfterFlood, kEchoSpacingNs);
      if (!echoes.empty())
        idle_transit_ns_[i] = std::min(idle_transit_ns_[i], line_figures::least_transit_ns(echoes));
      parts[i].least_transit_ns = idle_transit_ns_[i];
      result_.dropped_here += parts[i].dropped_here;
    }
    return line_figures::flood_figures(parts, sizes);
  }

  // Floods longer and longer until the buffer is full; in batches, if single datagrams do not come fast
  // enough.
  FloodFigures flood_until_full(StreamRequest stream, const line_figures::FrameSizes& sizes) {
    FloodFigures figures;
    for (const std::uint32_t length : kFloodLengthsUs) {
      stream.length_us = length;
      figures = flood(stream, sizes);
      if (figures.buffer_bytes) break;
      if (figures.limit == FloodLimit::sender_output && !stream.fill_own_queue) break;
      if (figures.limit == FloodLimit::sender_cpu && stream.in_batches) break;
      stream.in_batches = !stream.fill_own_queue && figures.lost == 0;
    }
    return figures;
  }

  void measure_flood() {
    StreamRequest stream;
    stream.payload_bytes = result_.payload_bytes = first().full_payload();
    stream.count_max = kStreamCount;
    result_.frame = line_figures::frame_sizes(stream.payload_bytes, first().ip_header());
    result_.flood = flood_until_full(stream, result_.frame);
    if (result_.flood->limit == FloodLimit::sender_output) {
      stream.fill_own_queue = true;
      result_.own_queue = flood_until_full(stream, result_.frame);
      result_.flood->rate_bits_per_s =
          std::max(result_.flood->rate_bits_per_s, result_.own_queue->rate_bits_per_s);
    }
    if (!result_.flood->buffer_bytes && !(result_.own_queue && result_.own_queue->buffer_bytes)) return;
    stream.payload_bytes = result_.small_payload_bytes = kSmallPayload;
    result_.small_flood =
        flood_until_full(stream, line_figures::frame_sizes(kSmallPayload, first().ip_header()));
  }

  // Fills the paused port for longer and longer until it drops frames, then again.
  void measure_paused() {
    try {
      const PortLink link(first().local());
      for (const std::uint16_t payload : {result_.payload_bytes, kSmallPayload}) {
        PausedTries& tries = result_.paused.emplace_back();
        tries.payload_bytes = payload;
        tries.frame = line_figures::frame_sizes(payload, first().ip_header());
        const std::uint32_t* length_us = std::begin(kPausedLengthsUs);
        while (tries.tries.size() < kPausedTries) {
          const line_figures::PausedFigures figures = fill_paused(link, tries, *length_us);
          const bool full = figures.outcome != line_figures::PauseOutcome::not_filled;
          if (!full && std::next(length_us) != std::end(kPausedLengthsUs)) {
            ++length_us;
            continue;
          }
          tries.tries.push_back(figures);
          if (!full || figures.outcome == line_figures::PauseOutcome::not_obeyed) break;
        }
        if (tries.tries.back().outcome == line_figures::PauseOutcome::not_obeyed) break;
      }
    } catch (const PeerError&) {
      throw;
    } catch (const std::runtime_error& error) {
      result_.pause_refusal = error.what();
    }
  }

  line_figures::PausedFigures fill_paused(const PortLink& link, const PausedTries& tries,
                                          std::uint32_t length_us) {
    StreamRequest stream;
    stream.payload_bytes = tries.payload_bytes;
    stream.count_max = kStreamCount;
    stream.length_us = length_us;
    PortPause pause(link, length_us * kMicrosecond + kPauseMarginNs);
    ::poll(nullptr, 0, kPauseBeginMs);  // frames that are under way arrive
    std::vector<FloodPart> parts = receive_streams(clients_, stream);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].least_transit_ns = idle_transit_ns_[i];
      result_.dropped_here += parts[i].dropped_here;
    }
    return line_figures::paused_figures(parts, pause.wait(), tries.frame);
  }

  void measure_spaced() {
    if (!result_.flood || result_.flood->rate_bits_per_s <= 0) return;
    std::vector<std::unique_ptr<ProbeClient>> only_first;
    only_first.push_back(std::move(clients_.front()));
    std::vector<std::uint16_t> payloads(std::begin(kSpacedPayloads), std::end(kSpacedPayloads));
    payloads.push_back(result_.payload_bytes);
    for (const std::uint16_t payload : payloads) {
      const double bits =
          line_figures::frame_sizes(payload, only_first.front()->ip_header()).on_wire * kBitsPerByte;
      for (const double load : kSpacedLoads) {
        const double spacing_s = bits / (load * result_.flood->rate_bits_per_s);
        StreamRequest stream;
        stream.payload_bytes = payload;
        stream.spacing_ns = static_cast<std::uint32_t>(std::clamp(spacing_s * 1e9, 1.0, 1e9));
        stream.count_max =
            static_cast<std::uint32_t>(std::clamp(kSpacedSeconds / spacing_s, 10.0, 1.0 * kSpacedCountMax));
        stream.length_us = kStreamLengthUsMax;
        const std::vector<FloodPart> parts = receive_streams(only_first, stream);
        const FloodPart& part = parts.front();
        const double lasted_ns = static_cast<double>(part.last_sent_ns - part.first_sent_ns);
        const double sent_bits_per_s = lasted_ns > 0 ? bits * (part.sent - 1.0) / lasted_ns * 1e9 : 0;
        result_.spaced.push_back(
            {payload, spacing_s * 1e6, sent_bits_per_s / result_.flood->rate_bits_per_s,
             line_figures::count_datagrams(part.arrivals, part.sent, part.dropped_here)});
      }
    }
    clients_.front() = std::move(only_first.front());
  }

  std::unique_ptr<ProbeClient> fresh() {
    return std::move(
        connect_all({servers_.front()}, key_.get(), static_cast<int>(options_.buffer_bytes)).front());
  }

  // Each series has a connection of its own, which begins with slow start.
  void add_series(const std::string& name, std::uint32_t pause_ms, IdleRestart idle_restart) {
    const std::unique_ptr<ProbeClient> client = fresh();
    client->apply({options_.buffer_bytes, idle_restart, options_.congestion_control});
    result_.series.push_back(
        {name, client->run_series({options_.requests, options_.response_bytes, pause_ms * kMillisecond})});
  }

  void measure_series() {
    add_series("back to back", 0, IdleRestart::unknown);
    add_series("with pauses", options_.pause_ms, IdleRestart::unknown);
    if (result_.idle_restart != IdleRestart::on || !fresh()->welcome().may_change_idle_restart) return;
    add_series("idle restart off", options_.pause_ms, IdleRestart::off);
    result_.changed_idle_restart = true;
  }

  void measure_messages() {
    const std::unique_ptr<ProbeClient> client = fresh();
    const double bytes_per_s = result_.flood && result_.flood->rate_bits_per_s > 0
                                   ? result_.flood->rate_bits_per_s / kBitsPerByte
                                   : 1e7;
    for (const std::uint32_t bytes : kMessageSizes) {
      const double fit = bytes_per_s * kMessageSeconds / bytes;
      const auto count =
          static_cast<std::uint32_t>(std::clamp(fit, 1.0 * kMessagesMin, 1.0 * kMessagesOfPoint));
      result_.messages.push_back({bytes, client->time_messages(bytes, count)});
    }
  }

  const ProbeOptions& options_;
  std::vector<Address> servers_;
  std::shared_ptr<const ports::Authenticator> key_;
  std::vector<std::unique_ptr<ProbeClient>> clients_;
  std::vector<DurationNs> idle_transit_ns_;
  Measurement result_;
};

}  // namespace

Measurement measure(const ProbeOptions& options) {
  std::vector<Address> servers;
  for (const std::string& server : options.servers) servers.push_back(resolve(server, false));
  try {
    return Measuring(options, servers, read_key(options.key_file)).run();
  } catch (const PeerError& error) {
    const std::string text = error.what();
    const bool named = std::any_of(servers.begin(), servers.end(),
                                   [&](const Address& server) { return text.starts_with(server.text()); });
    throw PeerError(named ? text : servers.front().text() + " " + text);
  }
}

std::optional<double> paused_buffer(const Measurement& measurement) {
  if (measurement.paused.empty()) return std::nullopt;
  return line_figures::largest_buffer(measurement.paused.front().tries);
}

line_figures::LineFigures line_of(const Measurement& measurement) {
  line_figures::LineFigures line;
  if (measurement.flood) {
    const FloodFigures& flood = *measurement.flood;
    line.rate_bits_per_s = flood.rate_bits_per_s;
    line.rate_is_lower_bound = flood.limit == FloodLimit::sender_cpu;
    line.buffer_bytes = flood.buffer_bytes;
    line.buffer_of_sender = flood.limit == FloodLimit::sender_output;
  }
  if (measurement.own_queue && !line.buffer_bytes) {
    line.buffer_bytes = measurement.own_queue->buffer_bytes;
    line.buffer_of_sender = true;
  }
  if (const auto paused = paused_buffer(measurement)) {
    line.buffer_bytes = paused;
    line.buffer_of_sender = false;
  }
  line.round_trip_us = line_figures::statistics_of(measurement.round_trip_us).p50;
  if (measurement.round_trip_us.empty()) line.round_trip_us = measurement.handshake_us;
  return line;
}

}  // namespace weir::probe
