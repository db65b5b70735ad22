/* A store on a chip in memory, as FatFs and littlefs would use it, and what is left of it after the power failed.
 *
 * On a computer:   cargo build --release -p thermocline-embedded-c
 *                  cc -I crates/embedded-c/include crates/embedded-c/examples/c/ram.c target/release/libthermocline_c.a
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "thermocline.h"

#define BLOCKS 64
#define PAGES 32
#define PAGE 512
#define LOGICAL 1600

/* The chip. spi_nand.c has a real driver, on a simulated bus. */
static uint8_t data[BLOCKS * PAGES][PAGE];
static uint8_t areas[BLOCKS * PAGES][THERMOCLINE_AREA];

static int ram_read(void *context, uint32_t page, uint32_t offset, void *into, uint32_t length)
{
    (void)context;
    memcpy(into, data[page] + offset, length);
    return THERMOCLINE_NAND_OK;
}

static int ram_read_area(void *context, uint32_t page, uint8_t *into)
{
    (void)context;
    memcpy(into, areas[page], THERMOCLINE_AREA);
    return THERMOCLINE_NAND_OK;
}

static int ram_program(void *context, uint32_t page, const void *from, const uint8_t *area)
{
    (void)context;
    memcpy(data[page], from, PAGE);
    memcpy(areas[page], area, THERMOCLINE_AREA);
    return THERMOCLINE_NAND_OK;
}

static int ram_erase(void *context, uint32_t block)
{
    (void)context;
    memset(data[block * PAGES], 0xff, sizeof data[0] * PAGES);
    memset(areas[block * PAGES], 0xff, sizeof areas[0] * PAGES);
    return THERMOCLINE_NAND_OK;
}

static int ram_is_bad(void *context, uint32_t block)
{
    (void)context;
    (void)block;
    return 0;
}

static int ram_mark_bad(void *context, uint32_t block)
{
    (void)context;
    (void)block;
    return THERMOCLINE_NAND_OK;
}

static const struct thermocline_nand chip = {
    NULL,        BLOCKS,    PAGES,      PAGE,         ram_read, ram_read_area,
    ram_program, ram_erase, ram_is_bad, ram_mark_bad, NULL,     NULL,
    NULL,        0,
};

static thermocline store;
static uint32_t memory[1500];

/* The two faces of a block device that file systems ask for. */

/* FatFs: disk_read, disk_write and disk_ioctl, with sectors of a page. */
static int disk_read(uint8_t *buffer, uint32_t sector, unsigned count)
{
    for (; count > 0; count--, sector++, buffer += PAGE)
        if (thermocline_read(&store, sector, buffer) < 0)
            return 1; /* RES_ERROR */
    return 0;
}

static int disk_write(const uint8_t *buffer, uint32_t sector, unsigned count)
{
    for (; count > 0; count--, sector++, buffer += PAGE)
        if (thermocline_write(&store, sector, buffer) < 0)
            return 1;
    return 0;
}

static int disk_sync(void) /* CTRL_SYNC */
{
    return thermocline_flush(&store) < 0;
}

static int disk_trim(uint32_t first, uint32_t last) /* CTRL_TRIM */
{
    for (; first <= last; first++)
        if (thermocline_trim(&store, first) < 0)
            return 1;
    return 0;
}

/* littlefs: a block is a page, which needs no erase before it is programmed. */
static int lfs_read(uint32_t block, uint32_t offset, void *buffer, uint32_t size)
{
    static uint8_t page[PAGE];
    int result = thermocline_read_at(&store, (uint64_t)block * PAGE + offset, buffer, size, page);
    return result < 0 ? -5 /* LFS_ERR_IO */ : 0;
}

static int lfs_prog(uint32_t block, uint32_t offset, const void *buffer, uint32_t size)
{
    static uint8_t page[PAGE];
    int result = thermocline_write_at(&store, (uint64_t)block * PAGE + offset, buffer, size, page);
    return result < 0 ? -5 : 0;
}

/* Numbers that look random. */
static uint32_t draw(void)
{
    static uint32_t x = 1;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static uint32_t written[LOGICAL];

static int fail(const char *what, int code)
{
    printf("%s: %s\n", what, thermocline_error_text(code));
    return 1;
}

int main(void)
{
    struct thermocline_counters did;
    uint8_t page[PAGE];
    uint32_t i, first, across[2];
    int code;

    if (sizeof memory < thermocline_ram(&chip, 300))
        return fail("memory", THERMOCLINE_MEMORY);
    if (thermocline_mount(&store, &chip, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, sizeof memory) !=
        THERMOCLINE_NOT_FORMATTED)
        return fail("a chip without a store is mounted", 0);
    code = thermocline_format(&store, &chip, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, sizeof memory, LOGICAL, 1);
    if (code < 0)
        return fail("format", code);

    for (i = 1; i < 20000; i++) {
        uint32_t lpn = draw() % 10 ? draw() % (LOGICAL / 10) : draw() % LOGICAL;
        memset(page, 0, sizeof page);
        memcpy(page, &i, sizeof i);
        memcpy(page + PAGE - sizeof lpn, &lpn, sizeof lpn);
        if (disk_write(page, lpn, 1))
            return fail("write", THERMOCLINE_DEVICE);
        written[lpn] = i;
    }
    /* A part of a page, and one that reaches into the next. */
    if (lfs_prog(20, 0, &written[21], sizeof written[21]) || lfs_prog(30, PAGE - 4, &written[30], 8))
        return fail("write in part", THERMOCLINE_DEVICE);
    written[20] = written[21];
    if (disk_trim(7, 9) || disk_sync())
        return fail("trim", THERMOCLINE_DEVICE);
    written[7] = written[8] = written[9] = 0;
    thermocline_counters(&store, &did);

    /* The power fails: all that is left is the chip. */
    memset(&store, 0, sizeof store);
    memset(memory, 0, sizeof memory);
    code = thermocline_mount(&store, &chip, THERMOCLINE_GREEDY, THERMOCLINE_HOT_COLD, memory, sizeof memory);
    if (code < 0)
        return fail("mount", code);
    for (i = 0; i < thermocline_pages(&store); i++) {
        if (disk_read(page, i, 1) || lfs_read(i, 0, &first, sizeof first))
            return fail("read", THERMOCLINE_DEVICE);
        if (first != written[i] || memcmp(page, &first, sizeof first))
            return fail("another version was read", THERMOCLINE_MISPLACED);
    }
    if (lfs_read(30, PAGE - 4, &across, sizeof across) || memcmp(across, &written[30], sizeof across))
        return fail("other bytes were read", THERMOCLINE_MISPLACED);
    if (thermocline_write(&store, LOGICAL, page) != THERMOCLINE_OUT_OF_RANGE)
        return fail("a page is written that is not there", 0);
    printf("%u pages written, %u copied, %u of the map, %u blocks erased; all read back\n", (unsigned)did.host_writes,
           (unsigned)did.copies, (unsigned)did.map_writes, (unsigned)did.erases);
    return 0;
}
