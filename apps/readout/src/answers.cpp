#include "answers.hpp"

#include <weir/base/assert.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <utility>

namespace weir::readout {
namespace {

// Up to here a payload is copied behind its header, so that both are one piece.
constexpr std::size_t kInlineMax = 512;
// Slices share a block up to this length of its fragments: longer ones gain little.
constexpr std::size_t kSharingFragmentMax = 4096;

// The part of the fragment that was asked for.
ConstBytes asked_bytes(const source::RequestedFragment& request, const source::SourceFragment& fragment) {
  const ConstBytes bytes =
      fragment.bytes.subspan(std::min<std::size_t>(request.offset, fragment.bytes.size()));
  return request.length != 0 && request.length < bytes.size() ? bytes.first(request.length) : bytes;
}

void append_frame(ports::Stream& stream, const wire::FrameHeader& header, ConstBytes bytes,
                  std::shared_ptr<const void> owner) {
  const bool in_one = bytes.size() <= kInlineMax;
  const Bytes room = stream.reserve(wire::kHeaderBytes + (in_one ? bytes.size() : 0));
  wire::encode_header(header, room.first<wire::kHeaderBytes>());
  if (!in_one) return stream.append_reference(bytes, std::move(owner));
  std::copy(bytes.begin(), bytes.end(), room.begin() + wire::kHeaderBytes);
}

}  // namespace

void Answers::add(const source::RequestedFragment& request, const source::SourceFragment& fragment) {
  const bool missing = fragment.status == FragmentStatus::missing;
  const std::size_t size = missing ? 0 : fragment.bytes.size();
  const bool whole = request.offset == 0 && (request.length == 0 || size <= request.length);
  if (!whole || size > wire::kBlockFragmentMax) {
    flush();
    return send(request, fragment);
  }
  WEIR_ASSERT(block_.size() == payloads_.size());
  make_room(request.connection, {request.slice, request.attempt, request.slot}, size);
  if (missing) {
    payloads_.emplace_back();
    block_.add({request.source, 0, 0, FragmentStatus::missing, fragment.reason});
  } else {
    payloads_.emplace_back(fragment.bytes, fragment.owner);
    block_.add({request.source, static_cast<std::uint32_t>(size), fragment.crc32c, fragment.status});
  }
}

void Answers::make_room(std::uint32_t connection, const wire::BlockSlice& slice, std::size_t size) {
  if (!block_.empty()) {
    const bool same_peer = connection == connection_;
    if (same_peer && slice == block_.last_slice() && block_.takes(size)) return;
    const std::size_t bytes = wire::kBlockSliceBytes + wire::kBlockRowBytes + wire::block_bytes(size);
    const bool shares = same_peer && slice != block_.last_slice() && size <= kSharingFragmentMax &&
                        block_.bytes() + bytes <= wire::kSharedBlockMax;
    if (shares) return block_.begin(slice);
    flush();
  }
  connection_ = connection;
  block_.begin(slice);
}

void Answers::send(const source::RequestedFragment& request, const source::SourceFragment& fragment) {
  WEIR_ASSERT(request.connection < connections_.size());
  sessions::Peer* peer = connections_[request.connection];
  if (peer == nullptr) return;
  timings_.answered(request.connection, request.slice, request.offset);
  if (fragment.status == FragmentStatus::missing) {
    const auto header =
        wire::missing_fragment(request.slice, request.attempt, request.source, fragment.reason);
    return append_frame(peer->stream(), header, {}, nullptr);
  }
  const ConstBytes bytes = asked_bytes(request, fragment);
  wire::FrameHeader header;
  header.type = wire::FrameType::fragment;
  header.status = fragment.status;
  header.attempt = request.attempt;
  header.length = static_cast<std::uint32_t>(bytes.size());
  header.slice = request.slice;
  header.source = request.source;
  header.offset = static_cast<std::uint32_t>(std::min<std::size_t>(request.offset, fragment.bytes.size()));
  header.total = static_cast<std::uint32_t>(fragment.bytes.size());
  header.crc = fragment.crc32c;
  append_frame(peer->stream(), header, bytes, fragment.owner);
}

void Answers::flush() {
  if (block_.empty()) return;
  WEIR_ASSERT(connection_ < connections_.size() && block_.size() == payloads_.size());
  sessions::Peer* peer = connections_[connection_];
  if (peer != nullptr) {
    timings_.answered(connection_, block_.last_slice().slice, 0);
    if (block_.size() == 1) {
      send_only(peer->stream());
    } else {
      send_block(peer->stream());
    }
  }
  block_.clear();
  payloads_.clear();
}

// A block of one row would be longer than the equivalent frame.
void Answers::send_only(ports::Stream& stream) {
  const wire::BlockRow& row = block_.row(0);
  const wire::BlockSlice& slice = block_.last_slice();
  wire::FrameHeader header = wire::missing_fragment(slice.slice, slice.attempt, row.source, row.reason);
  if (row.status != FragmentStatus::missing) {
    header.status = row.status;
    header.length = header.total = row.length;
    header.crc = row.crc;
  }
  append_frame(stream, header, payloads_.front().bytes, std::move(payloads_.front().owner));
}

void Answers::send_block(ports::Stream& stream) {
  // Adjacent short parts are written as one piece.
  std::size_t room_bytes = block_.head_bytes();
  Bytes room;
  const auto room_from = [&](std::size_t first) {
    for (std::size_t i = first; i < payloads_.size() && payloads_[i].bytes.size() <= kInlineMax; ++i)
      room_bytes += wire::block_bytes(payloads_[i].bytes.size());
    room = stream.reserve(std::exchange(room_bytes, 0));
  };
  room_from(0);
  block_.write_head(room.first(block_.head_bytes()));
  room = room.subspan(block_.head_bytes());
  for (std::size_t i = 0; i < payloads_.size(); ++i) {
    const ConstBytes bytes = payloads_[i].bytes;
    const std::size_t zeros = wire::block_bytes(bytes.size()) - bytes.size();
    if (bytes.size() <= kInlineMax) {
      WEIR_ASSERT(bytes.size() <= room.size());
      std::copy(bytes.begin(), bytes.end(), room.begin());
      room = room.subspan(bytes.size());
    } else {
      stream.append_reference(bytes, std::move(payloads_[i].owner));
      room_bytes = zeros;
      room_from(i + 1);
    }
    WEIR_ASSERT(zeros <= room.size());
    std::fill_n(room.begin(), zeros, std::byte{0});
    room = room.subspan(zeros);
  }
}

}  // namespace weir::readout
