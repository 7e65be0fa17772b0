#pragma once

#include "writer_model.hpp"
#include <weir/assignment/supervisor_machine.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// A farm of the real SupervisorMachine and of models of what DCMs, writers and readouts do with leases,
// confirmations and acknowledgements, as a value: it can be copied, compared by a fingerprint, and made to
// take any of the steps that could come next.
namespace weir::protocol_test {

constexpr std::size_t kNodesMax = 2;  // of one role

// A mistake that a node makes on purpose: a search that does not find it proves nothing.
enum class Planted : std::uint8_t {
  nothing,
  acknowledges_before_sync,  // a writer
  forgets_fates,             // a writer takes no notice of copies that do not count
  says_nothing_again,        // a writer that connects anew does not repeat what it acknowledged
  keeps_silent,              // a DCM that is told to store what it no longer has does not say so
  sends_once                 // a DCM does not send again over a new connection what was not acknowledged
};

// What a search looks through. Each fault may happen so often, at any moment.
struct Scenario {
  std::uint8_t dcms = 2;
  std::uint8_t writers = 2;
  std::uint8_t readouts = 2;
  std::uint8_t slices = 2;
  std::uint8_t credits = 2;         // of a DCM
  std::uint8_t rejectable = 0b01;   // slices of which the filter may also reject
  std::uint8_t dcm_crashes = 0;     // and comes back
  std::uint8_t writer_crashes = 0;  // likewise, with what of the unsynced records any prefix holds
  std::uint8_t readout_crashes = 0;
  std::uint8_t links_lost = 0;         // supervisor - DCM
  std::uint8_t writer_links_lost = 0;  // supervisor - writer
  std::uint8_t data_links_lost = 0;    // DCM - writer
  std::uint8_t supervisor_crashes = 0;
  std::uint8_t hand_backs = 0;  // a DCM is cut off from a readout, and gives a slice back
  std::uint8_t ticks = 0;       // of time, two of which end a lease and the patience with a writer
  bool gathers = true;          // the supervisor may take several inputs before it acts
  Planted planted = Planted::nothing;
};

// One step. `a`, `b`, `c` say of whom and of what.
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
    filter_begins,       // with a suspect, alone: DCM a tells it of slice b, and waits for the answer
    filter_decides,      // DCM a, slice b, verdict c
    hands_back,          // DCM a, slice b
    filter_ends,         // with a slice that was taken from its DCM: DCM a, slice b
    writer_syncs,
    dcm_starts,
    writer_starts,
    dcm_crashes,
    writer_crashes,      // writer a; b records that were not synced survive
    readout_crashes,     // and comes back empty
    link_breaks,         // supervisor - DCM a; b: who notices first
    writer_link_breaks,  // supervisor - writer a; likewise
    data_link_breaks,    // DCM a - writer b; c: likewise
    supervisor_crashes,  // and goes on from its journal; a: whether what it had just sent is lost
    time_passes
  };
  Kind kind = Kind::supervisor_pass;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint8_t c = 0;
};
[[nodiscard]] std::string describe(const Move& move);

// A row of a message; a message is the rows up to the one that is `last`.
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

// A connection between one that listens and one that connects. When an end is lost, the other reads on what
// was sent to it until it notices.
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

  // What can happen now, faults included.
  void moves(std::vector<Move>& out) const;
  // Empty, or the promise that the step broke.
  [[nodiscard]] std::string take(const Move& move);
  // When nothing but faults is left to happen: what is not as it should be.
  [[nodiscard]] std::string unsettled() const;
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  enum class How : std::uint8_t { usual, unfiltered, suspect };
  struct Slot {
    enum class Phase : std::uint8_t { none, building, abandoned, decided, storing };
    Phase phase = Phase::none;
    std::uint8_t attempt = 0;
    How how = How::usual;
    bool told = false;      // a suspect: the supervisor will know that it is alone in the filter
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
  // What became of a slice, as far as the supervisor has said.
  struct Fate {
    bool settled = false;
    assignment::Outcome outcome = assignment::Outcome::discarded;
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
  void decide(std::uint8_t dcm, std::uint8_t slice, assignment::Verdict verdict,
              assignment::DiscardReason reason = assignment::DiscardReason::none);
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
