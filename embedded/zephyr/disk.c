/*
 * A disk on a partition of raw flash: Zephyr's disk driver interface above, its flash interface below. Zephyr 4.4.
 *
 * The flash interface has no out-of-band area, so the 16 bytes beside a page lie elsewhere:
 *
 * - At the end of its block, from the last bytes down, written after the page: flash that writes a few bytes at once (NOR).
 *   A page of 512 bytes is a sector.
 * - In the page itself, its last 16 bytes (area-in-page): flash that writes a whole page at once (NAND). A page of 2048
 *   bytes then holds three sectors of 512.
 *
 * No sector lies across two pages: after a loss of power each holds what it held, or what was being written, and no mixture.
 *
 * All memory is static, sized by the devicetree. A mutex of each disk is held during every call.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#define DT_DRV_COMPAT thermocline_disk

#include <errno.h>
#include <string.h>
#include <zephyr/device.h>
#include <zephyr/devicetree.h>
#include <zephyr/drivers/disk.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>
#include <zephyr/sys/util.h>
#include <zephyr/version.h>

#include <thermocline.h>
#include <thermocline/disk.h>

#if KERNEL_VERSION_NUMBER < 0x40400
#error "Zephyr 4.4 or later: before it the flash interface knows no bad blocks, and the disk interface no erase"
#endif

LOG_MODULE_REGISTER(thermocline, CONFIG_DISK_LOG_LEVEL);

#define VICTIM THERMOCLINE_CAT
#define PLACEMENT THERMOCLINE_DAC
/* The longest write block beside which an area at the end of the block makes sense. */
#define MOST_BESIDE 64

struct disk_config {
	const struct device *flash;
	/* Of the partition on the flash. */
	off_t offset;
	uint32_t blocks;
	uint32_t block_size;
	/* Bytes that the flash programs as a page, and those of them that the layer has. */
	uint32_t page_size;
	uint32_t data_size;
	bool area_in_page;
	uint32_t sector_size;
	uint32_t over_provisioning;
	uint32_t spare_blocks;
	/* The layer's memory; a page for sectors that are no pages; a page with its area, where that is in it. */
	void *memory;
	size_t memory_size;
	uint8_t *page;
	uint8_t *whole;
};

struct disk_data {
	struct disk_info info;
	struct k_mutex lock;
	thermocline store;
	struct thermocline_nand nand;
	/* Bytes at the end of a block for each page. */
	uint32_t beside;
	bool open;
};

/* What the flash's code says of a chip. `failed` is what EIO says: of a program or an erase that it failed, of a read of NAND, whose
 * drivers do not all tell the two apart, that no correction was possible. Whatever else goes wrong says nothing of the flash. */
static int answer(int code, int failed)
{
	switch (code) {
	case 0:
		return THERMOCLINE_NAND_OK;
	case -EBADMSG:
		return THERMOCLINE_NAND_UNREADABLE;
	case -EIO:
		return failed;
	default:
		return THERMOCLINE_NAND_DEVICE;
	}
}

static off_t block_at(const struct disk_config *config, uint32_t block)
{
	return config->offset + (off_t)block * config->block_size;
}

static off_t page_at(const struct device *dev, uint32_t page)
{
	const struct disk_config *config = dev->config;
	const struct disk_data *data = dev->data;

	return block_at(config, page / data->nand.pages) + (off_t)(page % data->nand.pages) * config->page_size;
}

static off_t area_at(const struct device *dev, uint32_t page)
{
	const struct disk_config *config = dev->config;
	const struct disk_data *data = dev->data;

	if (config->area_in_page) {
		return page_at(dev, page) + config->data_size;
	}
	return block_at(config, page / data->nand.pages + 1) - (off_t)(page % data->nand.pages + 1) * data->beside;
}

static int read_flash(const struct device *dev, off_t at, void *into, uint32_t length)
{
	const struct disk_config *config = dev->config;
	int code = flash_read(config->flash, at, into, length);

	return answer(code, config->area_in_page ? THERMOCLINE_NAND_UNREADABLE : THERMOCLINE_NAND_DEVICE);
}

static int chip_read(void *context, uint32_t page, uint32_t offset, void *into, uint32_t length)
{
	return read_flash(context, page_at(context, page) + offset, into, length);
}

static int chip_read_area(void *context, uint32_t page, uint8_t *into)
{
	return read_flash(context, area_at(context, page), into, THERMOCLINE_AREA);
}

static int chip_program(void *context, uint32_t page, const void *data, const uint8_t *area)
{
	const struct device *dev = context;
	const struct disk_config *config = dev->config;
	const struct disk_data *disk = dev->data;
	uint8_t beside[MOST_BESIDE];
	int code;

	if (config->area_in_page) {
		memcpy(config->whole, data, config->data_size);
		memcpy(config->whole + config->data_size, area, THERMOCLINE_AREA);
		code = flash_write(config->flash, page_at(dev, page), config->whole, config->page_size);
	} else {
		memset(beside, 0xff, sizeof(beside));
		memcpy(beside, area, THERMOCLINE_AREA);
		code = flash_write(config->flash, page_at(dev, page), data, config->page_size);
		if (code == 0) {
			code = flash_write(config->flash, area_at(dev, page), beside, disk->beside);
		}
	}
	return answer(code, THERMOCLINE_NAND_FAILED);
}

static int chip_erase(void *context, uint32_t block)
{
	const struct device *dev = context;
	const struct disk_config *config = dev->config;

	return answer(flash_erase(config->flash, block_at(config, block), config->block_size), THERMOCLINE_NAND_FAILED);
}

/* Flash without marks has no bad blocks; one that fails is left alone until the next mount. */
static bool has_marks(int code)
{
	return code != -ENOTSUP && code != -ENOSYS;
}

static int chip_is_bad(void *context, uint32_t block)
{
	const struct device *dev = context;
	const struct disk_config *config = dev->config;
	off_t at = block_at(config, block);
	int status = FLASH_BLOCK_BAD;
	int code = flash_ex_op(config->flash, FLASH_EX_OP_IS_BAD_BLOCK, (uintptr_t)&at, &status);

	if (!has_marks(code)) {
		return 0;
	}
	return code == 0 ? status == FLASH_BLOCK_BAD : -1;
}

static int chip_mark_bad(void *context, uint32_t block)
{
	const struct device *dev = context;
	const struct disk_config *config = dev->config;
	off_t at = block_at(config, block);
	int code = flash_ex_op(config->flash, FLASH_EX_OP_MARK_BAD_BLOCK, (uintptr_t)&at, NULL);

	LOG_WRN("%s: the block at 0x%lx failed", dev->name, (long)at);
	return has_marks(code) ? answer(code, THERMOCLINE_NAND_FAILED) : THERMOCLINE_NAND_OK;
}

/* The library's code as the system's. */
static int error_of(const struct device *dev, const char *what, int code)
{
	if (code >= 0) {
		return 0;
	}
	LOG_ERR("%s: %s: %s", dev->name, what, thermocline_error_text(code));
	switch (code) {
	case THERMOCLINE_WORN_OUT:
		return -EROFS;
	case THERMOCLINE_MEMORY:
		return -ENOMEM;
	case THERMOCLINE_OUT_OF_RANGE:
	case THERMOCLINE_NOT_OPEN:
	case THERMOCLINE_NOT_FORMATTED:
	case THERMOCLINE_VERSION:
	case THERMOCLINE_SHAPE:
	case THERMOCLINE_TOO_LARGE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* What of the devicetree does not fit the flash; NULL if all does. */
static const char *mismatch(const struct device *dev)
{
	const struct disk_config *config = dev->config;
	const struct flash_parameters *flash = flash_get_parameters(config->flash);
	const off_t ends[] = {config->offset, block_at(config, config->blocks) - 1};
	const uint32_t unit = flash->write_block_size;
	struct flash_pages_info sector;

	if (flash->erase_value != 0xff) {
		return "the flash does not erase to ones";
	}
	if (config->page_size % unit != 0) {
		return "page-size is no multiple of the write block";
	}
	if (!config->area_in_page && ROUND_UP(THERMOCLINE_AREA, unit) > MOST_BESIDE) {
		return "the flash writes whole pages: it needs area-in-page";
	}
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (flash_get_page_info_by_offs(config->flash, ends[i], &sector) != 0) {
			return "the partition is not on the flash";
		}
		if (config->block_size % sector.size != 0 || config->offset % sector.size != 0) {
			return "erase-block-size or the partition's address is no multiple of what the flash erases";
		}
	}
	return NULL;
}

static void describe(const struct device *dev)
{
	const struct disk_config *config = dev->config;
	struct disk_data *data = dev->data;

	data->beside = config->area_in_page
			       ? 0
			       : ROUND_UP(THERMOCLINE_AREA, flash_get_parameters(config->flash)->write_block_size);
	data->nand = (struct thermocline_nand){
		.context = (void *)dev,
		.blocks = config->blocks,
		.pages = config->block_size / (config->page_size + data->beside),
		.page_size = config->data_size,
		.read = chip_read,
		.read_area = chip_read_area,
		.program = chip_program,
		.erase = chip_erase,
		.is_bad = chip_is_bad,
		.mark_bad = chip_mark_bad,
	};
}

static int format(const struct device *dev)
{
	const struct disk_config *config = dev->config;
	struct disk_data *data = dev->data;
	uint64_t most = thermocline_most_pages(&data->nand, PLACEMENT, config->spare_blocks);
	uint32_t pages = (uint32_t)(most * (100 - config->over_provisioning) / 100);

	LOG_INF("%s: making an empty store of %u pages", dev->name, (unsigned int)pages);
	return thermocline_format(&data->store, &data->nand, VICTIM, PLACEMENT, config->memory, config->memory_size, pages,
				  config->spare_blocks);
}

/* With the lock held. */
static int open_store(const struct device *dev, bool make_empty)
{
	const struct disk_config *config = dev->config;
	struct disk_data *data = dev->data;
	const char *wrong;
	int code = THERMOCLINE_NOT_FORMATTED;

	if (!device_is_ready(config->flash)) {
		LOG_ERR("%s: the flash is not ready", dev->name);
		return -ENODEV;
	}
	wrong = mismatch(dev);
	if (wrong != NULL) {
		LOG_ERR("%s: %s", dev->name, wrong);
		return -EINVAL;
	}
	describe(dev);
	if (!make_empty) {
		code = thermocline_mount(&data->store, &data->nand, VICTIM, PLACEMENT, config->memory,
					 config->memory_size);
	}
	if (make_empty || (code == THERMOCLINE_NOT_FORMATTED && IS_ENABLED(CONFIG_THERMOCLINE_FORMAT))) {
		code = format(dev);
	}
	data->open = code >= 0;
	return error_of(dev, make_empty ? "format" : "mount", code);
}

/* With the lock held. */
static void close_store(struct disk_data *data)
{
	memset(&data->store, 0, sizeof(data->store));
	data->open = false;
}

static struct disk_data *locked(struct disk_info *info)
{
	struct disk_data *data = CONTAINER_OF(info, struct disk_data, info);

	k_mutex_lock(&data->lock, K_FOREVER);
	return data;
}

static int unlocked(struct disk_data *data, int code)
{
	k_mutex_unlock(&data->lock);
	return code;
}

static uint32_t per_page(const struct disk_config *config)
{
	return config->data_size / config->sector_size;
}

static uint32_t sectors(struct disk_data *data)
{
	return thermocline_pages(&data->store) * per_page(data->info.dev->config);
}

static bool are_there(struct disk_data *data, uint32_t first, uint32_t count)
{
	uint32_t all = sectors(data);

	return data->open && count <= all && first <= all - count;
}

static int disk_init(struct disk_info *info)
{
	struct disk_data *data = locked(info);

	return unlocked(data, data->open ? 0 : open_store(info->dev, false));
}

static int disk_status(struct disk_info *info)
{
	struct disk_data *data = locked(info);

	return unlocked(data, data->open ? DISK_STATUS_OK : DISK_STATUS_UNINIT);
}

/* Sectors of one page. */
struct part {
	uint32_t page;
	uint32_t from;
	uint32_t length;
	bool whole;
};

static struct part part_of(const struct disk_config *config, uint32_t first, uint32_t count)
{
	uint32_t before = first % per_page(config);
	uint32_t sectors = MIN(count, per_page(config) - before);

	return (struct part){
		.page = first / per_page(config),
		.from = before * config->sector_size,
		.length = sectors * config->sector_size,
		.whole = sectors == per_page(config),
	};
}

static int read_part(struct disk_data *data, struct part part, uint8_t *into)
{
	const struct disk_config *config = data->info.dev->config;

	return thermocline_read_at(&data->store, (uint64_t)part.page * config->data_size + part.from, into, part.length,
				   config->page);
}

static int write_part(struct disk_data *data, struct part part, const uint8_t *from)
{
	const struct disk_config *config = data->info.dev->config;

	if (part.length == config->data_size) {
		return thermocline_write(&data->store, part.page, from);
	}
	if (part.whole) {
		/* Behind its sectors a page holds nothing that must be read first. */
		memcpy(config->page, from, part.length);
		memset(config->page + part.length, 0, config->data_size - part.length);
		return thermocline_write(&data->store, part.page, config->page);
	}
	return thermocline_write_at(&data->store, (uint64_t)part.page * config->data_size + part.from, from, part.length,
				    config->page);
}

/* A trimmed page reads as zeros, so parts of pages become that. */
static int erase_part(struct disk_data *data, struct part part)
{
	const struct disk_config *config = data->info.dev->config;
	int code;

	if (part.whole) {
		return thermocline_trim(&data->store, part.page);
	}
	code = thermocline_read(&data->store, part.page, config->page);
	if (code <= 0) {
		return code;
	}
	memset(config->page + part.from, 0, part.length);
	return thermocline_write(&data->store, part.page, config->page);
}

/* `into` is what is read, `from` what is written; neither, and the sectors are erased. */
static int access_sectors(struct disk_info *info, uint8_t *into, const uint8_t *from, uint32_t first, uint32_t count)
{
	struct disk_data *data = locked(info);
	const char *what = into != NULL ? "read" : from != NULL ? "write" : "erase";
	int code = are_there(data, first, count) ? 0 : THERMOCLINE_OUT_OF_RANGE;
	size_t done = 0;

	while (code >= 0 && count > 0) {
		const struct disk_config *config = info->dev->config;
		struct part part = part_of(config, first, count);

		code = into != NULL   ? read_part(data, part, into + done)
		       : from != NULL ? write_part(data, part, from + done)
				      : erase_part(data, part);
		done += part.length;
		first += part.length / config->sector_size;
		count -= part.length / config->sector_size;
	}
	return unlocked(data, error_of(info->dev, what, code));
}

static int disk_read(struct disk_info *info, uint8_t *into, uint32_t first, uint32_t count)
{
	return access_sectors(info, into, NULL, first, count);
}

static int disk_write(struct disk_info *info, const uint8_t *from, uint32_t first, uint32_t count)
{
	return access_sectors(info, NULL, from, first, count);
}

static int disk_erase(struct disk_info *info, uint32_t first, uint32_t count)
{
	return access_sectors(info, NULL, NULL, first, count);
}

static int disk_ioctl(struct disk_info *info, uint8_t command, void *buffer)
{
	const struct disk_config *config = info->dev->config;
	struct disk_data *data = locked(info);
	int code = 0;

	if (!data->open && command != DISK_IOCTL_CTRL_INIT && command != DISK_IOCTL_CTRL_DEINIT) {
		return unlocked(data, -EINVAL);
	}
	switch (command) {
	case DISK_IOCTL_CTRL_INIT:
		code = data->open ? 0 : open_store(info->dev, false);
		break;
	case DISK_IOCTL_CTRL_DEINIT:
		/* The next mount reads one snapshot. A store that cannot write it is closed where the caller insists. */
		code = data->open ? error_of(info->dev, "checkpoint", thermocline_checkpoint(&data->store)) : 0;
		if (code == 0 || (buffer != NULL && *(bool *)buffer)) {
			close_store(data);
			code = 0;
		}
		break;
	case DISK_IOCTL_CTRL_SYNC:
		code = error_of(info->dev, "sync", thermocline_flush(&data->store));
		break;
	case DISK_IOCTL_GET_SECTOR_COUNT:
		*(uint32_t *)buffer = sectors(data);
		break;
	case DISK_IOCTL_GET_SECTOR_SIZE:
		*(uint32_t *)buffer = config->sector_size;
		break;
	case DISK_IOCTL_GET_ERASE_BLOCK_SZ:
		/* No sector is erased with another one. */
		*(uint32_t *)buffer = 1;
		break;
	default:
		code = -ENOTSUP;
	}
	return unlocked(data, code);
}

static const struct disk_operations operations = {
	.init = disk_init,
	.status = disk_status,
	.read = disk_read,
	.write = disk_write,
	.erase = disk_erase,
	.ioctl = disk_ioctl,
};

thermocline *thermocline_disk_lock(const struct device *dev)
{
	return &locked(&((struct disk_data *)dev->data)->info)->store;
}

void thermocline_disk_unlock(const struct device *dev)
{
	unlocked(dev->data, 0);
}

int thermocline_disk_format(const struct device *dev)
{
	struct disk_data *data = locked(&((struct disk_data *)dev->data)->info);

	close_store(data);
	return unlocked(data, open_store(dev, true));
}

static int register_disk(const struct device *dev)
{
	struct disk_data *data = dev->data;

	k_mutex_init(&data->lock);
	data->info.dev = dev;
	return disk_access_register(&data->info);
}

#define PARTITION(n) DT_INST_PHANDLE(n, partition)
#define IN_PAGE(n) DT_INST_PROP(n, area_in_page)
#define PAGE_SIZE_OF(n) DT_INST_PROP(n, page_size)
#define DATA_SIZE(n) (PAGE_SIZE_OF(n) - (IN_PAGE(n) ? THERMOCLINE_AREA : 0))
#define BLOCK_SIZE(n) DT_INST_PROP(n, erase_block_size)
#define BLOCKS(n) (DT_REG_SIZE(PARTITION(n)) / BLOCK_SIZE(n))
/* The most that a block has: where the flash writes more than 16 bytes at once it has fewer. */
#define PAGES(n) (BLOCK_SIZE(n) / (PAGE_SIZE_OF(n) + (IN_PAGE(n) ? 0 : THERMOCLINE_AREA)))
/* With so many changes of the map for each of its pages. */
#define RAM(n, per_page)                                                                                               \
	THERMOCLINE_RAM(BLOCKS(n), PAGES(n), DATA_SIZE(n),                                                             \
			(per_page)*THERMOCLINE_MAP_PAGES(BLOCKS(n), PAGES(n), DATA_SIZE(n)))
#define MEMORY(n) DT_INST_PROP_OR(n, memory_size, RAM(n, 4))

#define DEFINE_DISK(n)                                                                                                 \
	BUILD_ASSERT(DT_REG_SIZE(PARTITION(n)) % BLOCK_SIZE(n) == 0,                                                   \
		     "thermocline,disk: the partition is no multiple of erase-block-size");                            \
	BUILD_ASSERT(DATA_SIZE(n) >= 64 && DATA_SIZE(n) >= DT_INST_PROP(n, sector_size),                               \
		     "thermocline,disk: a page of page-size, less 16 bytes with area-in-page, has no room for a sector");  \
	BUILD_ASSERT(PAGES(n) >= 2 && PAGES(n) <= 511,                                                                 \
		     "thermocline,disk: a block of erase-block-size has 2 to 511 pages of page-size");                 \
	BUILD_ASSERT(DT_INST_PROP(n, over_provisioning) < 100, "thermocline,disk: over-provisioning is a percentage"); \
	BUILD_ASSERT(MEMORY(n) >= RAM(n, 2), "thermocline,disk: memory-size is too small, see THERMOCLINE_RAM");       \
	static uint8_t memory_##n[MEMORY(n)] __aligned(4);                                                             \
	static uint8_t page_##n[DATA_SIZE(n)] __aligned(4);                                                            \
	static uint8_t whole_##n[IN_PAGE(n) ? PAGE_SIZE_OF(n) : 1] __aligned(4);                                       \
	static struct disk_data data_##n = {                                                                           \
		.info = {.name = DT_INST_PROP(n, disk_name), .ops = &operations},                                      \
	};                                                                                                             \
	static const struct disk_config config_##n = {                                                                 \
		.flash = DEVICE_DT_GET(DT_MTD_FROM_FIXED_PARTITION(PARTITION(n))),                                     \
		.offset = DT_REG_ADDR(PARTITION(n)),                                                                   \
		.blocks = BLOCKS(n),                                                                                   \
		.block_size = BLOCK_SIZE(n),                                                                           \
		.page_size = PAGE_SIZE_OF(n),                                                                          \
		.data_size = DATA_SIZE(n),                                                                             \
		.area_in_page = IN_PAGE(n),                                                                            \
		.sector_size = DT_INST_PROP(n, sector_size),                                                           \
		.over_provisioning = DT_INST_PROP(n, over_provisioning),                                               \
		.spare_blocks = DT_INST_PROP_OR(n, spare_blocks, IN_PAGE(n) ? BLOCKS(n) / 50 : 0),                     \
		.memory = memory_##n,                                                                                  \
		.memory_size = sizeof(memory_##n),                                                                     \
		.page = page_##n,                                                                                      \
		.whole = whole_##n,                                                                                    \
	};                                                                                                             \
	DEVICE_DT_INST_DEFINE(n, register_disk, NULL, &data_##n, &config_##n, POST_KERNEL,                             \
			      CONFIG_KERNEL_INIT_PRIORITY_DEVICE, NULL);

DT_INST_FOREACH_STATUS_OKAY(DEFINE_DISK)
