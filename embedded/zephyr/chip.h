/*
 * What a disk consists of, and its partition as a chip of the library (chip.c).
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef THERMOCLINE_CHIP_H
#define THERMOCLINE_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <thermocline.h>
#include <zephyr/device.h>
#include <zephyr/drivers/disk.h>
#include <zephyr/kernel.h>
#if __has_include(<zephyr/version.h>)
#include <zephyr/version.h>
#else
#include <version.h>
#endif

/* From Zephyr 4.4 on the flash interface knows bad blocks, and the disk interface erases. */
#define IS_ZEPHYR_4_4 (KERNEL_VERSION_NUMBER >= 0x40400)

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

/* What of the devicetree does not fit the flash; NULL if all does. */
const char *thermocline_chip_mismatch(const struct device *dev);

/* Fills in `nand`. */
void thermocline_chip_describe(const struct device *dev);

#endif
