/*
 * A partition of Zephyr's flash interface as a chip of the library.
 *
 * The interface has no out-of-band area, so the 16 bytes beside a page lie elsewhere:
 *
 * - At the end of its block, from the last bytes down, written after the page: flash that writes a few bytes at once (NOR).
 *   A page of 512 bytes is a sector.
 * - In the page itself, its last 16 bytes (area-in-page): flash that writes a whole page at once (NAND). A page of 2048
 *   bytes then holds three sectors of 512.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <errno.h>
#include <string.h>
#include <zephyr/device.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/logging/log.h>
#include <zephyr/sys/util.h>

#include "chip.h"

LOG_MODULE_DECLARE(thermocline, CONFIG_DISK_LOG_LEVEL);

/* The longest write block beside which an area at the end of the block makes sense. */
#define MOST_BESIDE 64

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

#if IS_ZEPHYR_4_4
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
#else
static int chip_is_bad(void *context, uint32_t block)
{
	ARG_UNUSED(context);
	ARG_UNUSED(block);
	return 0;
}

static int chip_mark_bad(void *context, uint32_t block)
{
	return chip_is_bad(context, block);
}
#endif

const char *thermocline_chip_mismatch(const struct device *dev)
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

void thermocline_chip_describe(const struct device *dev)
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
