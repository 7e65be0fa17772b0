#pragma once

#include "timings.hpp"
#include <weir/base/bytes.hpp>
#include <weir/ports/network.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/source/parked_requests.hpp>
#include <weir/source/source.hpp>
#include <weir/wire/block.hpp>

#include <memory>
#include <vector>

namespace weir::readout {

// Sends fragments to the DCMs that requested them. Consecutive fragments for one DCM form a block: those of
// one slice, and of further slices while they are short; long fragments and ranges get separate frames. Added
// fragments leave with flush(), or with the next one that does not fit. Keeps the order. One thread.
class Answers {
 public:
  // `connections`: by tag, null if closed: fragments for it are dropped. Requires: both arguments outlive
  // this.
  Answers(const std::vector<sessions::Peer*>& connections, Timings& timings)
      : connections_(connections), timings_(timings) {}

  // The fragment's owner is kept until it has left.
  void add(const source::RequestedFragment& request, const source::SourceFragment& fragment);
  // Sends immediately, in a separate frame.
  void send(const source::RequestedFragment& request, const source::SourceFragment& fragment);
  // Before anything else goes to these connections, and at the end of a pass.
  void flush();

 private:
  struct Payload {
    Payload() = default;
    Payload(ConstBytes bytes_, const std::shared_ptr<const void>& owner_) : bytes(bytes_), owner(owner_) {}
    ConstBytes bytes;
    std::shared_ptr<const void> owner;
  };

  // Makes room in the block for a fragment of this length, at the end of this slice. Sends it before, if
  // needed.
  void make_room(std::uint32_t connection, const wire::BlockSlice& slice, std::size_t size);
  void send_block(ports::Stream& stream);
  void send_only(ports::Stream& stream);

  const std::vector<sessions::Peer*>& connections_;
  Timings& timings_;
  std::uint32_t connection_ = 0;  // of the block
  wire::BlockWriter block_;
  std::vector<Payload> payloads_;  // by row
};

}  // namespace weir::readout
