#pragma once

#include "drains.hpp"
#include "epoch.hpp"
#include "foreign_traffic.hpp"
#include "line_rate.hpp"
#include "losses.hpp"
#include "shortest_times.hpp"
#include "start_up.hpp"
#include "ways.hpp"
#include "window.hpp"

#include <array>
#include <cstdint>

namespace weir::shaping {

// Finds the window that keeps the port just full, from response times and from progress, and follows changes.
// README.md explains the method.
class Adaptive final : public ByteWindow {
 public:
  explicit Adaptive(const ShaperSettings& settings);

  Credit try_take(const Demand& demand, TimeNs now_ns) override;
  std::uint64_t room(std::uint32_t readout) const override;
  void take(const Demand& demand, TimeNs now_ns) override;
  void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) override;
  void answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes, TimeNs now_ns) override;
  void connected(std::uint32_t readout, bool selective_acks) override;
  void readout_lost(std::uint32_t readout) override;
  std::uint64_t piece_bytes() const override { return piece_bytes_; }
  bool learns() const override { return true; }
  void response(const MeasuredAnswer& response, TimeNs now_ns) override;
  void end_of_pass(bool wanting, TimeNs now_ns) override;
  void retransmitted(std::uint32_t readout, std::uint64_t segments, TimeNs now_ns) override;
  void set_slice_bytes(std::uint64_t bytes) override;
  void set_share(const PortShare& share) override;
  DurationNs base_ns() const override { return shortest_.ns(); }

 private:
  enum class Phase : std::uint8_t { start_up, steady, drain };

  [[nodiscard]] bool far() const;  // all readouts are distant
  [[nodiscard]] std::uint64_t wanted_piece() const;
  void finish_epoch(TimeNs now_ns);
  void start_up(double queue);
  void raise_ceiling(double seconds);
  [[nodiscard]] bool on_line(double rate) const;
  [[nodiscard]] double line_holds() const;  // bytes, for this DCM's share
  void grow_line();
  // One slow readout must not hold up the whole window.
  [[nodiscard]] std::uint64_t share_of_one() const override {
    return accounts_.readouts() > 1 ? window() - window() / 4 : window();
  }
  // Bytes that always wait in the port, and those that usually do.
  void steady(double least, double usual, TimeNs now_ns);
  [[nodiscard]] DurationNs own_ns(const MeasuredAnswer& response) const;
  [[nodiscard]] double standing(DurationNs waited_ns) const;
  void grow();
  [[nodiscard]] double enough() const;
  [[nodiscard]] double wanted_by_hosts() const;  // at least a window without losses
  void follow_hosts();
  void fill_line(double queue);
  [[nodiscard]] double line_bytes() const;
  void begin_probe(TimeNs now_ns);
  [[nodiscard]] double waited_behind(const MeasuredAnswer& response, DurationNs time_ns) const;
  void try_smaller(TimeNs now_ns);
  void back_off(double left, TimeNs now_ns);  // `left`: remaining share of the window
  void enter_drain();
  void end_drain(TimeNs now_ns);
  void move_to(double window);
  [[nodiscard]] DurationNs base() const;  // of the port: the minimum over all that share it

  const bool only_dcm_;   // of the farm: other data in the buffer are foreign
  bool old_tcp_ = false;  // without selective acknowledgements, and the port may have other DCMs
  Phase phase_ = Phase::start_up;
  double enough_max_;
  double target_;    // window, bytes
  double enough_;    // lower limit without losses
  double lost_ = 0;  // the window of the last loss
  double ceiling_;   // a window with losses, reduced
  PortShare share_;

  Losses losses_;
  LossTrial trial_;

  Epoch epoch_;
  bool was_wanting_ = false;
  TimeNs pass_ns_ = 0;
  std::uint64_t pass_bytes_ = 0;

  ShortestTimes shortest_;
  Drains drains_;
  TimeNs refill_ns_ = kNever;

  StartUp start_;
  RecentRates rates_;
  LineRate line_;
  double uplink_ns_ = 0;  // an uplink's time for an answer, recent mean
  double host_ns_ = 0;    // the hosts' time for an answer, recent mean
  double full_rate_ = 0;  // recent rate of a full port; bytes per ns

  double rate_ = 0;  // of the last epoch
  ForeignTraffic foreign_;
  double up_ = 0;  // last step of growth, relative to the window; 0: none yet

  Ways ways_;
  std::uint64_t piece_bytes_;  // counted for each window, as it is asked for with each request
  TimeNs backed_off_ns_ = -kSecond;
  TimeNs looked_ns_ = 0;
};

}  // namespace weir::shaping
