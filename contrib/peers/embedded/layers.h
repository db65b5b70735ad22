/* A chip in memory that checks the rules of NAND and counts time, and the layers that are held against each other on it: with
 * -DTHERMOCLINE or -DDHARA each says how it begins, writes, reads, syncs and mounts. The chip is that of
 * crates/embedded/examples/budget.rs: 128 MiB, 64 pages of 2 KiB a block; 25 us to read a page into its register, 200 us to program
 * it, 1.5 ms to erase a block, 20 ns a byte on the bus.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1024
#define PAGES 64
#define PAGE 2048
#define CHIP_PAGES (BLOCKS * PAGES)
#define AREA 16

/* --- The chip */

static uint8_t *data;
static uint8_t areas[CHIP_PAGES][AREA];
static uint8_t programmed[CHIP_PAGES];
static uint64_t ns, erases, programs, loads, bus = 20;

static void rule(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "bench: a rule of the chip was broken: %s\n", what);
        exit(1);
    }
}

static void chip_read(uint32_t page, size_t offset, size_t length, void *into)
{
    rule(page < CHIP_PAGES && offset + length <= PAGE, "read beyond its end");
    loads++;
    ns += 25000 + length * bus;
    memcpy(into, data + (size_t)page * PAGE + offset, length);
}

static void chip_program(uint32_t page, const void *from, const uint8_t *area)
{
    rule(page < CHIP_PAGES && !programmed[page], "a page is programmed twice");
    /* A page may be left out, as the one that a power cut may have touched. */
    for (uint32_t later = page + 1; later % PAGES != 0; later++)
        rule(!programmed[later], "pages are programmed out of order");
    ns += 200000 + PAGE * bus;
    programs++;
    programmed[page] = 1;
    memcpy(data + (size_t)page * PAGE, from, PAGE);
    if (area)
        memcpy(areas[page], area, AREA);
}

static void chip_erase(uint32_t block)
{
    ns += 1500000;
    erases++;
    memset(programmed + block * PAGES, 0, PAGES);
    memset(areas[block * PAGES], 0xff, sizeof areas[0] * PAGES);
    memset(data + (size_t)block * PAGES * PAGE, 0xff, (size_t)PAGES * PAGE);
}

/* --- The layers: begin, write, mount, and the RAM they take */

static size_t ram;

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "bench: %s\n", what);
        exit(1);
    }
}

#if defined(THERMOCLINE)
#include "thermocline.h"

static int t_read(void *c, uint32_t page, uint32_t offset, void *into, uint32_t length)
{
    (void)c;
    chip_read(page, offset, length, into);
    return 0;
}
static int t_read_area(void *c, uint32_t page, uint8_t *into)
{
    (void)c;
    loads++;
    ns += 25000 + AREA * bus;
    memcpy(into, areas[page], AREA);
    return 0;
}
static int t_program(void *c, uint32_t page, const void *from, const uint8_t *area)
{
    (void)c;
    chip_program(page, from, area);
    return 0;
}
static int t_erase(void *c, uint32_t block)
{
    (void)c;
    chip_erase(block);
    return 0;
}
static int t_no(void *c, uint32_t block)
{
    (void)c;
    (void)block;
    return 0;
}

static const struct thermocline_nand chip = {NULL,      BLOCKS,  PAGES, PAGE, t_read, t_read_area,
                                             t_program, t_erase, t_no,  t_no, NULL,   NULL,
                                             NULL,      0};
static thermocline store;
static void *memory;
static size_t memory_bytes;

static void begin(uint32_t pages)
{
    memory_bytes = ram - sizeof store;
    memory = malloc(memory_bytes);
    int code = thermocline_format(&store, &chip, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, memory_bytes, pages, 2);
    check(code == 0, thermocline_error_text(code));
}

static void put(uint32_t page, const uint8_t *bytes)
{
    int code = thermocline_write(&store, page, bytes);
    check(code == 0, thermocline_error_text(code));
}

static void get(uint32_t page, uint8_t *bytes)
{
    check(thermocline_read(&store, page, bytes) == 1, "a page is lost");
}

static void sync_all(void) { check(thermocline_flush(&store) == 0, "flush"); }

static void mount_again(void)
{
    int code = thermocline_mount(&store, &chip, THERMOCLINE_CAT, THERMOCLINE_DAC, memory, memory_bytes);
    check(code == 0, thermocline_error_text(code));
}

#elif defined(DHARA)
#include "dhara/map.h"
#include "dhara/nand.h"

int dhara_nand_is_bad(const struct dhara_nand *n, dhara_block_t b)
{
    (void)n;
    (void)b;
    return 0;
}
void dhara_nand_mark_bad(const struct dhara_nand *n, dhara_block_t b)
{
    (void)n;
    (void)b;
}
int dhara_nand_erase(const struct dhara_nand *n, dhara_block_t b, dhara_error_t *err)
{
    (void)n;
    (void)err;
    chip_erase(b);
    return 0;
}
int dhara_nand_prog(const struct dhara_nand *n, dhara_page_t p, const uint8_t *from, dhara_error_t *err)
{
    (void)n;
    (void)err;
    chip_program(p, from, NULL);
    return 0;
}
int dhara_nand_is_free(const struct dhara_nand *n, dhara_page_t p)
{
    (void)n;
    loads++;
    ns += 25000 + PAGE * bus;
    return !programmed[p];
}
int dhara_nand_read(const struct dhara_nand *n, dhara_page_t p, size_t offset, size_t length, uint8_t *into,
                    dhara_error_t *err)
{
    (void)n;
    (void)err;
    chip_read(p, offset, length, into);
    return 0;
}
int dhara_nand_copy(const struct dhara_nand *n, dhara_page_t from, dhara_page_t to, dhara_error_t *err)
{
    static uint8_t page[PAGE];
    (void)n;
    (void)err;
    chip_read(from, 0, PAGE, page);
    chip_program(to, page, NULL);
    return 0;
}

static const struct dhara_nand nand = {11, 6, BLOCKS};
static struct dhara_map map;
static uint8_t buffer[PAGE];
static uint8_t ratio;

static void begin(uint32_t pages)
{
    dhara_error_t err;
    /* Collects no more than the work needs: the least ratio with room for all pages. */
    const char *set = getenv("RATIO");
    for (ratio = set ? (uint8_t)atoi(set) : 1; ratio < 255; ratio++) {
        dhara_map_init(&map, &nand, buffer, ratio);
        dhara_map_resume(&map, &err);
        if (set || dhara_map_capacity(&map) >= pages)
            break;
    }
    check(ratio < 255 && dhara_map_capacity(&map) >= pages, "dhara has no room for so many pages");
    ram = sizeof map + sizeof buffer;
}

static void put(uint32_t page, const uint8_t *bytes)
{
    dhara_error_t err;
    check(dhara_map_write(&map, page, bytes, &err) == 0, dhara_strerror(err));
}

static void get(uint32_t page, uint8_t *bytes)
{
    dhara_error_t err;
    check(dhara_map_read(&map, page, bytes, &err) == 0, dhara_strerror(err));
}

static void sync_all(void)
{
    dhara_error_t err;
    check(dhara_map_sync(&map, &err) == 0, "sync");
}

static void mount_again(void)
{
    dhara_error_t err;
    dhara_map_init(&map, &nand, buffer, ratio);
    check(dhara_map_resume(&map, &err) == 0, dhara_strerror(err));
}

#endif
