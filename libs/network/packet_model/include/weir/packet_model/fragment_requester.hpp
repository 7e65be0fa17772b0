#pragma once

#include <weir/packet_model/pull_network.hpp>
#include <weir/packet_model/random.hpp>
#include <weir/shaping/expected_size.hpp>
#include <weir/shaping/readout_choice.hpp>
#include <weir/shaping/shaper.hpp>

#include <deque>
#include <memory>
#include <vector>

namespace weir::packet_model {

constexpr std::uint32_t kHeaderBytes = 32;  // header bytes per frame

// A request, as it is asked and on its way. Readouts are numbered from the DCM's first.
struct Question {
  std::uint64_t slice = 0;
  std::uint32_t readout = 0;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t total = 0;  // size of the readout's fragment
  std::uint64_t charge = 0;
  TimeNs asked_ns = 0;
  std::uint64_t owed = 0;  // bytes owed by the previous readouts
};

// Requests one DCM's fragments as apps/data-collection-manager does: the oldest slice first, within it the
// readout that owes least, large fragments in pieces; sizes are predicted as shaping::ExpectedSize does.
class FragmentRequester {
 public:
  struct Done {
    TimeNs first_ns = 0;
    TimeNs last_ns = 0;
    TimeNs serialisation_ns = 0;
  };

  FragmentRequester(const PullNetwork& network, std::uint32_t dcm, std::unique_ptr<shaping::Shaper> shaper);

  void trigger() { ++triggered_; }
  // Reports `bytes` received of the answer to `question`.
  void arrived(const Question& question, std::uint64_t bytes, TimeNs now_ns);
  // All of it. `answer` bytes of payload.
  void answered(const Question& question, std::uint32_t answer, DurationNs host_ns, TimeNs now_ns);
  // Plans the requests after an arrival and appends them to `asked`.
  void pass(TimeNs now_ns, std::vector<Question>& asked);

  [[nodiscard]] shaping::Shaper& shaper() { return *shaper_; }
  [[nodiscard]] const std::vector<Done>& done() const { return done_; }
  [[nodiscard]] std::uint64_t payload() const { return payload_; }
  // First requests of slices that are not whole.
  [[nodiscard]] std::vector<Done> open_slices() const;
  [[nodiscard]] bool wants() const { return wanting_ > 0; }

 private:
  struct Part {
    std::uint32_t total = 0;   // size of the fragment
    std::uint32_t target = 0;  // expected size
    std::uint32_t asked = 0;   // up to here
    std::uint32_t have = 0;
    bool begun = false;
    bool known = false;
    std::uint32_t owed_answers = 0;
    std::uint64_t owed_bytes = 0;
  };
  struct Slice {
    std::vector<Part> parts;
    std::uint32_t missing = 0;  // parts
    std::uint32_t owed_answers = 0;
    TimeNs first_ns = -1;
    TimeNs serialisation_ns = 0;
  };
  struct Flow {
    std::deque<std::uint64_t> wants;  // slices, the oldest first
    shaping::ExpectedSize expected;
    std::uint64_t owed = 0;
    bool full = false;
  };
  struct Cut {
    std::uint32_t length = 0;
    std::uint64_t charge = 0;
    std::uint32_t upto = 0;
  };

  void open_slices_now(TimeNs now_ns);
  [[nodiscard]] std::uint32_t draw_size(const ReadoutSpec& readout);
  void refresh(std::uint32_t readout);
  [[nodiscard]] Cut cut(const Slice& slice, std::uint32_t readout) const;
  void issue(TimeNs now_ns, std::vector<Question>& asked);
  void send(std::uint32_t readout, const Cut& cut, TimeNs now_ns, std::vector<Question>& asked);
  void set_wanted(std::uint64_t slice, std::uint32_t readout, bool wanted);
  [[nodiscard]] Slice& slice_of(std::uint64_t number) { return slices_[number - first_slice_]; }

  const PullNetwork& network_;
  const DcmSpec& spec_;
  std::unique_ptr<shaping::Shaper> shaper_;
  shaping::ReadoutChoice choice_;
  Random sizes_;
  std::vector<Flow> flows_;
  std::deque<Slice> slices_;
  std::uint64_t first_slice_ = 0;
  std::uint32_t open_ = 0;
  std::uint64_t triggered_ = 0;  // slices triggered but not open yet
  std::uint64_t wanting_ = 0;    // pairs of slice and readout
  std::vector<std::uint32_t> full_;
  std::vector<shaping::MeasuredAnswer> responses_;
  std::uint64_t slice_bytes_ = 0;
  std::vector<Done> done_;
  std::uint64_t payload_ = 0;
};

}  // namespace weir::packet_model
