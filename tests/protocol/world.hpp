#pragma once

#include "writer_model.hpp"
#include <weir/assignment/supervisor_machine.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// A farm of the real SupervisorMachine and of models of DCMs, writers and readouts (leases, confirmations,
// acknowledgements). It is a value: it can be copied, compared by a fingerprint, and can take any possible
// next step.
namespace weir::protocol_test {

constexpr std::size_t kNodesMax = 2;  // maximum per role

// A deliberate mistake of a node, which a search must find to prove that it works.
enum class Planted : std::uint8_t {
  nothing,
  acknowledges_before_sync,  // a writer
  forgets_fates,             // a writer takes no notice of copies that do not count
  says_nothing_again,        // a reconnecting writer does not repeat its acknowledgements
  keeps_silent,              // a DCM does not report that it no longer has the slice it is to store
  sends_once                 // a DCM does not resend unacknowledged records over a new connection
};

// The space that a search explores. The numbers limit each fault, which may happen at any moment.
struct Scenario {
  std::uint8_t dcms = 2;
  std::uint8_t writers = 2;
  std::uint8_t readouts = 2;
  std::uint8_t slices = 2;
  std::uint8_t credits = 2;         // of each DCM
  std::uint8_t rejectable = 0b01;   // slices of which the filter may also reject
  std::uint8_t dcm_crashes = 0;     // and restarts
  std::uint8_t writer_crashes = 0;  // likewise; any prefix of the unsynced records survives
  std::uint8_t readout_crashes = 0;
  std::uint8_t links_lost = 0;         // supervisor - DCM
  std::uint8_t writer_links_lost = 0;  // supervisor - writer
  std::uint8_t data_links_lost = 0;    // DCM - writer
  std::uint8_t supervisor_crashes = 0;
  std::uint8_t hand_backs = 0;  // a DCM is cut off from a readout, and gives a slice back
  std::uint8_t ticks = 0;       // steps of time; two of them end a lease or the patience with a writer
  bool gathers = true;          // the supervisor may take several inputs before it acts
  Planted planted = Planted::nothing;
};

// One step. `a`, `b`, `c` are its operands.
struct Move {
  enum class Kind : std::uint8_t {
    supervisor_pass,
    decision_arrives,         // at the supervisor, from DCM a
    stored_arrives,           // at the supervisor, from writer a
    orders_arrive,            // at DCM a, from the supervisor
    acknowledgement_arrives,  // at DCM a, from writer b
    record_arrives,           // at writer b, from DCM a
    fates_arrive,             // at writer a, from the supervisor
    supervisor_misses_dcm,    // it notices that DCM a's connection is gone
    supervisor_misses_writer,
    dcm_misses_supervisor,
    writer_misses_supervisor,
    dcm_misses_writer,  // DCM a, writer b
    writer_misses_dcm,
    dcm_joins,
    writer_joins,
    dcm_reaches_writer,  // DCM a, writer b
    filter_begins,       // a suspect, alone: DCM a reports slice b, and waits for the answer
    filter_decides,      // DCM a, slice b, verdict c
    hands_back,          // DCM a, slice b
    filter_ends,         // for a slice that was taken from its DCM: DCM a, slice b
    writer_syncs,
    dcm_starts,
    writer_starts,
    dcm_crashes,
    writer_crashes,      // writer a; b unsynced records survive
    readout_crashes,     // and restarts empty
    link_breaks,         // supervisor - DCM a; b: the side that notices first
    writer_link_breaks,  // supervisor - writer a; likewise
    data_link_breaks,    // DCM a - writer b; c: likewise
    supervisor_crashes,  // and resumes from its journal; a: whether its last messages are lost
    time_passes
  };
  Kind kind = Kind::supervisor_pass;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint8_t c = 0;
};
[[nodiscard]] std::string describe(const Move& move);

// A row of a message; a message is the rows up to one with `last` set.
struct Row {
  enum class Kind : std::uint8_t { assign, confirm, decide, record, stored, settled, copy, filtering };
  Kind kind = Kind::assign;
  std::uint8_t slice = 0;
  std::uint8_t attempt = 0;
  std::uint8_t epoch = 0;
  std::uint8_t node = kNobody;
  std::uint8_t code = 0;  // how to filter, answer, verdict, outcome, live, alone: by kind
  std::uint8_t reason = 0;
  bool last = true;
};

// Bytes that are on their way in one direction.
class Pipe {
 public:
  void send(std::vector<Row> message);
  [[nodiscard]] std::vector<Row> receive();
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void clear() { rows_.clear(); }
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  std::vector<Row> rows_;
};

// A connection from a connector to a listener. When one end is lost, the other reads the remaining messages
// until it notices.
struct Connection {
  bool listener = true;  // this end is up
  bool connector = true;
  Pipe to_listener;
  Pipe to_connector;

  void lose_listener();
  void lose_connector();
  [[nodiscard]] bool up() const { return listener && connector; }
};

class World {
 public:
  explicit World(const Scenario& scenario);
  World(const World& other)
      : machine_(std::make_unique<assignment::SupervisorMachine>(other.machine_->twin())),
        farm_(other.farm_) {}
  World& operator=(const World&) = delete;

  // Appends all possible next steps, faults included.
  void moves(std::vector<Move>& out) const;
  // Empty, or the promise that the step broke.
  [[nodiscard]] std::string take(const Move& move);
  // Requires: only faults are left. Returns a description of unsettled slices.
  [[nodiscard]] std::string unsettled() const;
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  enum class How : std::uint8_t { usual, unfiltered, suspect };
  struct Slot {
    enum class Phase : std::uint8_t { none, building, abandoned, decided, storing };
    Phase phase = Phase::none;
    std::uint8_t attempt = 0;
    How how = How::usual;
    bool told = false;      // a suspect: the supervisor will be notified that it is alone in the filter
    bool answered = false;  // ... and does: it may go to the filter
    std::uint8_t epoch = 0;
    std::uint8_t writer = kNobody;
    bool blocked = false;  // a later attempt waits here for this one to be gone
    std::uint8_t blocked_attempt = 0;
    How blocked_how = How::usual;
  };
  struct Dcm {
    bool alive = true;
    std::array<Slot, kSlicesMax> slots{};
  };
  struct Writer {
    bool alive = true;
    WriterModel store;
  };
  enum class Held : std::uint8_t { nothing, fragment, lost, cleared };
  // The fate of a slice as the supervisor has announced it.
  struct Fate {
    bool settled = false;
    slice_rows::Outcome outcome = slice_rows::Outcome::discarded;
    std::uint8_t writer = kNobody;
    Copy copy;
    std::uint8_t assigned_attempt = 0;
    std::uint8_t rejected_attempts = 0;  // bits
    bool confirmed = false;
    std::uint8_t confirmed_epoch = 0;
    bool told = false;  // some DCM said that it was alone in its filter
  };
  struct Farm {
    Scenario left;  // the faults that may still happen
    TimeNs now = 0;
    bool dirty = true;  // the supervisor has had inputs since its last pass
    assignment::Actions actions;
    std::array<Dcm, kNodesMax> dcms{};
    std::array<Writer, kNodesMax> writers{};
    std::array<std::array<Held, kSlicesMax>, kNodesMax> readouts{};
    std::array<Connection, kNodesMax> to_dcm{};                       // the supervisor listens
    std::array<Connection, kNodesMax> to_writer{};                    // likewise
    std::array<std::array<Connection, kNodesMax>, kNodesMax> data{};  // [DCM][writer]: the writer listens
    std::array<Fate, kSlicesMax> fates{};
    std::string broken;
  };

  void usual_moves(std::vector<Move>& out) const;
  void dcm_moves(std::uint8_t dcm, std::vector<Move>& out) const;
  void writer_moves(std::uint8_t writer, std::vector<Move>& out) const;
  void fault_moves(std::vector<Move>& out) const;
  void take_fault(const Move& move);
  void take_notice(const Move& move);

  void pass();
  void send_to_dcm(std::uint8_t dcm);
  void send_fates();
  void note_fates();
  void decision_arrives(std::uint8_t dcm);
  void stored_arrives(std::uint8_t writer);

  void orders_arrive(std::uint8_t dcm);
  void confirm(std::uint8_t dcm, const Row& row, std::vector<Row>& answers);
  void ship(std::uint8_t dcm, std::uint8_t slice);
  void begin_filter(std::uint8_t dcm, std::uint8_t slice);
  void filtering_arrives(std::uint8_t dcm, const Row& row);
  void decide(std::uint8_t dcm, std::uint8_t slice, slice_rows::Verdict verdict,
              slice_rows::DiscardReason reason = slice_rows::DiscardReason::none);
  void free_slot(std::uint8_t dcm, std::uint8_t slice);
  void acknowledgement_arrives(std::uint8_t dcm, std::uint8_t writer);
  void lose_supervisor(std::uint8_t dcm);

  void record_arrives(std::uint8_t dcm, std::uint8_t writer);
  void fates_arrive(std::uint8_t writer);
  void acknowledge(std::uint8_t writer, const std::vector<Ack>& acks);
  void join_writer(std::uint8_t writer);
  void reach_writer(std::uint8_t dcm, std::uint8_t writer);
  void writer_loses_dcm(std::uint8_t dcm, std::uint8_t writer);

  void crash_dcm(std::uint8_t dcm);
  void crash_writer(std::uint8_t writer, std::uint8_t survivors);
  void crash_readout(std::uint8_t readout);
  void crash_supervisor(bool loses_sent);
  void breaks(std::string what);
  void check();

  std::unique_ptr<assignment::SupervisorMachine> machine_;
  Farm farm_;
};

}  // namespace weir::protocol_test
