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

// Puts fragments on the way to the DCMs that asked for them. Those of one slice that follow each other for
// one DCM go as one block; what is long, or a range, goes in a frame of its own. What was added leaves with
// flush(), or with the next fragment that does not fit. Order is kept. One thread.
class Answers {
 public:
  // `connections` by tag, empty where one is gone: what is for it is dropped. Both outlive this.
  Answers(const std::vector<sessions::Peer*>& connections, Timings& timings)
      : connections_(connections), timings_(timings) {}

  // The fragment's owner is kept until it has left. A fragment that was the only one of its request leaves at
  // once.
  void add(const source::RequestedFragment& request, const source::Fragment& fragment);
  // At once, in a frame of its own.
  void send(const source::RequestedFragment& request, const source::Fragment& fragment);
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
