/* The policies of policy.py in C, for speed.
 *
 *     cc -O2 -shared -fPIC -I crates/policy/include -o policy.so examples/own-policy/policy.c
 *     python -c "import thermocline as tc; print(tc.run(workload='hot-cold:90/10', \
 *         policy=tc.Policy('mine', tc.NativeVictim.load('policy.so', 'cost_benefit'), \
 *                          tc.NativePlacement.load('policy.so', 'regions'))))"
 */
#include <stdlib.h>
#include <string.h>

#include "thermocline_policy.h"

#define REGIONS 4

static int ratio(void *state, uint32_t valid, uint32_t pages, double *numerator, double *denominator)
{
    (void)state;
    *numerator = valid;
    *denominator = pages - valid;
    return 0;
}

const struct thermocline_victim cost_benefit = {
    .version = THERMOCLINE_POLICY_VERSION,
    .size = sizeof cost_benefit,
    .name = "cost-benefit-c",
    .ages = THERMOCLINE_AGE_CREATED,
    .ratio = ratio,
};

static int score(void *state, size_t count, const uint32_t *valid, const uint32_t *erases, const uint64_t *stamps,
                 const uint8_t *streams, const uint8_t *candidates, uint64_t now, double *scores)
{
    (void)state, (void)erases, (void)stamps, (void)streams, (void)candidates, (void)now;
    for (size_t i = 0; i < count; i++)
        scores[i] = valid[i];
    return 0;
}

const struct thermocline_victim lightest = {
    .version = THERMOCLINE_POLICY_VERSION,
    .size = sizeof lightest,
    .name = "lightest-c",
    .score = score,
};

/* The state: the region of each page, -1 for one without data. */
static void *open_regions(void *data, const struct thermocline_device *device)
{
    (void)data;
    int8_t *region = malloc(device->logical_pages);
    if (region)
        memset(region, -1, device->logical_pages);
    return region;
}

static int host(void *state, const uint32_t *pages, size_t count, uint64_t now, uint8_t *streams)
{
    const int8_t *region = state;
    (void)now;
    for (size_t i = 0; i < count; i++)
        streams[i] = region[pages[i]] + 1 < REGIONS ? region[pages[i]] + 1 : REGIONS - 1;
    return 0;
}

static int written(void *state, const uint32_t *pages, const uint8_t *streams, const uint64_t *times, size_t count)
{
    int8_t *region = state;
    (void)times;
    for (size_t i = 0; i < count; i++)
        region[pages[i]] = (int8_t)streams[i];
    return 0;
}

static int survivors(void *state, const struct thermocline_cleaning *victim, const uint32_t *pages, size_t count,
                     uint8_t *streams)
{
    int8_t *region = state;
    (void)victim;
    for (size_t i = 0; i < count; i++) {
        if (region[pages[i]] > 0)
            region[pages[i]]--;
        streams[i] = (uint8_t)region[pages[i]];
    }
    return 0;
}

static int filled(void *state, const uint32_t *pages, size_t count, uint64_t now)
{
    int8_t *region = state;
    (void)now;
    for (size_t i = 0; i < count; i++)
        region[pages[i]] = 0;
    return 0;
}

static int trimmed(void *state, const uint32_t *pages, size_t count)
{
    int8_t *region = state;
    for (size_t i = 0; i < count; i++)
        region[pages[i]] = -1;
    return 0;
}

static int spilt(void *state, uint32_t page, uint8_t stream, uint64_t now)
{
    int8_t *region = state;
    (void)now;
    region[page] = (int8_t)stream;
    return 0;
}

const struct thermocline_placement regions = {
    .version = THERMOCLINE_POLICY_VERSION,
    .size = sizeof regions,
    .name = "regions-c",
    .open = open_regions,
    .close = free,
    .streams = REGIONS,
    .host = host,
    .written = written,
    .survivors = survivors,
    .filled = filled,
    .trimmed = trimmed,
    .spilt = spilt,
};
