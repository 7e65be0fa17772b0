#pragma once

#include <weir/assembly/assembler.hpp>
#include <weir/shaping/shaper.hpp>
#include <weir/wire/batch.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weir::dcm {

struct CollectorSettings {
  assembly::AssemblySettings assembly;
  std::uint32_t readouts = 0;
  std::uint32_t first_readout = 0;  // asked first; the others follow in order (rotation)
  std::size_t memory_bytes = 0;     // of the pool
  DurationNs grace_ns = 2 * kSecond;
};

// A set of sources, cut by readout; made once and shared by the slices that ask for it.
struct Selection {
  bool all = false;
  std::vector<assembly::SourceIndex> sources;
  std::vector<std::vector<SourceId>> by_readout;
};

// Decides which request goes to which readout when, and what becomes of slices whose readout is gone. Pure:
// frames for the readouts are taken out with take_frames(), connections are told of by readout_up() and
// readout_down().
class Collector {
 public:
  Collector(CollectorSettings settings, assembly::Assembler& assembler, BufferPool& pool,
            std::unique_ptr<shaping::Shaper> shaper);

  [[nodiscard]] std::shared_ptr<const Selection> select(std::span<const SourceId> sources) const;
  [[nodiscard]] const std::shared_ptr<const Selection>& everything() const { return everything_; }

  // A slice that was just opened, or that goes into its next step.
  void collect(assembly::Slice& slice, std::shared_ptr<const Selection> selection);
  // A slice is about to be released.
  void forget(const assembly::Slice& slice);

  void readout_up(std::uint32_t readout, TimeNs now_ns);
  void readout_down(std::uint32_t readout, TimeNs now_ns);
  [[nodiscard]] bool is_up(std::uint32_t readout) const { return flows_[readout].up; }

  // The run begins: grace times of readouts that are not there run from here.
  void begin(TimeNs now_ns);
  // One pass: deadlines, grace times, requests.
  void pass(TimeNs now_ns);
  // One for each fragment, and for each range of one.
  void answered(std::uint32_t readout, TimeNs now_ns);
  // A readout that is up and has answered nothing for so long that even a slow one would have: it cancels
  // what it cannot answer in time. What it was asked for keeps its window.
  [[nodiscard]] bool is_silent(std::uint32_t readout, TimeNs now_ns) const;
  // Request and cancel frames for this readout, in order, appended.
  void take_frames(std::uint32_t readout, std::vector<std::byte>& out);
  [[nodiscard]] std::size_t waiting_slices() const { return starting_.size(); }

 private:
  struct Wanted {
    assembly::Slice* slice = nullptr;
    std::shared_ptr<const Selection> selection;
  };
  struct Part {  // what one readout is asked for a slice's step
    assembly::Slice* slice = nullptr;
    std::shared_ptr<const Selection> selection;
    std::uint32_t readout = 0;
  };
  struct Flow {
    wire::RequestWriter requests;
    std::vector<std::byte> frames;
    std::size_t sources = 0;
    bool up = false;
    bool given_up = false;
    TimeNs down_since_ns = 0;
    std::uint64_t unanswered = 0;  // fragments
    TimeNs waiting_since_ns = 0;   // for the next answer, while there are any
  };

  [[nodiscard]] bool has_memory() const;
  void start_slices(TimeNs now_ns);
  void start(const Wanted& wanted, TimeNs now_ns);
  void issue(TimeNs now_ns);
  void list_missing(const Part& part);
  void add_request(const Part& part, bool plain, TimeNs now_ns);
  void request_ranges(TimeNs now_ns);
  void request_again(assembly::Slice& slice, std::uint32_t readout, TimeNs now_ns);
  void cancel_expired();
  void asked(Flow& flow, std::size_t fragments, TimeNs now_ns);
  [[nodiscard]] shaping::Demand demand(std::uint32_t readout, std::size_t fragments) const;
  void add_entry(Flow& flow, std::span<const SourceId> sources, bool all, const wire::RequestEntry& entry);

  CollectorSettings settings_;
  assembly::Assembler& assembler_;
  BufferPool& pool_;
  std::unique_ptr<shaping::Shaper> shaper_;
  std::shared_ptr<const Selection> everything_;
  std::vector<Flow> flows_;
  std::deque<Wanted> starting_;  // bounded by the assembler's slices
  std::deque<Part> parts_;       // bounded by slices x readouts
  std::vector<SourceId> missing_;
  std::size_t collecting_ = 0;  // slices with fragments outstanding
  std::size_t leaving_ = 0;     // slices that are further, and give memory back in the end
};

}  // namespace weir::dcm
