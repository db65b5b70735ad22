/* The devicetree of the tests, as the build system would turn it into macros. */
#ifndef DEVICES_H
#define DEVICES_H

#define DT_INST_FOREACH_STATUS_OKAY(define) define(0) define(1) define(2)

/* NOR with sectors of 4 KiB, two of which are a block, from the second sector on. */
#define DT_INST_0_partition nor_partition
#define DT_INST_0_disk_name "NOR"
#define DT_INST_0_erase_block_size 8192
#define DT_INST_0_page_size 512
#define DT_INST_0_area_in_page 0
#define DT_INST_0_sector_size 512
#define DT_INST_0_over_provisioning 10
#define nor_partition_flash nor
#define nor_partition_address 4096
#define nor_partition_size (48 * 8192)

/* NAND: pages of 2 KiB, of which the layer has 2032 bytes. */
#define DT_INST_1_partition nand_partition
#define DT_INST_1_disk_name "NAND"
#define DT_INST_1_erase_block_size 32768
#define DT_INST_1_page_size 2048
#define DT_INST_1_area_in_page 1
#define DT_INST_1_sector_size 512
#define DT_INST_1_over_provisioning 10
#define DT_INST_1_spare_blocks 3
#define DT_INST_HAS_1_spare_blocks 1
#define nand_partition_flash nand
#define nand_partition_address 0
#define nand_partition_size (40 * 32768)

/* NOR that writes 32 bytes at once, whose pages are no multiple of a sector; as little memory as may be. */
#define DT_INST_2_partition odd_partition
#define DT_INST_2_disk_name "ODD"
#define DT_INST_2_erase_block_size 16384
#define DT_INST_2_page_size 1472
#define DT_INST_2_area_in_page 0
#define DT_INST_2_sector_size 512
#define DT_INST_2_over_provisioning 20
#define DT_INST_2_spare_blocks 1
#define DT_INST_HAS_2_spare_blocks 1
#define DT_INST_2_memory_size 2000
#define DT_INST_HAS_2_memory_size 1
#define odd_partition_flash odd
#define odd_partition_address 0
#define odd_partition_size (32 * 16384)

extern const struct device nor_device, nand_device, odd_device;
/* The node of the sample. */
extern const struct device disk0_device;

#endif
