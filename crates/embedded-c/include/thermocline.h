/*
 * Thermocline: a flash translation layer for raw NAND and NOR flash beside a microcontroller.
 *
 * A store on a chip is a block device: logical pages that are read, written and trimmed in any order. It takes no
 * memory but what it is given, never waits for anything but the chip, and survives a loss of power at any time: what
 * was written is there, and trims last after thermocline_flush.
 *
 * A store must not be used by two threads at once. docs/embedding.md is the guide.
 */
#ifndef THERMOCLINE_H
#define THERMOCLINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that are programmed beside each page. */
#define THERMOCLINE_AREA 16

/* What the functions of a chip return. */
enum thermocline_nand_result {
    THERMOCLINE_NAND_OK = 0,
    /* More bits of a page turned than can be corrected, or the power failed while it was programmed. */
    THERMOCLINE_NAND_UNREADABLE = 1,
    /* A program or an erase failed: the block is not used any more. */
    THERMOCLINE_NAND_FAILED = 2,
    /* The chip did not answer. */
    THERMOCLINE_NAND_DEVICE = 3
};

/*
 * A chip. Page i of block b has the number b * pages + i. The pages of a block are programmed in ascending order, each
 * once between two erases; a bad block is neither programmed nor erased. An operation that returns before it is done
 * must be done before an erase that is asked for after it.
 */
struct thermocline_nand {
    /* The first argument of each function. */
    void *context;
    /* Erase blocks; pages of a block, 2 to 511; bytes of a page, 64 or more. At most 16,777,214 pages in all. */
    uint32_t blocks;
    uint32_t pages;
    uint32_t page_size;
    /* Reads bytes of a page and corrects them; a blank page reads as ones. */
    int (*read)(void *context, uint32_t page, uint32_t offset, void *into, uint32_t length);
    /* Reads the 16 bytes beside a page: ones if it is blank. They have a checksum of their own. */
    int (*read_area)(void *context, uint32_t page, uint8_t *into);
    /* Programs a page, then the 16 bytes beside it. */
    int (*program)(void *context, uint32_t page, const void *data, const uint8_t *area);
    int (*erase)(void *context, uint32_t block);
    /* 1 if a block is marked as bad, 0 if not; anything else is THERMOCLINE_NAND_DEVICE. */
    int (*is_bad)(void *context, uint32_t block);
    int (*mark_bad)(void *context, uint32_t block);
    /* NULL, or copies a page with correction, beside which another area is programmed. `buffer` is a page long. */
    int (*copy)(void *context, uint32_t from, uint32_t to, const uint8_t *area, void *buffer);
    /* NULL, or waits until everything done so far survives a loss of power. */
    int (*sync)(void *context);
    /*
     * NULL, or bits that the last `read` corrected: of the sector of which it corrected most, where the chip says that.
     * From `refresh_from` of them on a page is moved, before the chip can correct it no longer: half of what it corrects is
     * usual. 0 for never.
     */
    int (*corrected)(void *context);
    uint32_t refresh_from;
};

/* Which block is cleaned next. Any may be chosen at each mount. */
enum thermocline_victim {
    THERMOCLINE_GREEDY = 0,       /* the one with the fewest valid pages */
    THERMOCLINE_COST_BENEFIT = 1, /* the most benefit for its cost: young blocks are given time */
    THERMOCLINE_CAT = 2           /* the same, and worn blocks are spared */
};

/* Which pages are written together. */
enum thermocline_placement {
    THERMOCLINE_ONE_STREAM = 0,      /* all */
    THERMOCLINE_HOT_COLD = 1,        /* what the host writes, and what survives cleaning */
    THERMOCLINE_UPDATE_INTERVAL = 2, /* by how long ago the page was written before */
    THERMOCLINE_DAC = 3              /* three regions: up when updated, down when cleaned */
};

/* What the functions below return: 0, a positive answer, or one of these. */
enum thermocline_error {
    THERMOCLINE_OUT_OF_RANGE = -1,
    THERMOCLINE_WRONG_LENGTH = -2,
    THERMOCLINE_UNREADABLE = -3,
    THERMOCLINE_MISPLACED = -4,
    THERMOCLINE_MAP_UNREADABLE = -5,
    THERMOCLINE_WORN_OUT = -6,
    THERMOCLINE_NOT_FORMATTED = -7,
    THERMOCLINE_VERSION = -8,
    THERMOCLINE_SHAPE = -9,
    THERMOCLINE_MEMORY = -10,
    THERMOCLINE_TOO_LARGE = -11,
    THERMOCLINE_NO_SUCH_POLICY = -12,
    THERMOCLINE_DEVICE = -13,
    THERMOCLINE_NOT_OPEN = -14,
    THERMOCLINE_NO_CHIP = -15,
    THERMOCLINE_UNKNOWN_CHIP = -16,
    THERMOCLINE_NOT_SET = -17
};

/* In words what a code says; never NULL. */
const char *thermocline_error_text(int code);

/*
 * A store, in the caller's memory. What is in it is the library's. Before its first use all of it is zero. Where it is not open,
 * as after a mount that failed, everything but format and mount answers THERMOCLINE_NOT_OPEN.
 */
typedef union thermocline {
    uint64_t aligned;
    unsigned char bytes[180 * sizeof(void *)];
} thermocline;

/*
 * Bytes of memory for a chip, beside the store itself, with room for so many changes of the map that wait to be
 * written: the more, the fewer pages of the map are written. At least two for each page of the map, of which there is one
 * for each (page_size - 16) / 3 logical pages. 0 for a chip that cannot be used.
 */
size_t thermocline_ram(const struct thermocline_nand *nand, uint32_t changes);

/* The same as constants, for a static array: pages of the map if all pages of the chip were logical ones, and bytes. */
#define THERMOCLINE_MAP_PAGES(blocks, pages, page_size) \
    (((size_t)(blocks) * (pages) + (size_t)((page_size) - 16) / 3 - 1) / ((size_t)((page_size) - 16) / 3))
#define THERMOCLINE_RAM(blocks, pages, page_size, changes) \
    (4 + 4 * THERMOCLINE_MAP_PAGES(blocks, pages, page_size) + 6 * (size_t)(blocks) + (size_t)(page_size) + 6 * (size_t)(changes))

/*
 * The most logical pages that fit beside so many blocks that are bad or may become so, by a placement. With all of them cleaning is
 * dear: nine tenths of them are better. 0 for a chip that cannot be used, or no such placement.
 */
uint32_t thermocline_most_pages(const struct thermocline_nand *nand, int placement, uint32_t bad_blocks);

/*
 * Makes an empty store, of so many logical pages: 93 % of the chip's pages at most, 85 % make cleaning cheap. So many
 * blocks may go bad. What the chip holds is lost; but where the answer is THERMOCLINE_TOO_LARGE, THERMOCLINE_MEMORY,
 * THERMOCLINE_SHAPE or THERMOCLINE_NO_SUCH_POLICY, nothing was erased. `memory` is the store's as long as it is used; what is more than
 * needed is used for changes of the map. `nand` is copied, its context is not.
 */
int thermocline_format(thermocline *store, const struct thermocline_nand *nand, int victim, int placement,
                       void *memory, size_t bytes, uint32_t logical_pages, uint32_t spare_blocks);

/* Mounts the store of a chip, in whatever state a loss of power left it. */
int thermocline_mount(thermocline *store, const struct thermocline_nand *nand, int victim, int placement,
                      void *memory, size_t bytes);

/* Logical pages of a store. */
uint32_t thermocline_pages(thermocline *store);

/* Reads a page: 1 if it holds data, 0 if not, and then `into` is all zeros. */
int thermocline_read(thermocline *store, uint32_t page, void *into);

/* Writes a page. After THERMOCLINE_DEVICE it holds its old data or the new ones. */
int thermocline_write(thermocline *store, uint32_t page, const void *data);

/*
 * Reads and writes bytes at any offset, for those whose sectors are no pages: FatFs with sectors of 512 bytes, a page of
 * which 16 bytes went to the area. `page` is a buffer of a page's length: the rest of the first and of the last page is
 * read into it and written again. After a loss of power each page holds its old bytes or its new ones. Past the end
 * nothing is done: THERMOCLINE_OUT_OF_RANGE.
 */
int thermocline_read_at(thermocline *store, uint64_t offset, void *into, size_t length, void *page);
int thermocline_write_at(thermocline *store, uint64_t offset, const void *data, size_t length, void *page);

/* Says that a page is not needed any more. That lasts after thermocline_flush. */
int thermocline_trim(thermocline *store, uint32_t page);

/* Waits until everything that was written and trimmed survives a loss of power. */
int thermocline_flush(thermocline *store);

/*
 * Writes all of the map and, on a chip of at least 256 blocks with room for three more, a snapshot of the tables in memory, which is
 * then all that the next mount reads. For an orderly stop; a store needs no unmount beside it.
 */
int thermocline_checkpoint(thermocline *store);

/*
 * Cleans ahead, for when nothing else is to be done: looks at so many pages at most, each of which it may copy, until twice as many
 * blocks are free as the store keeps. 1 if there is more to do, 0 if not.
 */
int thermocline_clean(thermocline *store, uint32_t pages);

/*
 * Reads the next so many pages of the chip, and moves those of which it corrected `refresh_from` bits or more. Returns the
 * page that comes next, 0 where a round is over.
 */
int thermocline_scrub(thermocline *store, uint32_t pages);

/*
 * Counts reads of each block from now on, in as many counts as the chip has blocks, and cleans a block after `most` of them: some
 * ten thousand on a chip of two bits a cell. The memory is the store's as long as it is used. Counts are lost with the
 * power.
 */
int thermocline_count_reads(thermocline *store, uint16_t *counts, uint16_t most);

/*
 * The most pages that one write programs, as long as as many blocks are good as when this is asked, but for the first change
 * after a mount. 0 where no store is open.
 */
uint32_t thermocline_longest_write(thermocline *store);

/* What a store did since it was mounted or formatted. */
struct thermocline_counters {
    uint64_t host_writes;
    uint64_t copies;
    uint64_t map_writes;
    uint64_t erases;
    uint32_t failed_blocks;
    uint32_t lost;
};

void thermocline_counters(thermocline *store, struct thermocline_counters *into);

/* How worn a store is, by what RAM knows: nothing is read. Erases are those of good blocks; after a mount a block that holds nothing counts as the mean. */
struct thermocline_health {
    uint32_t least_erases;
    uint32_t mean_erases;
    uint32_t most_erases;
    /* Blocks that are marked as bad, or failed; and as many more as may go bad before the store has no room. */
    uint32_t bad_blocks;
    uint32_t spare_blocks;
    uint32_t free_blocks;
    /* Since the mount: reads in which the chip corrected bits, the most of them, pages moved for it, and pages that could not be. */
    uint32_t corrected_reads;
    uint32_t most_corrected;
    uint32_t refreshed;
    uint32_t lost;
};

/* All zeros where no store is open. */
void thermocline_health(thermocline *store, struct thermocline_health *into);

/*
 * Pages that can be written yet, at the rate since the mount, until the good blocks were erased `endurance` times in the mean: the data
 * sheet has it, 60,000 or 100,000 where a cell holds a bit. UINT64_MAX before the first erase, 0 where no store is open.
 */
uint64_t thermocline_writes_left(thermocline *store, uint32_t endurance);

/*
 * SPI NAND: a driver over two functions. docs/spi-nand.md lists the chips that it knows.
 */

/* A bus on which one chip is. */
struct thermocline_spi {
    /* The first argument of each function. */
    void *context;
    /*
     * Selects the chip, sends the command, then the data if there are any, then receives as many bytes as are asked for, and
     * deselects the chip. `data` and `into` are NULL where their length is 0. Mode 0 or 3, the highest bit first, no faster than
     * the chip's command 03h allows. 0 if it was done, anything else if not.
     */
    int (*transfer)(void *context, const uint8_t *command, uint32_t command_length, const uint8_t *data, uint32_t data_length,
                    uint8_t *into, uint32_t into_length);
    /* Waits so many microseconds at least. */
    void (*delay)(void *context, uint32_t microseconds);
};

/* A driver, in the caller's memory; zero before its first use. It stays where it is as long as the store is used. */
typedef union thermocline_spi_nand {
    uint64_t aligned;
    unsigned char bytes[20 * sizeof(void *)];
} thermocline_spi_nand;

/*
 * Resets and identifies the chip, lifts its block protection, switches its error correction on, and fills in `nand` for
 * thermocline_format and thermocline_mount. `bus` is copied, its context is not. `id` is NULL, or room for what the chip answers
 * to 9Fh: four bytes after a dummy byte, four at once. THERMOCLINE_NO_CHIP, THERMOCLINE_UNKNOWN_CHIP, THERMOCLINE_NOT_SET.
 */
int thermocline_spi_nand_open(thermocline_spi_nand *driver, const struct thermocline_spi *bus, struct thermocline_nand *nand,
                              uint8_t *id);

/* The chip's name; an empty text where no chip is open. At most `length` bytes of it, the zero at the end included. */
void thermocline_spi_nand_name(thermocline_spi_nand *driver, char *into, size_t length);

#ifdef __cplusplus
}
#endif

#endif
