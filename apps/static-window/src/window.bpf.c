// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A TCP congestion control that keeps the window at a number of segments, through losses too, as the "trivial
// kernel module" of Jereczek's thesis (section 4.5.2.1) does. The loader replaces name and window.

#define SEC(name) __attribute__((section(name), used))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
  int unused;
};

struct tcp_sock {
  u32 snd_cwnd;
};

struct tcp_congestion_ops {
  void (*init)(struct sock* sk);
  u32 (*ssthresh)(struct sock* sk);
  u32 (*undo_cwnd)(struct sock* sk);
  void (*cong_control)(struct sock* sk, u32 ack, int flag, const void* rs);
  void (*cwnd_event)(struct sock* sk, u32 event);
  u32 flags;
  char name[16];
};

#pragma clang attribute pop

// The kernel accepts congestion controls only with a licence that is compatible with the GPL.
char weir_licence[] SEC("license") = "Dual MIT/GPL";

// Eight bytes, so that the loader finds them: the window, in the low half.
static const volatile u64 window = 0x5765697257000000ULL;

static __attribute__((always_inline)) int keep(u64* context) {
  struct tcp_sock* tp = (struct tcp_sock*)context[0];
  tp->snd_cwnd = (u32)window;
  return 0;
}

SEC("struct_ops/weir_init") int weir_init(u64* context) { return keep(context); }
SEC("struct_ops/weir_ssthresh") int weir_ssthresh(u64* context) { return 0x7fffffff; }
SEC("struct_ops/weir_undo_cwnd") int weir_undo_cwnd(u64* context) { return (int)(u32)window; }
// Called instead of cong_avoid and of the reductions after a loss.
SEC("struct_ops/weir_cong_control") int weir_cong_control(u64* context) { return keep(context); }
SEC("struct_ops/weir_cwnd_event") int weir_cwnd_event(u64* context) { return keep(context); }

SEC(".struct_ops")
struct tcp_congestion_ops weir_ops = {
    .init = (void*)weir_init,
    .ssthresh = (void*)weir_ssthresh,
    .undo_cwnd = (void*)weir_undo_cwnd,
    .cong_control = (void*)weir_cong_control,
    .cwnd_event = (void*)weir_cwnd_event,
    .flags = 1,  // TCP_CONG_NON_RESTRICTED: network namespaces may have it as their default
    .name = "weirname_______",
};
