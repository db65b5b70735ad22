/*
 * A file that counts starts, on FAT, on a SPI NAND. All of it is spi_nand_flash as before, but for the health of the store.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <stdio.h>

#include "driver/spi_master.h"
#include "esp_err.h"
#include "esp_vfs_fat_nand.h"
#include "spi_nand_flash.h"
#include "thermocline_nand.h"

/* Pins of an ESP32-C6; change them for your board. */
#define PIN_CLOCK 6
#define PIN_OUT 7
#define PIN_IN 2
#define PIN_SELECT 10

static spi_nand_flash_device_t *open_nand(void)
{
    const spi_bus_config_t pins = {
        .mosi_io_num = PIN_OUT,
        .miso_io_num = PIN_IN,
        .sclk_io_num = PIN_CLOCK,
        .quadwp_io_num = -1,
        .quadhd_io_num = -1,
        .max_transfer_sz = 4096 + 64,
    };
    const spi_device_interface_config_t device = {
        .clock_speed_hz = 40 * 1000 * 1000,
        .mode = 0,
        .spics_io_num = PIN_SELECT,
        .queue_size = 10,
        .flags = SPI_DEVICE_HALFDUPLEX,
    };
    spi_nand_flash_config_t config = {
        .io_mode = SPI_NAND_IO_MODE_SIO,
        .flags = SPI_DEVICE_HALFDUPLEX,
    };
    spi_nand_flash_device_t *nand;

    ESP_ERROR_CHECK(spi_bus_initialize(SPI2_HOST, &pins, SPI_DMA_CH_AUTO));
    ESP_ERROR_CHECK(spi_bus_add_device(SPI2_HOST, &device, &config.device_handle));
    ESP_ERROR_CHECK(spi_nand_flash_init_device(&config, &nand));
    return nand;
}

static unsigned count_start(void)
{
    unsigned count = 0;
    FILE *file = fopen("/nand/starts.txt", "r");

    if (file) {
        if (fscanf(file, "%u", &count) != 1) {
            count = 0;
        }
        fclose(file);
    }
    file = fopen("/nand/starts.txt", "w");
    if (file) {
        fprintf(file, "%u\n", ++count);
        fclose(file);
    }
    return count;
}

void app_main(void)
{
    const esp_vfs_fat_mount_config_t mount = {.max_files = 4, .format_if_mount_failed = true, .allocation_unit_size = 16 * 1024};
    spi_nand_flash_device_t *nand = open_nand();
    struct thermocline_health health;

    ESP_ERROR_CHECK(esp_vfs_fat_nand_mount("/nand", nand, &mount));
    printf("start %u\n", count_start());
    thermocline_health(thermocline_nand_lock(nand), &health);
    thermocline_nand_unlock(nand);
    printf("%u bad blocks, %u more may go bad\n", (unsigned)health.bad_blocks, (unsigned)health.spare_blocks);
    esp_vfs_fat_nand_unmount("/nand", nand);
    /* The store writes a snapshot, which the next start reads in place of the chip. */
    ESP_ERROR_CHECK(spi_nand_flash_deinit_device(nand));
}
