#include <weir/packet_model/fragment_requester.hpp>

#include <algorithm>
#include <utility>

namespace weir::packet_model {
namespace {

constexpr std::uint64_t kWholePieces = 2;  // as in request_cutter.cpp

std::uint32_t payload_of(std::uint64_t frame_bytes) {
  return static_cast<std::uint32_t>(frame_bytes > kHeaderBytes ? frame_bytes - kHeaderBytes : 1);
}

}  // namespace

FragmentRequester::FragmentRequester(const PullNetwork& network, std::uint32_t dcm,
                                     std::unique_ptr<shaping::Shaper> shaper)
    : network_(network),
      spec_(network.dcms[dcm]),
      shaper_(std::move(shaper)),
      choice_(shaping::ReadoutOrder::least_loaded, dcm % spec_.readouts, spec_.readouts),
      sizes_(network.seed * 1000 + dcm),
      flows_(spec_.readouts) {}

std::uint32_t FragmentRequester::draw_size(const ReadoutSpec& readout) {
  double bytes = readout.bytes;
  if (readout.spread == Spread::uniform) bytes = sizes_.uniform(0, 2 * readout.bytes);
  if (readout.spread == Spread::exponential) bytes = sizes_.exponential(readout.bytes);
  return static_cast<std::uint32_t>(std::clamp(bytes, 16.0, 64e6));
}

void FragmentRequester::open_slices_now(TimeNs now_ns) {
  while (open_ < spec_.credits && (spec_.slices_per_s <= 0 || triggered_ > 0)) {
    if (triggered_ > 0) --triggered_;
    Slice slice;
    slice.parts.resize(spec_.readouts);
    slice.missing = spec_.readouts;
    double bytes = 0;
    double slowest_ns = 0;
    for (std::uint32_t r = 0; r < spec_.readouts; ++r) {
      Part& part = slice.parts[r];
      const ReadoutSpec& readout = network_.readouts[spec_.first_readout + r];
      part.total = draw_size(readout);
      part.target = flows_[r].expected.bytes();
      flows_[r].wants.push_back(first_slice_ + slices_.size());
      ++wanting_;
      bytes += part.total;
      slowest_ns = std::max(slowest_ns, part.total * 8e9 / kStreamBound / readout.uplink_bits_per_s);
    }
    const double wire_bits = bytes * 8e9 / kStreamBound;
    slowest_ns = std::max(slowest_ns, wire_bits / rate_at(network_.ports[spec_.port], now_ns));
    for (const auto* links : {&network_.core, &network_.line}) {
      for (const LinkSpec& link : *links)
        slowest_ns = std::max(slowest_ns, wire_bits / rate_at(link, now_ns));
    }
    slice.serialisation_ns = static_cast<TimeNs>(slowest_ns);
    slice_bytes_ = static_cast<std::uint64_t>(bytes);
    slices_.push_back(std::move(slice));
    ++open_;
    for (std::uint32_t r = 0; r < spec_.readouts; ++r) {
      if (flows_[r].wants.size() == 1) refresh(r);
    }
  }
}

void FragmentRequester::refresh(std::uint32_t readout) {
  Flow& flow = flows_[readout];
  if (flow.wants.empty() || flow.full) return choice_.remove(readout);
  const std::uint64_t oldest = flow.wants.front();
  const Part& part = slice_of(oldest).parts[readout];
  const std::uint64_t target = std::max(part.target, flow.expected.bytes());
  choice_.set(readout, {oldest, flow.owed, target > part.asked ? target - part.asked : 0});
}

// Requests a fragment of up to two pieces whole, a larger one in pieces; the last piece may be half a piece
// longer.
FragmentRequester::Cut FragmentRequester::cut(const Slice& slice, std::uint32_t readout) const {
  const Part& part = slice.parts[readout];
  const std::uint64_t most = shaper_->piece_bytes();
  if (!part.begun) {
    const std::uint32_t expected = flows_[readout].expected.bytes();
    const std::uint64_t size = expected > 0 ? expected + kHeaderBytes : 0;
    if (most == 0) return {UINT32_MAX, size, expected};
    if (expected > 0 && size <= kWholePieces * most) return {payload_of(kWholePieces * most), size, expected};
    return {payload_of(most), most, expected > 0 ? payload_of(most) : 0};
  }
  const std::uint32_t rest = part.target > part.asked ? part.target - part.asked : 1;
  const bool large = most > 0 && rest + kHeaderBytes > most + most / 2;
  const std::uint32_t length = large ? payload_of(most) : rest;
  return {length, std::uint64_t{length} + kHeaderBytes, part.asked + length};
}

void FragmentRequester::issue(TimeNs now_ns, std::vector<Question>& asked) {
  for (const std::uint32_t readout : std::exchange(full_, {})) {
    flows_[readout].full = false;
    refresh(readout);
  }
  while (const auto chosen = choice_.best()) {
    const std::uint32_t readout = *chosen;
    const Cut piece = cut(slice_of(flows_[readout].wants.front()), readout);
    const shaping::Credit credit = shaper_->try_take({readout, 1, piece.charge}, now_ns);
    if (credit == shaping::Credit::full) return;
    if (credit == shaping::Credit::readout_full) {
      flows_[readout].full = true;
      full_.push_back(readout);
    } else {
      send(readout, piece, now_ns, asked);
    }
    refresh(readout);
  }
}

void FragmentRequester::send(std::uint32_t readout, const Cut& piece, TimeNs now_ns,
                             std::vector<Question>& asked) {
  Flow& flow = flows_[readout];
  const std::uint64_t number = flow.wants.front();
  Slice& slice = slice_of(number);
  Part& part = slice.parts[readout];
  if (slice.first_ns < 0) slice.first_ns = now_ns;
  if (!part.begun) part.target = flow.expected.bytes();
  part.begun = true;
  asked.push_back({number, readout, part.asked, piece.length, part.total, piece.charge, now_ns, flow.owed});
  // While the size is unknown, requests no more than the expected size: the answer reports the rest.
  part.asked = piece.upto > 0 ? piece.upto : part.asked + piece.length;
  flow.owed += piece.charge;
  ++part.owed_answers;
  ++slice.owed_answers;
  part.owed_bytes += piece.charge;
  if (part.asked < part.target) return;
  flow.wants.pop_front();
  --wanting_;
}

// The readout has more of the slice, or less, than was taken to be there.
void FragmentRequester::set_wanted(std::uint64_t slice, std::uint32_t readout, bool wanted) {
  auto& wants = flows_[readout].wants;
  const auto place = std::lower_bound(wants.begin(), wants.end(), slice);
  const bool is_wanted = place != wants.end() && *place == slice;
  if (is_wanted == wanted) return;
  if (wanted) {
    wants.insert(place, slice);
    ++wanting_;
  } else {
    wants.erase(place);
    --wanting_;
  }
}

void FragmentRequester::arrived(const Question& question, std::uint64_t bytes, TimeNs now_ns) {
  Flow& flow = flows_[question.readout];
  Part& part = slice_of(question.slice).parts[question.readout];
  const std::uint64_t back = std::min(part.owed_bytes, bytes);
  payload_ += bytes;  // its header is taken off with its end
  part.owed_bytes -= back;
  flow.owed -= std::min(flow.owed, back);
  shaper_->arrived(question.readout, back, now_ns);
  refresh(question.readout);
}

void FragmentRequester::answered(const Question& question, std::uint32_t answer, DurationNs host_ns,
                                 TimeNs now_ns) {
  const std::uint32_t readout = question.readout;
  Flow& flow = flows_[readout];
  Slice& slice = slice_of(question.slice);
  Part& part = slice.parts[readout];
  std::uint64_t back = 0;
  if (--part.owed_answers == 0) back = std::exchange(part.owed_bytes, 0);
  flow.owed -= std::min(flow.owed, back);
  shaper_->answered(readout, 1, back, now_ns);
  if (shaper_->learns())
    responses_.push_back({readout, std::max<DurationNs>(1, now_ns - question.asked_ns), answer + kHeaderBytes,
                          host_ns, question.owed + answer + kHeaderBytes});
  flow.expected.note(question.total);
  payload_ -= kHeaderBytes;
  part.have += answer;
  const bool here = std::exchange(part.known, true);
  if (!here) {
    part.target = part.total;
    // An answer may be longer than expected.
    part.asked = std::max(part.asked, std::min(question.offset + answer, part.total));
    set_wanted(question.slice, readout, part.asked < part.total);
  }
  refresh(readout);
  --slice.owed_answers;
  if (answer == 0 || part.have < part.total) return;
  if (--slice.missing > 0) return;
  done_.push_back({slice.first_ns, now_ns, slice.serialisation_ns});
  --open_;
}

void FragmentRequester::pass(TimeNs now_ns, std::vector<Question>& asked) {
  while (!slices_.empty() && slices_.front().missing == 0 && slices_.front().owed_answers == 0) {
    slices_.pop_front();
    ++first_slice_;
  }
  for (const shaping::MeasuredAnswer& response : responses_) shaper_->response(response, now_ns);
  responses_.clear();
  open_slices_now(now_ns);
  issue(now_ns, asked);
  if (!shaper_->learns()) return;
  shaper_->set_slice_bytes(slice_bytes_);
  shaper_->end_of_pass(wanting_ > 0, now_ns);
}

std::vector<FragmentRequester::Done> FragmentRequester::open_slices() const {
  std::vector<Done> open;
  for (const Slice& slice : slices_) {
    if (slice.missing > 0 && slice.first_ns >= 0) open.push_back({slice.first_ns, 0, slice.serialisation_ns});
  }
  return open;
}

}  // namespace weir::packet_model
