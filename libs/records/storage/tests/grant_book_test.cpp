#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/storage/grant_book.hpp>

#include <random>

using namespace weir;
using namespace weir::storage;

namespace {

constexpr PeerId kA(1);
constexpr PeerId kB(2);

std::uint64_t granted(GrantBook& book, PeerId peer) {
  std::vector<Grant> grants;
  book.grant(grants);
  for (const Grant& grant : grants) {
    if (grant.peer == peer) return grant.granted_total;
  }
  return 0;
}

}  // namespace

TEST_CASE("a request that fits is granted, once") {
  GrantBook book(1000, 4, 16);
  REQUIRE(book.connect(kA));
  REQUIRE(book.ask(kA, 300));
  CHECK(granted(book, kA) == 300);
  CHECK(granted(book, kA) == 0);
  CHECK(book.ask(kA, 300));
  CHECK(granted(book, kA) == 0);
  CHECK(book.charged_bytes() == 300);
}

TEST_CASE("records on disk make room for the next") {
  GrantBook book(1000, 4, 16);
  REQUIRE(book.connect(kA));
  REQUIRE(book.ask(kA, 700));
  REQUIRE(book.ask(kA, 1400));
  CHECK(granted(book, kA) == 700);
  REQUIRE(book.received(kA, 700));
  CHECK(granted(book, kA) == 0);
  book.release(kA, 700);
  CHECK(granted(book, kA) == 1400);
}

TEST_CASE("a record larger than the bound is granted when it is alone") {
  GrantBook book(1000, 4, 16);
  REQUIRE(book.connect(kA));
  REQUIRE(book.connect(kB));
  REQUIRE(book.ask(kA, 100));
  CHECK(granted(book, kA) == 100);
  REQUIRE(book.ask(kB, 5000));
  CHECK(granted(book, kB) == 0);
  REQUIRE(book.ask(kA, 200));
  CHECK(granted(book, kA) == 0);  // does not overtake the first
  REQUIRE(book.received(kA, 100));
  book.release(kA, 100);
  CHECK(granted(book, kB) == 5000);
  CHECK(book.charged_bytes() == 5000);
  CHECK(book.counters().oversize == 1);
}

TEST_CASE("one peer with large requests leaves room for another") {
  GrantBook book(1000, 4, 100);
  REQUIRE(book.connect(kA));
  REQUIRE(book.connect(kB));
  for (std::uint64_t total = 50; total <= 5000; total += 50) REQUIRE(book.ask(kA, total));
  const std::uint64_t first = granted(book, kA);
  CHECK(first >= 700);
  CHECK(first < 1000);
  REQUIRE(book.ask(kB, 50));
  CHECK(granted(book, kB) == 50);
}

TEST_CASE("peers that all request more than available get the same") {
  GrantBook book(10'000, 8, 1000);
  for (std::uint32_t p = 1; p <= 4; ++p) {
    REQUIRE(book.connect(PeerId(p)));
    const std::uint64_t step = p == 1 ? 500 : 100;
    for (std::uint64_t total = step; total <= 10'000; total += step) REQUIRE(book.ask(PeerId(p), total));
  }
  std::vector<Grant> grants;
  book.grant(grants);
  REQUIRE(grants.size() == 4);
  for (const Grant& grant : grants) {
    CHECK(grant.granted_total >= 1500);
    CHECK(grant.granted_total <= 3000);
  }
}

TEST_CASE("a peer that disconnects frees its unsent bytes; sent ones stay charged until stored") {
  GrantBook book(1000, 4, 16);
  REQUIRE(book.connect(kA));
  REQUIRE(book.ask(kA, 300));
  REQUIRE(book.ask(kA, 500));
  CHECK(granted(book, kA) == 500);
  REQUIRE(book.received(kA, 300));
  book.disconnect(kA);
  CHECK(book.charged_bytes() == 300);
  CHECK(book.peers() == 0);
  book.release(kA, 300);
  CHECK(book.charged_bytes() == 0);
  CHECK(book.waiting_bytes() == 0);
}

TEST_CASE("unused grants that a peer returns are given to others") {
  GrantBook book(1000, 4, 16);
  REQUIRE(book.connect(kA));
  REQUIRE(book.connect(kB));
  REQUIRE(book.ask(kA, 900));
  CHECK(granted(book, kA) == 900);
  REQUIRE(book.received(kA, 200));
  REQUIRE(book.ask(kB, 600));
  CHECK(granted(book, kB) == 0);
  REQUIRE(book.give_back(kA, 700));
  CHECK(book.charged_bytes() == 200);
  CHECK(granted(book, kB) == 600);
  CHECK(book.give_back(kA, 700));  // sent again
  CHECK(book.charged_bytes() == 800);
  CHECK_FALSE(book.give_back(kA, 701));  // more than the peer holds
  CHECK_FALSE(book.give_back(kA, 699));
  CHECK(book.counters().violations == 2);
  book.release(kA, 200);
  book.disconnect(kA);
  CHECK(book.charged_bytes() == 600);
}

TEST_CASE("a peer that sends more than granted, or counts backwards, is found out") {
  GrantBook book(1000, 1, 16);
  REQUIRE(book.connect(kA));
  CHECK_FALSE(book.connect(kA));
  CHECK_FALSE(book.connect(kB));
  REQUIRE(book.ask(kA, 100));
  CHECK_FALSE(book.ask(kA, 99));
  CHECK(granted(book, kA) == 100);
  CHECK_FALSE(book.received(kA, 101));
  CHECK_FALSE(book.ask(kB, 1));
  CHECK(book.counters().violations == 2);
}

TEST_CASE("a request larger than any record is refused: the sum of all requests never wraps") {
  GrantBook book(100, 3, 8);
  for (const std::uint32_t peer : {1U, 2U, 3U}) REQUIRE(book.connect(PeerId(peer)));
  CHECK_FALSE(book.ask(PeerId(1), UINT64_MAX));
  CHECK_FALSE(book.ask(PeerId(2), GrantBook::kAskMax + 1));
  CHECK(book.ask(PeerId(2), GrantBook::kAskMax));
  CHECK(book.ask(PeerId(3), 50));
  CHECK(book.waiting_bytes() == GrantBook::kAskMax + 50);
  CHECK(book.counters().violations == 2);
  book.disconnect(PeerId(2));
  book.disconnect(PeerId(1));
  CHECK(book.waiting_bytes() == 50);
}

TEST_CASE("requests beyond the limit are refused, and do not affect earlier ones") {
  GrantBook book(100, 1, 2);
  REQUIRE(book.connect(kA));
  REQUIRE(book.ask(kA, 60));
  REQUIRE(book.ask(kA, 120));
  CHECK_FALSE(book.ask(kA, 180));
  CHECK(book.counters().violations == 1);
  CHECK(book.waiting_bytes() == 120);
  CHECK(granted(book, kA) == 60);
  REQUIRE(book.received(kA, 60));
  book.release(kA, 60);
  CHECK(granted(book, kA) == 120);
}

TEST_CASE("a grant costs the same however many peers there are") {
  for (const std::uint32_t peers : {4U, 16U, 64U, 256U}) {
    CAPTURE(peers);
    GrantBook book(1'000'000, peers, 16);
    for (std::uint32_t p = 1; p <= peers; ++p) REQUIRE(book.connect(PeerId(p)));
    std::vector<Grant> grants;
    for (std::uint64_t round = 1; round <= 20; ++round) {
      for (std::uint32_t p = 1; p <= peers; ++p) REQUIRE(book.ask(PeerId(p), 100 * round));
      grants.clear();
      book.grant(grants);
      REQUIRE(grants.size() == peers);
      for (const Grant& grant : grants) {
        REQUIRE(book.received(grant.peer, 100));
        book.release(grant.peer, 100);
      }
    }
    CHECK(book.steps() <= 2 * book.counters().grants);
  }
}

TEST_CASE("without requests no peer is visited") {
  GrantBook book(1000, 300, 16);
  for (std::uint32_t p = 1; p <= 256; ++p) REQUIRE(book.connect(PeerId(p)));
  CHECK(granted(book, kA) == 0);
  CHECK(book.steps() == 0);
}

TEST_CASE(
    "for any behaviour of the peers, the charge stays within the bound or one oversize request, and none "
    "waits forever") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    constexpr std::uint64_t kBound = 10'000;
    GrantBook book(kBound, 8, 32);
    struct Peer {
      bool there = false;
      PeerId id;
      std::uint64_t wanted = 0, granted = 0, received = 0, released = 0;
    };
    std::vector<Peer> peers(6);
    std::uint32_t next_id = 1;
    std::uint64_t oversize_before = 0;
    const auto grant = [&] {
      std::vector<Grant> grants;
      book.grant(grants);
      for (const Grant& g : grants) {
        for (Peer& peer : peers) {
          if (peer.there && peer.id == g.peer) peer.granted = g.granted_total;
        }
      }
      const bool oversize = book.counters().oversize > oversize_before;
      if (book.charged_bytes() > kBound) REQUIRE((oversize || oversize_before > 0));
      if (book.charged_bytes() <= kBound) oversize_before = book.counters().oversize;
    };
    for (int step = 0; step < 500; ++step) {
      Peer& peer = peers[random() % peers.size()];
      switch (random() % 6) {
        case 0:
          if (!peer.there) {
            peer = {true, PeerId(next_id++)};
            REQUIRE(book.connect(peer.id));
          } else if (random() % 10 == 0) {
            book.disconnect(peer.id);
            if (peer.received > peer.released) book.release(peer.id, peer.received - peer.released);
            peer.there = false;
          }
          break;
        case 1:
          if (peer.there) {
            peer.wanted += random() % 20 == 0 ? 15'000 : 1 + random() % 3000;
            REQUIRE(book.ask(peer.id, peer.wanted));
          }
          break;
        case 2:
        case 3:
          if (peer.there && peer.granted > peer.received) {
            const std::uint64_t bytes = 1 + random() % (peer.granted - peer.received);
            REQUIRE(book.received(peer.id, bytes));
            peer.received += bytes;
          }
          break;
        default:
          if (peer.there && peer.received > peer.released) {
            const std::uint64_t bytes = 1 + random() % (peer.received - peer.released);
            book.release(peer.id, bytes);
            peer.released += bytes;
          }
      }
      grant();
      std::uint64_t charged = 0;
      for (const Peer& p : peers) charged += p.there ? p.granted - p.released : 0;
      REQUIRE(charged == book.charged_bytes());
    }
    for (int round = 0; round < 2000; ++round) {
      for (Peer& peer : peers) {
        if (!peer.there) continue;
        const std::uint64_t rest = peer.granted - peer.received;
        REQUIRE(book.received(peer.id, rest));
        peer.received += rest;
        book.release(peer.id, peer.received - peer.released);
        peer.released = peer.received;
      }
      grant();
    }
    for (const Peer& peer : peers) CHECK((!peer.there || peer.granted == peer.wanted));
    CHECK(book.waiting_bytes() == 0);
  }
}

TEST_CASE("a peer releases no more bytes than it sent") {
  const auto broken = [] {
    GrantBook book(1000, 4, 16);
    (void)book.connect(kA);
    (void)book.ask(kA, 300);
    (void)granted(book, kA);
    (void)book.received(kA, 100);
    book.release(kA, 101);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring(
                 "broken invariant: bytes <= owner.received_total - owner.released_total"));
}
