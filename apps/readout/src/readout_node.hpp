#pragma once

#include "answers.hpp"
#include "front_end.hpp"
#include "push_sender.hpp"
#include "settings.hpp"
#include "silent_sources.hpp"
#include "sources.hpp"
#include "step_check.hpp"
#include "timings.hpp"
#include "turn_on.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/node/report.hpp>
#include <weir/node/supervisor_client.hpp>
#include <weir/node/throttle_reporter.hpp>
#include <weir/readout/node.hpp>
#include <weir/reports/loss_watch.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/slice_codec/announce.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/wire/batch.hpp>

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::readout {

class ReadoutNode final : public node::Node,
                          private node::SupervisorEvents,
                          private sessions::PeerHandler,
                          private source::AnswerSink {
 public:
  ReadoutNode(const node::Setup& setup, ReadoutEnvironment environment);

  void pass(TimeNs now_ns) override;
  [[nodiscard]] TimeNs wake_at_ns() const override {
    if (behind_) return now_ns_;
    return push_ ? push_->wake_at_ns() : node::Node::wake_at_ns();
  }
  [[nodiscard]] bool finished() const override;
  void on_signal(std::string_view signal_name) override;
  [[nodiscard]] std::string failure() const override { return failure_; }

 private:
  // Supervisor
  void on_begin_run(const v1::BeginRun& begin) override;
  Expected<void, wire::WireError> on_supervisor_message(const v1::Control& message) override;
  Expected<void, wire::WireError> take_destinations(const v1::Destinations& message);
  Expected<void, wire::WireError> take_announcements(const v1::Announce& announce);
  void clear();
  void skip_vetoed();
  void recall_jumps();
  void clear_all_but(const v1::OpenSlices& open);
  [[nodiscard]] bool is_announced(SliceId slice) const;
  void on_end_run() override;
  bool run_ended() const override { return ended_; }
  v1::Report make_report(bool final) override;
  void on_supervisor_ready() override;
  void make_announced();
  void tell_throttle();
  void tell_steps();
  void add_losses(v1::Report& report);
  [[nodiscard]] slice_rows::HoldReason fullest() const;

  // DCMs
  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  // Frames of requests and cancels that wait until their DCM has read earlier answers.
  struct Waiting {
    struct Frame {
      wire::FrameType type = wire::FrameType::request;
      std::vector<std::byte> payload;
    };
    std::deque<Frame> frames;
    std::size_t entries_done = 0;  // of the first
  };
  // Serves entries from `from` on, until too many bytes are unsent or enough was served; returns where it
  // ended.
  std::size_t serve(sessions::Peer& peer, const wire::RequestView& view, std::size_t from,
                    std::size_t& served);
  // Returns the number of requested fragments.
  std::size_t serve(sessions::Peer& peer, const wire::RequestView& view, const wire::RequestEntry& entry);
  void cancel(const sessions::Peer& peer, const std::vector<wire::CopyId>& entries);
  void serve_waiting(sessions::Peer& peer, Waiting& waiting);
  void listen();
  void end_former_connections(const sessions::Peer& peer);
  void hold_back_slow_peers();
  void expect_to_push(UtcNs supervisor_utc);
  void push();
  void note_peaks();

  // Buffer
  void answer(const source::RequestedFragment& request, const source::SourceFragment& fragment) override;

  const ReadoutNodeSettings settings_;
  ReadoutEnvironment environment_;
  TimeNs now_ns_ = 0;
  sessions::PeerInfo identity_;  // with the real port
  sessions::PeerCounters peer_counters_;
  node::LoopTime loop_time_;
  std::unique_ptr<StepCheck> steps_;     // null: counters and times are not compared
  std::unique_ptr<FrontEnd> front_end_;  // where the sources are a plugin's
  emulation::FaultInjector injector_;    // idle where no faults are asked for
  v1::RunIdentity recording_;            // the part of it that was read, where there is one
  source::FragmentBuffer buffer_;
  std::optional<OwnNumbers> numbers_;  // where front-ends number the slices
  reports::LossWatch losses_;
  std::unique_ptr<PushSender> push_;  // null in pull running
  TruthRecorder truth_;
  TurnOn turn_on_;
  SilentSources silent_sources_;
  Timings timings_;
  std::vector<std::size_t> served_;           // by tag: fragments in this pass
  bool behind_ = false;                       // requests are waiting only for their turn
  std::vector<sessions::Peer*> connections_;  // by tag; null if closed
  Answers answers_{connections_, timings_};
  std::vector<sessions::Peer*> dcms_;                                  // by index; null if not connected
  std::vector<std::unique_ptr<sessions::SessionListener>> listeners_;  // one, or one for each plane
  node::SupervisorClient supervisor_;
  std::deque<source::Trigger>
      backlog_;  // announced, not yet taken by the buffer; bounded by slices in flight
  std::vector<source::Trigger> triggers_;
  std::optional<SliceId> received_;  // the highest one that was announced; before the run's first: none
  // Of the message at hand:
  std::vector<slice_rows::Announcement> announced_;
  std::vector<source::Trigger> fresh_;  // of `announced_`
  slice_codec::ClearedSlices cleared_;
  node::ThrottleReporter throttle_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by tag
  node::RefusalLog refusals_;
  std::uint64_t bytes_peak_ = 0;  // of the buffer
  std::uint64_t slices_peak_ = 0;
  std::uint64_t held_back_ = 0;  // times that a slow peer's requests were left in the socket
  std::string failure_;
  bool run_begun_ = false;
  bool ended_ = false;
  bool signalled_ = false;
};

}  // namespace weir::readout
