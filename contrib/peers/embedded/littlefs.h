/* littlefs on the chip of layers.h; or on the layer of whoever says how many pages a block has (BLOCK_PAGES), and how they are read,
 * programmed and erased (page_read, page_program, block_erase).
 */
#include "lfs.h"

#if !defined(BLOCK_PAGES)
#define BLOCK_PAGES PAGES
static void page_read(uint32_t page, uint32_t offset, uint32_t length, void *into) { chip_read(page, offset, length, into); }
static void page_program(uint32_t page, const void *from) { chip_program(page, from, NULL); }
static void block_erase(uint32_t block) { chip_erase(block); }
#endif
#define LOOKAHEAD (CHIP_PAGES / BLOCK_PAGES / 8)

static void sync_all(void);

static int l_read(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, void *into, lfs_size_t size)
{
    (void)c;
    while (size > 0) {
        lfs_size_t part = size < PAGE - off % PAGE ? size : PAGE - off % PAGE;
        page_read(block * BLOCK_PAGES + off / PAGE, off % PAGE, part, into);
        into = (uint8_t *)into + part, off += part, size -= part;
    }
    return 0;
}
static int l_prog(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, const void *from, lfs_size_t size)
{
    (void)c;
    for (; size > 0; size -= PAGE, off += PAGE, from = (const uint8_t *)from + PAGE)
        page_program(block * BLOCK_PAGES + off / PAGE, from);
    return 0;
}
static int l_erase(const struct lfs_config *c, lfs_block_t block)
{
    (void)c;
    block_erase(block);
    return 0;
}
static int l_sync(const struct lfs_config *c)
{
    (void)c;
    sync_all();
    return 0;
}

static uint8_t read_buffer[PAGE], prog_buffer[PAGE], file_buffer[PAGE], lookahead[LOOKAHEAD];
static struct lfs_config config = {
    .read = l_read, .prog = l_prog, .erase = l_erase, .sync = l_sync, .read_size = 64, .prog_size = PAGE,
    .block_size = BLOCK_PAGES * PAGE, .block_count = CHIP_PAGES / BLOCK_PAGES, .block_cycles = 500, .cache_size = PAGE,
    .lookahead_size = LOOKAHEAD, .read_buffer = read_buffer, .prog_buffer = prog_buffer, .lookahead_buffer = lookahead,
    .metadata_max = BLOCK_PAGES < 4 ? BLOCK_PAGES * PAGE : 4 * PAGE,
};
static const struct lfs_file_config file_config = {.buffer = file_buffer};
static lfs_t lfs;
