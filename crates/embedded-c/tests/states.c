/* Every call in every state of a store: before it is open, after a mount and a format that failed, and with a chip of another shape. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "thermocline.h"

#define BLOCKS 64
#define PAGES 16
#define PAGE 512
#define LOGICAL 600

static uint8_t data[BLOCKS * PAGES][PAGE], area[BLOCKS * PAGES][THERMOCLINE_AREA];
static unsigned erases;
/* Bits that the chip corrects of that page, and those of the last read. */
static uint32_t tired = UINT32_MAX;
static int corrects;

static int read_page(void *c, uint32_t page, uint32_t offset, void *into, uint32_t length)
{
    (void)c;
    if (page >= BLOCKS * PAGES)
        return THERMOCLINE_NAND_DEVICE;
    memcpy(into, data[page] + offset, length);
    corrects = page == tired ? 4 : 0;
    return 0;
}

static int corrected(void *c) { (void)c; return corrects; }

static int read_area(void *c, uint32_t page, uint8_t *into)
{
    (void)c;
    if (page >= BLOCKS * PAGES)
        return THERMOCLINE_NAND_DEVICE;
    memcpy(into, area[page], THERMOCLINE_AREA);
    return 0;
}

static int program(void *c, uint32_t page, const void *from, const uint8_t *beside)
{
    (void)c;
    memcpy(data[page], from, PAGE);
    memcpy(area[page], beside, THERMOCLINE_AREA);
    return 0;
}

static int erase(void *c, uint32_t block)
{
    (void)c;
    erases++;
    memset(data[block * PAGES], 0xff, PAGES * PAGE);
    memset(area[block * PAGES], 0xff, PAGES * THERMOCLINE_AREA);
    return 0;
}

static int no(void *c, uint32_t block) { (void)c; (void)block; return 0; }

static const struct thermocline_nand chip = {
    NULL, BLOCKS, PAGES, PAGE, read_page, read_area, program, erase, no, no, NULL, NULL, corrected, 4
};
static thermocline store;
static uint32_t memory[4000];
static uint8_t page[PAGE];
static uint16_t counts[BLOCKS];
static int wrong;

static void is(const char *what, int is, int expected)
{
    if (is != expected) {
        printf("%s: %d (%s), not %d\n", what, is, thermocline_error_text(is), expected);
        wrong = 1;
    }
}

static int mount(const struct thermocline_nand *nand, size_t bytes)
{
    return thermocline_mount(&store, nand, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, bytes);
}

static int format(uint32_t pages)
{
    return thermocline_format(&store, &chip, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, sizeof memory, pages, 1);
}

static void every_call_is_refused(void)
{
    struct thermocline_counters counters;
    is("pages", (int)thermocline_pages(&store), 0);
    is("read", thermocline_read(&store, 0, page), THERMOCLINE_NOT_OPEN);
    is("write", thermocline_write(&store, 0, page), THERMOCLINE_NOT_OPEN);
    is("read_at", thermocline_read_at(&store, 0, page, 1, page), THERMOCLINE_NOT_OPEN);
    is("write_at", thermocline_write_at(&store, 0, page, 1, page), THERMOCLINE_NOT_OPEN);
    is("trim", thermocline_trim(&store, 0), THERMOCLINE_NOT_OPEN);
    is("flush", thermocline_flush(&store), THERMOCLINE_NOT_OPEN);
    is("checkpoint", thermocline_checkpoint(&store), THERMOCLINE_NOT_OPEN);
    is("clean", thermocline_clean(&store, 1), THERMOCLINE_NOT_OPEN);
    is("scrub", thermocline_scrub(&store, 1), THERMOCLINE_NOT_OPEN);
    is("count_reads", thermocline_count_reads(&store, counts, 1), THERMOCLINE_NOT_OPEN);
    is("longest_write", (int)thermocline_longest_write(&store), 0);
    counters.host_writes = 1;
    thermocline_counters(&store, &counters);
    is("counters", (int)counters.host_writes, 0);
}

static void all_is_there(void)
{
    uint32_t i;
    for (i = 0; i < LOGICAL; i++) {
        is("read", thermocline_read(&store, i, page), 1);
        is("data", page[9], (int)(1 + i % 250));
    }
}

int main(void)
{
    struct thermocline_nand other = chip;
    size_t bytes;
    uint32_t i;
    memset(data, 0xff, sizeof data);
    memset(area, 0xff, sizeof area);

    every_call_is_refused();
    is("mount of a blank chip", mount(&chip, sizeof memory), THERMOCLINE_NOT_FORMATTED);
    every_call_is_refused();
    is("no store", thermocline_flush(NULL), THERMOCLINE_NOT_OPEN);
    is("no chip", thermocline_mount(&store, NULL, 0, 0, memory, sizeof memory), THERMOCLINE_NOT_OPEN);

    is("format", format(LOGICAL), 0);
    for (i = 0; i < LOGICAL; i++) {
        memset(page, (int)(1 + i % 250), PAGE);
        is("write", thermocline_write(&store, i, page), 0);
    }
    is("flush", thermocline_flush(&store), 0);
    all_is_there();

    /* A page that the chip corrects much is moved; a round of all pages ends. */
    for (tired = 0; memcmp(data[tired], page, PAGE) != 0; tired++)
        ;
    is("a page to go on with", thermocline_scrub(&store, 1) > 0, 1);
    while (thermocline_scrub(&store, 10) > 0)
        ;
    for (i = 0; i < BLOCKS * PAGES; i++)
        if (i != tired && memcmp(data[i], page, PAGE) == 0)
            break;
    is("the page was moved", i < BLOCKS * PAGES, 1);
    while (thermocline_clean(&store, 10) > 0)
        ;
    is("nothing to clean", thermocline_clean(&store, 10), 0);
    is("no counts", thermocline_count_reads(&store, NULL, 9), THERMOCLINE_MEMORY);
    memset(counts, 1, sizeof counts);
    is("counts", thermocline_count_reads(&store, counts, 1000), 0);
    erases = 0;
    for (i = 0; i < 2000; i++)
        is("read", thermocline_read(&store, 5, page), 1);
    is("a block that is read often is cleaned", erases > 0, 1);
    is("the longest write", thermocline_longest_write(&store) > 4, 1);
    all_is_there();

    /* What is refused changes nothing on the chip. */
    erases = 0;
    is("a format too large", format(BLOCKS * PAGES), THERMOCLINE_TOO_LARGE);
    every_call_is_refused();
    is("a format of nothing", format(0), THERMOCLINE_TOO_LARGE);
    is("policy 9", thermocline_format(&store, &chip, 9, 0, memory, sizeof memory, LOGICAL, 1), THERMOCLINE_NO_SUCH_POLICY);
    for (bytes = 0; bytes < sizeof memory; bytes += 40) {
        int made = thermocline_format(&store, &other, 0, 0, memory, bytes, LOGICAL, 1);
        if (made == 0)
            break;
        is("too little memory", made, THERMOCLINE_MEMORY);
    }
    is("memory that suffices", bytes < sizeof memory, 1);
    /* That one was made. */
    is("a page of it", thermocline_read(&store, 0, page), 0);
    is("blocks erased", erases >= BLOCKS, 1);

    is("format", format(LOGICAL), 0);
    for (i = 0; i < LOGICAL; i++) {
        memset(page, (int)(1 + i % 250), PAGE);
        is("write", thermocline_write(&store, i, page), 0);
    }
    is("flush", thermocline_flush(&store), 0);
    erases = 0;
    other.blocks = 48;
    is("fewer blocks are refused", mount(&other, sizeof memory) < 0, 1);
    other.blocks = 128;
    is("more blocks are refused", mount(&other, sizeof memory) < 0, 1);
    other.blocks = 32;
    other.pages = 32;
    is("longer blocks are refused", mount(&other, sizeof memory) < 0, 1);
    every_call_is_refused();
    /* No shape is too odd to be refused. */
    for (i = 0; i < 64; i++) {
        other.blocks = i & 1 ? 0xffffffff : 0;
        other.pages = i & 2 ? 0xffffffff : i & 4;
        other.page_size = i & 8 ? 0xffffffff : i & 16 ? 17 : i & 32;
        is("an odd shape is refused", mount(&other, sizeof memory), THERMOCLINE_SHAPE);
        is("it takes no memory", (int)thermocline_ram(&other, 100), 0);
    }
    is("nothing was erased", (int)erases, 0);
    is("mount", mount(&chip, sizeof memory), 0);
    all_is_there();
    if (!wrong)
        puts("every call answers");
    return wrong;
}
