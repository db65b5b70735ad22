/*
 * A disk on a partition of raw flash: Zephyr's disk driver interface above, its flash interface below (chip.c). Zephyr 3.6 or later.
 *
 * No sector lies across two pages: after a loss of power each holds what it held, or what was being written, and no mixture.
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
#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>
#include <zephyr/sys/util.h>

#include <thermocline/disk.h>

#include "chip.h"

LOG_MODULE_REGISTER(thermocline, CONFIG_DISK_LOG_LEVEL);

/* Before Zephyr 3.7 a disk was initialised by its function alone. */
#ifndef DISK_IOCTL_CTRL_INIT
#define DISK_IOCTL_CTRL_INIT 6
#define DISK_IOCTL_CTRL_DEINIT 7
#endif

#define VICTIM THERMOCLINE_CAT
#define PLACEMENT THERMOCLINE_DAC

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
	wrong = thermocline_chip_mismatch(dev);
	if (wrong != NULL) {
		LOG_ERR("%s: %s", dev->name, wrong);
		return -EINVAL;
	}
	thermocline_chip_describe(dev);
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
	uint32_t here = MIN(count, per_page(config) - before);

	return (struct part){
		.page = first / per_page(config),
		.from = before * config->sector_size,
		.length = here * config->sector_size,
		.whole = here == per_page(config),
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

#if IS_ZEPHYR_4_4
static int disk_erase(struct disk_info *info, uint32_t first, uint32_t count)
{
	return access_sectors(info, NULL, NULL, first, count);
}
#endif

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
#if IS_ZEPHYR_4_4
	.erase = disk_erase,
#endif
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
