/* Policies of your own for Thermocline, in C or in any language that makes C functions.
 *
 * A policy is a table of functions. Leave out (NULL) what it does not need: what is not there is not called.
 *
 * Rules, for nothing can check them:
 * - lists of one call are as long as `count` says, and pointers are good for the call only;
 * - a state is used by one thread at a time; different states at the same time;
 * - functions return 0, or another number for an error: the run stops, and `message` says why;
 * - nothing throws or jumps out of a function.
 * What can be checked is: streams that do not exist, blocks that cannot be chosen and scores that are no numbers
 * end the run with an error that names the policy and the function.
 *
 * Units: pages are logical page numbers from 0; times and ages are nanoseconds of the run's clock; blocks are
 * counted from the first of the bank, or of the device where a bank is named beside them.
 *
 * Versions: a table begins with the version and its size. Later versions only append fields.
 */
#ifndef THERMOCLINE_POLICY_H
#define THERMOCLINE_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THERMOCLINE_POLICY_VERSION 1u

struct thermocline_device {
    uint32_t size; /* of this structure */
    uint32_t logical_pages;
    uint32_t blocks; /* of all banks */
    uint32_t pages_per_block;
    uint32_t banks;
    uint32_t bank;     /* of a victim policy */
    double time_scale; /* of age transformations, where the user names none */
    uint64_t seed;
};

/* A block that is being cleaned. */
struct thermocline_cleaning {
    uint32_t size; /* of this structure */
    uint32_t bank;
    uint32_t block;
    uint32_t stream;   /* it was opened for */
    uint32_t valid;    /* pages */
    uint32_t pages;    /* of a block */
    uint32_t mapped;   /* logical pages that hold data */
    uint32_t capacity; /* logical pages the device could hold */
    uint64_t now;
};

/* What both tables begin with. Without `open`, `data` is the state of every run. */
#define THERMOCLINE_POLICY_HEAD                                                                          \
    uint32_t version; /* THERMOCLINE_POLICY_VERSION */                                                   \
    uint32_t size;    /* of the table */                                                                 \
    const char *name;                                                                                    \
    void *data;                                                                                          \
    void *(*open)(void *data, const struct thermocline_device *device); /* the state; NULL: an error */  \
    void (*close)(void *state);                                                                          \
    const char *(*message)(void *state, int code);

/* Answers of `host` hold though blocks were cleaned since: fewer calls, decisions a batch old. */
#define THERMOCLINE_STALE 1u
/* The stream that `written` tells of a page that `host` was not asked about: read-only data kept apart. */
#define THERMOCLINE_NO_STREAM 255u

/* Which stream a page goes to. Each stream has an open block of its own in every bank. */
struct thermocline_placement {
    THERMOCLINE_POLICY_HEAD
    uint32_t streams; /* 1 to 64 */
    /* The most pages of one call of `host`. With 0 or 1 each page is asked about once, right before it is written.
     * With more a call asks about the pages that will be written next, no page twice; where something happens
     * before they are written they are asked about again, so `host` must not change the state: `written` does. */
    uint32_t batch;
    uint32_t flags;
    uint32_t reserved; /* 0 */

    /* Streams of pages that the host is about to write. NULL: all go to stream 0. */
    int (*host)(void *state, const uint32_t *pages, size_t count, uint64_t now, uint8_t *streams);
    /* Streams of the valid pages of a block, in physical order; asked about once. NULL: all go to stream 0. */
    int (*survivors)(void *state, const struct thermocline_cleaning *victim, const uint32_t *pages, size_t count,
                     uint8_t *streams);

    /* What happened, in this order, told before anything is asked. */
    int (*written)(void *state, const uint32_t *pages, const uint8_t *streams, const uint64_t *times, size_t count);
    int (*filled)(void *state, const uint32_t *pages, size_t count, uint64_t now); /* before the run */
    int (*trimmed)(void *state, const uint32_t *pages, size_t count);
    /* A survivor went to another stream, because there was no free block. */
    int (*spilt)(void *state, uint32_t page, uint8_t stream, uint64_t now);
    /* A free block was opened for a stream, or (`full`) has no room any more. */
    int (*block)(void *state, int full, uint32_t bank, uint32_t block, uint8_t stream);
};

/* What the age of a block counts from. */
#define THERMOCLINE_AGE_NONE 0u
#define THERMOCLINE_AGE_CREATED 1u
#define THERMOCLINE_AGE_CLOSED 2u
#define THERMOCLINE_AGE_YOUNGEST 3u          /* the host's youngest data in it; copies keep their age */
#define THERMOCLINE_AGE_LAST_INVALIDATION 4u

/* Which block is cleaned next; each bank has a state of its own. Give it `ratio`, `choose` or `score`. */
struct thermocline_victim {
    THERMOCLINE_POLICY_HEAD
    uint32_t ages; /* THERMOCLINE_AGE_... */
    uint32_t reserved; /* 0 */

    /* The block of least numerator / denominator / age(its age) is cleaned. Asked once for each number of valid
     * pages below all; costs must not fall as `valid` grows. An index finds the least: this is the quick way,
     * whose time does not grow with the device. */
    int (*ratio)(void *state, uint32_t valid, uint32_t pages, double *numerator, double *denominator);
    /* With `ratio`: the factor of an age, which must not fall as the age grows. NULL: the age itself, and none with
     * THERMOCLINE_AGE_NONE. */
    double (*age)(void *state, uint64_t age);

    /* Anything else looks at all `count` blocks of the bank at each cleaning, in columns. `stamps` are the times
     * that ages count from; of `candidates` those that are 1 may be chosen. */
    int (*score)(void *state, size_t count, const uint32_t *valid, const uint32_t *erases, const uint64_t *stamps,
                 const uint8_t *streams, const uint8_t *candidates, uint64_t now,
                 double *scores /* the candidate of least score is cleaned */);
    int (*choose)(void *state, size_t count, const uint32_t *valid, const uint32_t *erases, const uint64_t *stamps,
                  const uint8_t *streams, const uint8_t *candidates, uint64_t now,
                  int64_t *block /* below 0: none is worth it */);

    /* The host wrote these pages; told before each choice at the latest. */
    int (*written)(void *state, const uint32_t *pages, size_t count);
    /* The block chosen last is cleaned (1) or refused (0): too little garbage, or no room for its survivors. */
    int (*answered)(void *state, int cleaned);
};

#ifdef __cplusplus
}
#endif

#endif
