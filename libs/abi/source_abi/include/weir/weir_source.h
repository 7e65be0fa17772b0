/*
 * Weir source ABI, version 1.
 *
 * A source plugin is a shared library with one exported symbol, `weir_source_plugin_v1`. It connects a
 * front-end to a readout: it provides the fragments of the readout's sources. This header is plain C11 and
 * has no dependencies; weir/source.hpp wraps it for C++20.
 *
 * Life cycle of an instance, one per readout:
 *   create - (begin_run - (poll, announced, make)* - end_run)* - destroy
 *
 * A plugin provides fragments in one of two ways, the same for all its sources:
 *
 *   make != NULL   The host requests each fragment when its slice is announced, and gets it at once:
 *                  emulators, a card with mapped memory.
 *
 *   make == NULL   Fragments arrive on their own. The plugin calls host->deliver for each, from inside
 *                  poll, announced or begin_run, and host->watermark when a source is done with a slice.
 *                  The host matches them with announced slices; either may come first.
 *
 * Threads: all calls come from the readout's only thread, and never overlap. They must not block, because
 * the same thread serves the readout's clients. A plugin may have threads of its own; these may call
 * host->wake, host->log and host->count, and no other host function. In hosts up to 0.5 wake alone.
 *
 * Growth: every struct begins with its size as known to the side that filled it. Version 1 only appends
 * fields. Code that reads a field which is not in the first release compares struct_size first. An entry of
 * a table has no size: the struct with the table has the distance between entries.
 *
 * Ownership: memory passed by the host belongs to the host, and is valid until the call returns unless
 * stated otherwise. Bytes that a plugin delivers must not move, and belong to the host until it calls their
 * release. No exception may pass through these functions.
 */
/* This file is C, even if C++ includes it. NOLINTBEGIN(modernize-*) */
#ifndef WEIR_WEIR_SOURCE_H
#define WEIR_WEIR_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_SOURCE_ABI_VERSION 1u
#define WEIR_SOURCE_ENTRY_POINT "weir_source_plugin_v1"

#if defined(__GNUC__)
#define WEIR_SOURCE_EXPORT __attribute__((visibility("default")))
#else
#define WEIR_SOURCE_EXPORT
#endif

/* ---- Fragments ---- */

/* Numbers as in weir_filter.h; those that sources do not need are left out. */
enum {
  WEIR_SOURCE_OK = 0,
  WEIR_SOURCE_MISSING = 1,   /* it does not exist: see missing_reason */
  WEIR_SOURCE_TRUNCATED = 2, /* shortened by the front-end; the remaining bytes are good */
  WEIR_SOURCE_CORRUPT = 3,   /* marked as damaged by the front-end */
  WEIR_SOURCE_SUPPRESSED = 4 /* held back by the front-end on purpose */
};

enum {
  WEIR_SOURCE_DOWN = 2,         /* its front-end does not run; refused by hosts up to 0.6 */
  WEIR_SOURCE_NOT_PRODUCED = 4, /* the source had no data for this slice */
  WEIR_SOURCE_DROPPED = 5,      /* it existed, but there was no room for it */
  WEIR_SOURCE_TOO_LARGE = 9,    /* larger than a limit; refused by hosts up to 0.6 */
  WEIR_SOURCE_GAP = 11          /* it was sent, but a part was lost in transit */
};

enum {
  WEIR_SOURCE_HAS_CRC32C =
      1u, /* `crc32c` is filled in, and covers the bytes; otherwise the host computes it */
  /* Not in the first release: */
  WEIR_SOURCE_HAS_COUNTER = 2u, /* `counter` is filled in */
  WEIR_SOURCE_HAS_TIME = 4u     /* `time_ns` and `duration_ns` are filled in */
};

/* One source's part of one slice. */
typedef struct weir_source_fragment {
  uint32_t struct_size;
  uint32_t source;
  uint64_t slice;
  uint8_t status;         /* WEIR_SOURCE_OK ... */
  uint8_t missing_reason; /* with WEIR_SOURCE_MISSING */
  uint16_t flags;         /* WEIR_SOURCE_HAS_CRC32C */
  uint32_t crc32c;        /* Castagnoli; ignored in a farm without checksums */
  const void* data;       /* may be NULL when length is 0 */
  uint32_t length;        /* bytes */
  uint32_t reserved;
  /* Called once, with `owner`, when the host no longer needs the bytes: on the readout's thread, before
   * destroy, and possibly before the function that delivered them returns. NULL: the bytes are valid until
   * destroy. */
  void (*release)(void* owner);
  void* owner;
  /* Not in the first release: compare struct_size. What the front-end itself counted and measured; the farm's
   * section `build` says how they are used. */
  uint64_t counter;    /* of its triggers; wraps at build.counter_bits */
  int64_t time_ns;     /* of its own clock, before build.offsets are added */
  int64_t duration_ns; /* of the data, from time_ns on; 0: a moment */
} weir_source_fragment;

/* A slice that the farm builds. */
typedef struct weir_source_trigger {
  uint64_t slice;
  int64_t time_utc_ns;
  int64_t duration_ns; /* of a time slice; 0 for an event */
  uint32_t type;
  uint32_t reserved;
} weir_source_trigger;

/* ---- Services of the host ---- */

enum {
  WEIR_SOURCE_LOG_DEBUG = 0,
  WEIR_SOURCE_LOG_INFO = 1,
  WEIR_SOURCE_LOG_WARNING = 2,
  WEIR_SOURCE_LOG_ERROR = 3
};

/* A counter that could not be made; using it has no effect. */
#define WEIR_SOURCE_NO_COUNTER UINT32_MAX
/* All sources of the readout, or an unknown one. */
#define WEIR_SOURCE_ALL UINT32_MAX

/* Result of a delivery. In every case the bytes belong to the host, and are released. The readout counts
 * each result; the plugin need not react. */
enum {
  WEIR_DELIVER_TAKEN = 0,
  WEIR_DELIVER_LATE = 1,      /* its slice is settled, given up, or below the source's watermark */
  WEIR_DELIVER_DUPLICATE = 2, /* a repetition */
  WEIR_DELIVER_TOO_LARGE = 3,
  WEIR_DELIVER_FULL = 4,           /* the readout has no room */
  WEIR_DELIVER_UNKNOWN_SOURCE = 5, /* not a source of this instance */
  WEIR_DELIVER_NOT_NOW = 6,        /* no run, another thread, or a plugin with make */
  WEIR_DELIVER_BAD = 7             /* an unknown status or reason, or no data for a length above 0 */
};

/* Services, valid from create to the end of destroy. The first argument is always the struct itself. */
typedef struct weir_source_host weir_source_host;
struct weir_source_host {
  uint32_t struct_size;
  uint32_t abi_version; /* WEIR_SOURCE_ABI_VERSION of the host */
  void* context;        /* for the host only */

  /* One line of text, without a line feed. Beyond a limit per run, lines are only counted. */
  void (*log)(const weir_source_host* host, int32_t level, const char* text);

  /* Names a counter, which is then used by its number. The readout's report has it as `source.NAME`. */
  uint32_t (*counter)(const weir_source_host* host, const char* name);
  void (*count)(const weir_source_host* host, uint32_t counter, uint64_t amount);

  /* Delivers a fragment; returns WEIR_DELIVER_... */
  int32_t (*deliver)(const weir_source_host* host, const weir_source_fragment* fragment);
  /* The source will deliver no more fragments up to and including this slice. Absent ones are missing for
   * `missing_reason` (WEIR_SOURCE_NOT_PRODUCED or WEIR_SOURCE_GAP); up to the previous mark, that mark's
   * reason stays. */
  void (*watermark)(const weir_source_host* host, uint32_t source, uint64_t slice, uint8_t missing_reason);

  /* Makes the readout's thread call poll soon. Thread-safe. */
  void (*wake)(const weir_source_host* host);

  /* Not in the first release: compare struct_size. Both are for the readout's thread, during a run. */

  /* Adds to the pieces (packets, buffers) that have reached `source`, and to those that the plugin dropped
   * for `reason`, a word. WEIR_SOURCE_ALL: pieces without a known source. A source that loses more than the
   * farm's source.loss_share_max is named in the run's summary, and the run ends with status 3. Repeated
   * pieces are not losses. */
  void (*losses)(const weir_source_host* host, uint32_t source, uint64_t reached, uint64_t lost,
                 const char* reason);
  /* Reports a fault of a front-end that operators have to know, in one sentence: it is logged and listed in
   * the run's summary, and the run ends with status 3. */
  void (*fault)(const weir_source_host* host, const char* text);
  /* For a farm with build.by: time; elsewhere it has no effect. Reports progress: `source` will deliver
   * nothing more that begins before `time_ns` of its own clock. Windows that end by then are made.
   * `missing_reason` WEIR_SOURCE_GAP: data since its last progress may be lost, and the windows that need
   * them are truncated; WEIR_SOURCE_NOT_PRODUCED: none are. A time before the last one is ignored. */
  void (*time_passed)(const weir_source_host* host, uint32_t source, int64_t time_ns, uint8_t missing_reason);
};

/* ---- The plugin ---- */

/* One `name: value` from the farm file, as text. */
typedef struct weir_source_parameter {
  const char* name;
  const char* value;
} weir_source_parameter;

typedef struct weir_source_parameters {
  uint32_t struct_size;
  uint32_t count;
  uint32_t stride; /* bytes from one table entry to the next */
  uint32_t reserved;
  const weir_source_parameter* table; /* each name once */
} weir_source_parameters;

/* The readout of this instance. */
typedef struct weir_source_readout {
  uint32_t struct_size;
  uint32_t index;          /* counts the farm's readouts from 0, masked ones too */
  const char* name;        /* valid until destroy has returned, like `sources` */
  const uint32_t* sources; /* its sources without masked ones, sorted */
  uint32_t source_count;
  uint32_t fragment_bytes_max; /* DCMs accept no larger fragment */
} weir_source_readout;

typedef struct weir_source_run {
  uint32_t struct_size;
  uint32_t run;
  uint64_t first_slice; /* no lower slice will be announced to this readout */
} weir_source_run;

/* `error` is a buffer of error_size >= 256 bytes for a sentence with a terminating zero; it is read if
 * the function does not succeed. Functions marked (optional) may be NULL. */
typedef struct weir_source_plugin {
  uint32_t struct_size;
  uint32_t abi_version;    /* WEIR_SOURCE_ABI_VERSION */
  const char* name;        /* as in the farm file and in the name of the library, `name`.so */
  const char* version;     /* of the plugin */
  const char* description; /* one line */

  /* Returns a new instance, or NULL with an error. An unknown or unusable parameter is an error. `parameters`
   * is valid during the call, `readout` and `host` until destroy has returned. */
  void* (*create)(const weir_source_parameters* parameters, const weir_source_readout* readout,
                  const weir_source_host* host, char* error, uint32_t error_size);
  /* (optional) Returns 0, or another value with an error, which ends the readout. */
  int32_t (*begin_run)(void* instance, const weir_source_run* run, char* error, uint32_t error_size);
  /* (optional) */
  void (*end_run)(void* instance);
  /* Called after all delivered bytes have been released. */
  void (*destroy)(void* instance);

  /* Fills in the fragment of `source` for a slice that was just announced; source, slice and struct_size are
   * set, the rest is zero. Returns 0, or another value with an error: the fragment is then missing
   * (not_produced) and counts as lost; a fragment that it fills in as missing does not. NULL: fragments are
   * delivered instead. */
  int32_t (*make)(void* instance, uint32_t source, const weir_source_trigger* trigger,
                  weir_source_fragment* fragment, char* error, uint32_t error_size);

  /* (optional if make is set) Called during a run when `fd` is readable, after wake, and additionally about
   * 100 times a second. Does a bounded piece of work: if more is left, it is called again after the
   * readout's clients, provided that `fd` is still readable or wake was called. `now_ns` is a monotonic
   * clock. */
  void (*poll)(void* instance, int64_t now_ns);
  /* (optional) Returns a file descriptor to wait on for reading, or -1. It belongs to the plugin, and stays
   * the same from create to destroy. */
  int32_t (*fd)(void* instance);
  /* (optional) These slices were announced to the readout: for front-ends that are read out on demand. */
  void (*announced)(void* instance, const weir_source_trigger* triggers, uint32_t count, uint32_t stride);
} weir_source_plugin;

/* The exported symbol. The struct must stay valid as long as the library is loaded. */
typedef const weir_source_plugin* (*weir_source_entry_point)(void);
WEIR_SOURCE_EXPORT const weir_source_plugin* weir_source_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-*) */
