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

// Sends fragments to the DCMs that requested them. Consecutive fragments of one slice for one DCM form a
// block; long fragments and ranges get separate frames. Added fragments leave with flush(), or with the next
// one that does not fit. Keeps the order. One thread.
class Answers {
 public:
  // `connections`: by tag, null if closed: fragments for it are dropped. Requires: both arguments outlive
  // this.
  Answers(const std::vector<sessions::Peer*>& connections, Timings& timings)
      : connections_(connections), timings_(timings) {}

  // The fragment's owner is kept until it has left. A fragment that was the only one of its request leaves at
  // once.
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

  [[nodiscard]] bool continues(const source::RequestedFragment& request) const {
    return request.slice == request_.slice && request.connection == request_.connection &&
           request.attempt == request_.attempt && request.slot == request_.slot;
  }
  void send_block(ports::Stream& stream);
  void send_only(ports::Stream& stream);

  const std::vector<sessions::Peer*>& connections_;
  Timings& timings_;
  source::RequestedFragment request_;  // the first one of the block
  wire::BlockWriter block_;
  std::vector<Payload> payloads_;  // by row
};

}  // namespace weir::readout
