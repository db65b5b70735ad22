/* Every call in every state of a store: before it is open, after a mount and a format that failed, and with a chip of another shape. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "thermocline.h"
#include "thermocline_simulated.h"

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
    struct thermocline_health health;
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
    health.bad_blocks = 1;
    thermocline_health(&store, &health);
    is("health", (int)health.bad_blocks, 0);
    is("writes_left", thermocline_writes_left(&store, 1000) == 0, 1);
}

static int answer;

static int transfer(void *c, const uint8_t *command, uint32_t command_length, const uint8_t *more, uint32_t more_length, uint8_t *into,
                    uint32_t into_length)
{
    static const uint8_t id[] = {0x77, 0x66, 0x55, 0x44};
    (void)c;
    (void)more;
    is("data or nothing", more == NULL, more_length == 0);
    is("an answer or nothing", into == NULL, into_length == 0);
    if (into != NULL)
        memset(into, answer, into_length);
    if (answer == 1 && command[0] == 0x9f && command_length == 2)
        memcpy(into, id, sizeof id);
    if (answer == 1 && command[0] == 0x0f)
        *into = 0;
    return answer == 2;
}

static void no_delay(void *c, uint32_t microseconds) { (void)c; (void)microseconds; }

/* What there is on the bus is said in every case, and a driver that is not open answers. */
static void buses(void)
{
    static thermocline_spi_nand driver;
    struct thermocline_spi bus = {NULL, transfer, no_delay};
    struct thermocline_nand nand;
    uint8_t id[8];
    char name[4] = "abc";

    memset(&nand, 0, sizeof nand);
    is("no driver", thermocline_spi_nand_open(NULL, &bus, &nand, id), THERMOCLINE_NO_CHIP);
    is("no bus", thermocline_spi_nand_open(&driver, NULL, &nand, id), THERMOCLINE_NO_CHIP);
    is("no table", thermocline_spi_nand_open(&driver, &bus, NULL, id), THERMOCLINE_NO_CHIP);
    for (answer = 0; answer < 256; answer += 255)
        is("no chip", thermocline_spi_nand_open(&driver, &bus, &nand, id), THERMOCLINE_NO_CHIP);
    answer = 2;
    is("a bus that fails", thermocline_spi_nand_open(&driver, &bus, &nand, id), THERMOCLINE_NO_CHIP);
    answer = 1;
    is("another chip", thermocline_spi_nand_open(&driver, &bus, &nand, id), THERMOCLINE_UNKNOWN_CHIP);
    is("its identification", id[0] == 0x77 && id[3] == 0x44 && id[4] == 1, 1);
    is("nobody asks for it", thermocline_spi_nand_open(&driver, &bus, &nand, NULL), THERMOCLINE_UNKNOWN_CHIP);
    bus.transfer = NULL;
    is("no function", thermocline_spi_nand_open(&driver, &bus, &nand, id), THERMOCLINE_NO_CHIP);
    is("nothing was filled in", nand.blocks == 0 && nand.read == NULL, 1);
    thermocline_spi_nand_name(&driver, name, sizeof name);
    is("no name", name[0], 0);

    thermocline_simulated_w25n01gv(&bus);
    is("a chip", thermocline_spi_nand_open(&driver, &bus, &nand, id), 0);
    is("its shape", nand.blocks == 1024 && nand.pages == 64 && nand.page_size == 2048, 1);
    is("its limit", (int)nand.refresh_from, 1);
    thermocline_spi_nand_name(&driver, name, sizeof name);
    is("a name in part", strcmp(name, "W25"), 0);
    is("a block", nand.is_bad(nand.context, 3), 0);
    is("a mark", nand.mark_bad(nand.context, 3), 0);
    is("a bad block", nand.is_bad(nand.context, 3), 1);
    is("beyond the chip", nand.erase(nand.context, 1024), THERMOCLINE_NAND_DEVICE);
    /* A driver whose memory was cleared. */
    memset(&driver, 0, sizeof driver);
    is("not open", nand.is_bad(nand.context, 4), THERMOCLINE_NAND_DEVICE);
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
    struct thermocline_health health;
    size_t bytes;
    uint32_t i;
    memset(data, 0xff, sizeof data);
    memset(area, 0xff, sizeof area);

    buses();
    every_call_is_refused();
    is("mount of a blank chip", mount(&chip, sizeof memory), THERMOCLINE_NOT_FORMATTED);
    every_call_is_refused();
    is("no store", thermocline_flush(NULL), THERMOCLINE_NOT_OPEN);
    is("no chip", thermocline_mount(&store, NULL, 0, 0, memory, sizeof memory), THERMOCLINE_NOT_OPEN);

    i = thermocline_most_pages(&chip, THERMOCLINE_DAC, 1);
    is("one page too many", format(i + 1), THERMOCLINE_TOO_LARGE);
    is("as many as fit", format(i), 0);
    is("fewer beside bad blocks", thermocline_most_pages(&chip, THERMOCLINE_DAC, 9) < i, 1);
    is("no such placement", (int)thermocline_most_pages(&chip, 9, 1), 0);
    other.blocks = 0;
    is("no such chip", (int)thermocline_most_pages(&other, THERMOCLINE_DAC, 1), 0);
    other = chip;

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
    thermocline_health(&store, &health);
    is("corrected", (int)health.most_corrected, 4);
    is("refreshed", health.refreshed > 0 && health.corrected_reads > 0, 1);
    is("spare blocks", health.bad_blocks == 0 && health.spare_blocks >= 1 && health.free_blocks > 0, 1);
    is("writes left", thermocline_writes_left(&store, 100000) > LOGICAL, 1);
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
    for (i = 0; i < 1000; i++) {
        other.blocks = 1 + i % 10 * 97;
        other.pages = 2 + i / 10 % 10 * 53;
        other.page_size = 64 + i / 100 * 221;
        if (thermocline_ram(&other, i))
            is("the constant is what the function says",
               thermocline_ram(&other, i) == THERMOCLINE_RAM(other.blocks, other.pages, other.page_size, i), 1);
    }
    is("nothing was erased", (int)erases, 0);
    is("mount", mount(&chip, sizeof memory), 0);
    all_is_there();
    if (!wrong)
        puts("every call answers");
    return wrong;
}
